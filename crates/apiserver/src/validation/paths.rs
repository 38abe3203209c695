//! Paths inside volumes and containers, and the permissions of files.

use super::at::At;

/// A path below where one stands.
pub(super) fn descending_path(place: &At, path: &str) {
    if path.starts_with('/') {
        place.invalid(path, "must be a relative path");
    }
    no_backsteps(place, path);
}

pub(super) fn no_backsteps(place: &At, path: &str) {
    if has_backsteps(path) {
        place.invalid(path, "must not contain '..'");
    }
}

pub(super) fn has_backsteps(path: &str) -> bool {
    path.split('/').any(|part| part == "..")
}

/// A path below where one stands that does not look like one of Kubernetes' own.
pub(super) fn unreserved_path(place: &At, path: &str) {
    descending_path(place, path);
    if path.starts_with("..") && !path.starts_with("../") {
        place.invalid(path, "must not start with '..'");
    }
}

/// Permission bits of a file, where they are said.
pub(super) fn file_mode(mode: &At) {
    if mode.exists() && !(0..=0o777).contains(&mode.integer()) {
        let detail = "must be a number between 0 and 0777 (octal), both inclusive";
        mode.invalid(mode.integer(), detail);
    }
}
