//! What `asb up` says when it is ready.

use std::path::Path;
use std::time::Duration;

use crate::control::Hello;
use crate::daemon::log_path;

/// Where it goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    Foreground,
    Background,
}

/// For the log of one in the background.
pub(super) fn line(hello: &Hello, took: Duration) -> String {
    let Hello { pid, version, address, node, .. } = hello;
    format!(
        "Agent Sandbox {version} (process {pid}) serves the Kubernetes API on https://{address} (ready in {:.2} s); {node}\n",
        took.as_secs_f64()
    )
}

pub(super) fn of(hello: &Hello, data_dir: &Path, took: Duration, mode: Mode) -> String {
    let kubeconfig = data_dir.join("kubeconfig");
    let (place, end) = match mode {
        Mode::Foreground => (", in another shell", "Ctrl-C stops it; everything stored stays.".to_owned()),
        Mode::Background => ("", format!("`asb down` stops it. Its log is {}", log_path(data_dir).display())),
    };
    format!(
        "Agent Sandbox {version} serves the Kubernetes API on https://{address} (ready in {took:.2} s)\n\
         \x20 data        {data}\n\
         \x20 kubeconfig  {kubeconfig}\n\
         \x20 node        {node}\n\
         \x20 router      {router}\n\
         \n\
         Next{place}:\n\
         \x20 export KUBECONFIG={kubeconfig}\n\
         \x20 kubectl get sandboxes --all-namespaces\n\
         \n\
         {end}\n",
        version = hello.version,
        address = hello.address,
        took = took.as_secs_f64(),
        data = data_dir.display(),
        kubeconfig = kubeconfig.display(),
        node = hello.node,
        router = hello.router.map_or_else(|| "off".to_owned(), |router| format!("http://{router}")),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::node::State;

    fn greeting(node: State, mode: Mode) -> String {
        let address = ([127, 0, 0, 1], 6443).into();
        let router = Some(([127, 0, 0, 1], 8880).into());
        let hello = Hello { pid: 7, version: "1.2.3".to_owned(), address, node, router };
        of(&hello, Path::new("/data"), Duration::from_millis(240), mode)
    }

    #[test]
    fn who_starts_it_learns_where_it_is_what_runs_and_how_it_ends() {
        let here = greeting(State::Runs { name: "box".to_owned() }, Mode::Foreground);
        let there = greeting(State::Off { reason: "no root".to_owned() }, Mode::Background);
        insta::assert_snapshot!(format!("{here}\n{there}"));
    }
}
