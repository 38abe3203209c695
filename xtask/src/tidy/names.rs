//! File and folder names say their subject: no `mod.rs`, no drawers for everything, no names of versions.

use super::finding::Finding;

const DRAWERS: &[&str] = &["util", "utils", "helper", "helpers", "misc", "common"];
const VERSIONS: &[&str] = &["_final", "_v2", "_new"];

pub(crate) fn check(path: &str) -> Vec<Finding> {
    let fault = |(wrong, remedy)| Finding::fault(path, 1, wrong, remedy);
    path.split('/').filter_map(complaint).map(fault).collect()
}

fn complaint(part: &str) -> Option<(String, &'static str)> {
    let stem = part.split_once('.').map_or(part, |(stem, _)| stem);
    if part == "mod.rs" {
        Some((
            "the file is called `mod.rs`".to_owned(),
            "name it after its folder and put it beside that folder",
        ))
    } else if DRAWERS.contains(&stem) {
        Some((format!("`{stem}` names no subject"), "name it by what it is about, or split it"))
    } else if VERSIONS.iter().any(|version| stem.ends_with(version)) {
        Some((format!("`{stem}` names a version"), "replace what it supersedes and take its name"))
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::super::finding::lines;
    use super::*;

    #[test]
    fn a_drawer_for_everything_is_found_as_file_and_as_folder() {
        let wrong = "`utils` names no subject; name it by what it is about, or split it";
        let found = |path| lines(&check(path));
        assert_eq!(found("sdk/python/utils.py"), [format!("sdk/python/utils.py:1: {wrong}")]);
        assert_eq!(found("crates/core/src/utils/a.rs"), [format!("crates/core/src/utils/a.rs:1: {wrong}")]);
    }

    #[test]
    fn names_of_versions_and_mod_files_are_found() {
        for path in ["src/plan_final.rs", "src/plan_v2.rs", "src/plan_new.rs", "src/plan/mod.rs"] {
            assert_eq!(check(path).len(), 1, "{path}");
        }
    }

    #[test]
    fn names_of_subjects_pass() {
        for path in ["src/renew.rs", "src/v1beta1.rs", "charts/asb/templates/_helpers.tpl", ".gitignore"] {
            assert_eq!(check(path), [], "{path}");
        }
    }
}
