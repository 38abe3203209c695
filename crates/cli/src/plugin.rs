//! Under the name `kubectl-sandbox`, the program is a plugin of kubectl: `kubectl sandbox ls`. The commands are the same;
//! the kubeconfig is found as kubectl finds it.

use std::env;
use std::ffi::OsStr;
use std::path::Path;

const NAME: &str = "kubectl-sandbox";

/// Whether this process is one.
pub(crate) fn is_this() -> bool {
    env::args_os().next().is_some_and(|program| is_plugin(&program))
}

fn is_plugin(program: &OsStr) -> bool {
    Path::new(program).file_name().is_some_and(|name| name == NAME)
}

/// How people call the program, for help and hints.
pub(crate) fn called() -> &'static str {
    if is_this() { "kubectl sandbox" } else { "asb" }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_the_program_decides() {
        assert!(is_plugin(OsStr::new("/usr/local/bin/kubectl-sandbox")));
        assert!(is_plugin(OsStr::new("kubectl-sandbox")));
        assert!(!is_plugin(OsStr::new("/kubectl-sandbox/asb")));
    }
}
