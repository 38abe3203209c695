//! Programs that run containers in their own way, by the handlers that RuntimeClasses name: those that were configured, and
//! those that are installed.

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use k8s_openapi::api::node::v1::RuntimeClass;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::api::PostParams;
use kube::{Api, Client};

use crate::shim::plan::Runtime;

/// Handlers, and the programs that they are looked for as.
const KNOWN: [(&str, &[&str]); 5] = [
    ("gvisor", &["runsc"]),
    ("runsc", &["runsc"]),
    ("kata", &["kata-runtime"]),
    ("runc", &["runc"]),
    ("crun", &["crun"]),
];

/// Classes that are there from the beginning. A Pod of one whose program is missing says so itself.
const CLASSES: [&str; 2] = ["gvisor", "kata"];

/// The way of gVisor with the fewest demands on the machine: it needs neither a device nor a kernel of its own. Limits are put
/// around it by us.
const GVISOR: [&str; 2] = ["--platform=ptrace", "--ignore-cgroups"];

const FOLDERS: [&str; 7] =
    ["/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin", "/opt/kata/bin"];

/// All that there are: what was configured goes before what is found. Blocks.
pub fn find(configured: &BTreeMap<String, PathBuf>) -> BTreeMap<String, Runtime> {
    let installed = KNOWN.iter().filter_map(|(handler, names)| {
        let binary = names.iter().find_map(|name| installed(name))?;
        Some(((*handler).to_owned(), binary))
    });
    let all = installed.chain(configured.iter().map(|(handler, binary)| (handler.clone(), binary.clone())));
    all.map(|(handler, binary)| (handler, runtime(binary))).collect()
}

/// What is said where a handler has no program.
pub fn missing(handler: &str) -> String {
    let known = KNOWN.iter().find(|(known, _)| *known == handler);
    let install = known.map_or_else(String::new, |(_, names)| format!("install `{}`, or ", names[0]));
    format!(
        "no runtime for {handler:?} is configured: {install}start the node with --runtime {handler}=/path/to/program"
    )
}

fn installed(name: &str) -> Option<PathBuf> {
    let is_program = |path: &Path| {
        path.metadata().is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
    };
    FOLDERS.iter().map(|folder| Path::new(folder).join(name)).find(|path| is_program(path))
}

fn runtime(binary: PathBuf) -> Runtime {
    let is_gvisor = binary.file_name().is_some_and(|name| name == "runsc");
    let arguments = if is_gvisor { GVISOR.map(str::to_owned).to_vec() } else { Vec::new() };
    Runtime::Oci { binary, arguments }
}

/// Makes sure of the usual classes. One that somebody made stays as it is.
pub async fn provide_classes(client: &Client) -> Result<(), kube::Error> {
    let api: Api<RuntimeClass> = Api::all(client.clone());
    for name in CLASSES {
        let class = RuntimeClass {
            metadata: ObjectMeta { name: Some(name.to_owned()), ..ObjectMeta::default() },
            handler: name.to_owned(),
            ..RuntimeClass::default()
        };
        match api.create(&PostParams::default(), &class).await {
            Err(kube::Error::Api(status)) if status.code == 409 => {}
            other => drop(other?),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_configured_goes_before_what_is_found() {
        let own = PathBuf::from("/opt/own/runsc");
        let found = find(&BTreeMap::from([("gvisor".to_owned(), own.clone())]));
        let arguments = GVISOR.map(str::to_owned).to_vec();
        assert_eq!(found["gvisor"], Runtime::Oci { binary: own, arguments });
    }

    #[test]
    fn whoever_lacks_a_runtime_is_told_what_to_do() {
        let expected = "no runtime for \"gvisor\" is configured: install `runsc`, or start the node with --runtime \
                        gvisor=/path/to/program";
        assert_eq!(missing("gvisor"), expected);
        assert!(!missing("mine").contains("install"));
    }
}
