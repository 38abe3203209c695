//! A shell in which somebody types kubectl commands, in a namespace and a folder of their own.

use std::fmt::Write as _;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;
use std::{env, fs};

use asb_tests::{Cluster, Namespace};
use tempfile::TempDir;
use tokio::process::Command;
use tokio::time::timeout;

use crate::masking::mask;

const SCRIPTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/suites/kubectl/scripts");
const DEADLINE: Duration = Duration::from_mins(1);

pub(crate) struct Session {
    namespace: Namespace,
    folder: TempDir,
}

impl Session {
    pub(crate) async fn open(program: &Path) -> Self {
        let cluster = Cluster::connect().await.expect("a Kubernetes to test against");
        let namespace = cluster.namespace().await.expect("a namespace for the session");
        let folder = tempfile::tempdir().expect("a folder for the session");
        furnish(folder.path(), program, &namespace);
        Self { namespace, folder }
    }

    /// Types a script line by line and returns what was on the screen, with all that differs from run to run masked.
    pub(crate) async fn play(self, script: &str) -> String {
        let text = fs::read_to_string(format!("{SCRIPTS}/{script}.sh")).expect("the script is there");
        let mut screen = String::new();
        for line in text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
            let shown = self.enter(line).await;
            write!(screen, "$ {line}\n{}\n", mask(&shown, &self.namespace)).expect("text grows");
        }
        self.namespace.finish().await;
        screen
    }

    async fn enter(&self, line: &str) -> String {
        let shell = self.shell().args(["-c", &format!("exec 2>&1; {line}")]).output();
        let output = timeout(DEADLINE, shell).await.unwrap_or_else(|_| panic!("{line} does not end"));
        let output = output.expect("there is a shell");
        let shown = String::from_utf8(output.stdout).expect("kubectl says text");
        let code = output.status.code().unwrap_or(-1);
        if code == 0 { shown } else { format!("{shown}[exit {code}]\n") }
    }

    fn shell(&self) -> Command {
        let kubeconfig = env::var_os("ASB_TEST_KUBECONFIG").expect("the cluster was found by it");
        let path = env::var("PATH").unwrap_or_default();
        let mut shell = Command::new("sh");
        shell
            .current_dir(self.folder.path())
            .env("HOME", self.folder.path())
            .env("KUBECACHEDIR", self.folder.path().join("cache"))
            .env("KUBECONFIG", kubeconfig)
            .env("LC_ALL", "C")
            .env("NAMESPACE", self.namespace.name())
            .env("PATH", format!("{}:{path}", self.folder.path().join("bin").display()))
            .stdin(Stdio::null())
            .kill_on_drop(true);
        shell
    }
}

/// Puts kubectl and the files that scripts speak of into the folder.
fn furnish(folder: &Path, program: &Path, namespace: &str) {
    let kubectl = folder.join("bin/kubectl");
    let text = format!("#!/bin/sh\nexec '{}' --namespace '{namespace}' \"$@\"\n", program.display());
    fs::create_dir(folder.join("bin")).expect("the folder is empty");
    fs::write(&kubectl, text).expect("the folder takes files");
    fs::set_permissions(&kubectl, fs::Permissions::from_mode(0o700)).expect("it is ours");
    for file in fs::read_dir(SCRIPTS).expect("the scripts are there").flatten() {
        if file.path().extension().is_some_and(|extension| extension == "yaml") {
            fs::copy(file.path(), folder.join(file.file_name())).expect("files can be copied");
        }
    }
}
