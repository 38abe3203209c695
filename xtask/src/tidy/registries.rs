//! Lock files name the public registries, not the mirror that one machine happened to use.
//! For crates `deny.toml` says the same; this covers the lock files of other languages too.

use super::finding::Finding;
use super::tree::Text;

const LOCKS: &[&str] = &["Cargo.lock", "package-lock.json", "pnpm-lock.yaml", "poetry.lock", "uv.lock"];

/// The keys that say where a package came from; a lock file also names home pages and sponsors.
const KEYS: &[&str] = &["\"resolved\":", "registry =", "source =", "tarball:", "url ="];

const PUBLIC: &[&str] = &["files.pythonhosted.org", "github.com", "pypi.org", "registry.npmjs.org"];

pub(crate) fn check(file: &Text) -> Vec<Finding> {
    let name = file.path.rsplit('/').next().unwrap_or_default();
    if !LOCKS.contains(&name) {
        return Vec::new();
    }
    let sources = file.text.lines().zip(1..).filter(|(line, _)| KEYS.iter().any(|key| line.contains(key)));
    let strange = sources.flat_map(|(line, number)| strangers(line).map(move |host| (number, host)));
    strange.map(|(number, host)| fault(&file.path, number, host)).collect()
}

fn fault(path: &str, number: usize, host: &str) -> Finding {
    Finding::fault(path, number, format!("`{host}` is no public registry"), "lock again with the public one")
}

fn strangers(line: &str) -> impl Iterator<Item = &str> {
    let hosts = line.split("://").skip(1).filter_map(|rest| rest.split(['/', '"', '\'', ' ']).next());
    hosts.filter(|host| !PUBLIC.contains(host))
}

#[cfg(test)]
mod tests {
    use super::super::finding::lines;
    use super::*;

    fn found(path: &str, text: &str) -> Vec<String> {
        lines(&check(&Text { path: path.to_owned(), text: text.to_owned() }))
    }

    #[test]
    fn a_private_mirror_in_a_lock_file_is_found() {
        let text = "{\n  \"resolved\": \"https://mirror.example:443/npm/a.tgz\"\n}";
        let wrong = "`mirror.example:443` is no public registry; lock again with the public one";
        assert_eq!(found("web/package-lock.json", text), [format!("web/package-lock.json:2: {wrong}")]);
    }

    #[test]
    fn public_registries_pass() {
        let text =
            "source = { registry = \"https://pypi.org/simple\" }\nurl = \"https://files.pythonhosted.org/a\"";
        assert_eq!(found("sdk/python/uv.lock", text), [""; 0]);
        let text = "source = \"registry+https://github.com/rust-lang/crates.io-index\"";
        assert_eq!(found("Cargo.lock", text), [""; 0]);
    }

    #[test]
    fn home_pages_and_other_files_are_left_alone() {
        assert_eq!(found("web/package-lock.json", "\"url\": \"https://sponsor.example/a\""), [""; 0]);
        assert_eq!(found("web/vite.config.ts", "url = \"https://a.example\""), [""; 0]);
    }
}
