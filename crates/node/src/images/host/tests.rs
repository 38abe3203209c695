//! The built-in image of a made-up system, and of the one that the tests run on.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use tempfile::TempDir;

use super::*;
use crate::images::store::Image;
use crate::images::unpack::OPAQUE;

/// A system with everything on it that must not be seen.
fn system() -> TempDir {
    let root = tempfile::tempdir().unwrap();
    let at = |name: &str| root.path().join(name);
    let write = |name: &str, content: &str| {
        fs::create_dir_all(at(name).parent().unwrap()).unwrap();
        fs::write(at(name), content).unwrap();
    };
    write("usr/bin/sh", "shell");
    write("usr/lib/os-release", "ID=test");
    write("usr/local/bin/private", "mine");
    write("usr/share/ca/good.crt", "-----BEGIN CERTIFICATE-----\nG\n-----END CERTIFICATE-----\n");
    write("etc/passwd", "root:x:0:0:Alice:/root:/bin/zsh\nalice:x:1000:1000:Alice:/home/user:/bin/sh\n");
    write("etc/group", "root:x:0:\nsudo:x:27:alice\n");
    write("etc/shadow", "root:secret:");
    write("etc/machine-id", "secret");
    write("etc/hostname", "secret");
    write("etc/hosts", "10.0.0.1 secret");
    write("etc/resolv.conf", "search secret");
    write("etc/services", "http 80/tcp\n");
    write("etc/ssl/private/key.pem", "secret");
    write(
        "etc/ssl/certs/ca-certificates.crt",
        "secret\n-----BEGIN CERTIFICATE-----\nG\n-----END CERTIFICATE-----\n",
    );
    write("etc/ssl/certs/own.pem", "secret");
    write("etc/ssh/ssh_host_key", "secret");
    write("home/user/.ssh/id", "secret");
    write("root/.bashrc", "secret");
    write("var/lib/db", "secret");
    write("run/docker.sock", "secret");
    for (name, target) in [
        ("bin", "usr/bin"),
        ("lib", "/usr/lib"),
        ("etc/ssl/certs/1234abcd.0", "../../../usr/share/ca/good.crt"),
        ("etc/ssl/certs/own.0", "own.pem"),
        ("etc/localtime", "/usr/share/zoneinfo/Europe/Berlin"),
    ] {
        symlink(target, at(name)).unwrap();
    }
    fs::create_dir(at("etc/alternatives")).unwrap();
    symlink(at("usr/bin/sh"), at("etc/alternatives/editor")).unwrap();
    symlink(at("usr/local/bin/private"), at("etc/alternatives/mine")).unwrap();
    root
}

fn provided(root: &Path) -> (TempDir, Arc<Store>, Image) {
    let folder = tempfile::tempdir().unwrap();
    let store = Arc::new(Store::open(folder.path()).unwrap());
    let id = provide(&store, root, &Limits::default()).unwrap();
    let image = store.image(&id).unwrap().unwrap();
    (folder, store, image)
}

/// Every file and link of a tree with its content or target.
fn listing(root: &Path) -> String {
    let mut lines = Vec::new();
    list(root, root, &mut lines);
    lines.sort();
    lines.join("\n")
}

fn list(root: &Path, folder: &Path, lines: &mut Vec<String>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.strip_prefix(root).unwrap().display();
        let facts = fs::symlink_metadata(&path).unwrap();
        if facts.is_dir() {
            lines.push(format!("{name}/ {:o}", facts.permissions().mode() & 0o7777));
            list(root, &path, lines);
        } else if facts.is_symlink() {
            lines.push(format!("{name} -> {}", fs::read_link(&path).unwrap().display()));
        } else {
            lines.push(format!("{name}: {:?}", fs::read_to_string(&path).unwrap_or_default()));
        }
    }
}

#[test]
fn the_image_has_a_system_and_nothing_of_its_owner() {
    let system = system();
    let (_folder, _store, image) = provided(system.path());
    let listing = listing(&image.layers[0]).replace(&system.path().display().to_string(), "<system>");
    assert!(!listing.contains("secret") && !listing.to_lowercase().contains("alice"), "{listing}");
    insta::assert_snapshot!(listing);
}

#[test]
fn the_machines_programs_show_through_but_for_those_its_owner_installed() {
    let system = system();
    let (_folder, _store, image) = provided(system.path());
    let [usr] = &image.overlays[..] else { panic!("{image:?}") };
    assert_eq!((usr.at.as_path(), &usr.layers[0]), (Path::new("/usr"), &system.path().join("usr")));
    let mut value = [0; 1];
    let hidden = usr.layers[1].join("local");
    rustix::fs::lgetxattr(&hidden, OPAQUE, &mut value[..]).unwrap();
    assert_eq!(&value, b"y");
    assert!(hidden.join("bin").is_dir());
    assert_eq!(image.config.cmd, ["/bin/sh"]);
}

#[test]
fn the_same_system_gives_the_same_image_and_another_replaces_it() {
    let system = system();
    let (_folder, store, image) = provided(system.path());
    let again = provide(&store, system.path(), &Limits::default()).unwrap();
    assert_eq!(again, image.id);
    fs::write(system.path().join("etc/services"), "https 443/tcp\n").unwrap();
    let changed = provide(&store, system.path(), &Limits::default()).unwrap();
    assert_ne!(changed, image.id);
    assert_eq!(store.find(&reference()).unwrap().unwrap().id, changed);
    assert_eq!(store.list().unwrap().len(), 1);
}

#[test]
fn an_image_in_use_stays_when_the_system_changes() {
    let system = system();
    let (_folder, store, image) = provided(system.path());
    store.pin("pod", &image.id).unwrap();
    fs::write(system.path().join("etc/services"), "https 443/tcp\n").unwrap();
    provide(&store, system.path(), &Limits::default()).unwrap();
    assert!(store.image(&image.id).unwrap().unwrap().layers[0].is_dir());
}

#[test]
fn a_system_that_is_not_merged_says_so() {
    let system = system();
    let folder = tempfile::tempdir().unwrap();
    let store = Arc::new(Store::open(folder.path()).unwrap());
    fs::remove_file(system.path().join("bin")).unwrap();
    fs::create_dir(system.path().join("bin")).unwrap();
    let complaint = provide(&store, system.path(), &Limits::default()).unwrap_err().to_string();
    assert!(complaint.contains("/bin is a directory of its own and no link into /usr"), "{complaint}");
    let nothing = tempfile::tempdir().unwrap();
    let complaint = provide(&store, nothing.path(), &Limits::default()).unwrap_err().to_string();
    assert!(complaint.contains("there is no directory /usr"), "{complaint}");
}

#[test]
fn the_machine_that_runs_the_tests_makes_an_image_or_says_why_not() {
    let folder = tempfile::tempdir().unwrap();
    let store = Arc::new(Store::open(folder.path()).unwrap());
    match provide(&store, Path::new("/"), &Limits::default()) {
        Ok(id) => {
            let image = store.image(&id).unwrap().unwrap();
            for hidden in ["etc/shadow", "etc/machine-id", "etc/ssh", "root/.ssh", "etc/ssl/private"] {
                assert!(fs::symlink_metadata(image.layers[0].join(hidden)).is_err(), "{hidden}");
            }
            assert!(crate::images::users::look_up(&image.layers, "nobody").is_ok());
        }
        Err(error) => assert!(matches!(error, HostError::Unmerged(_) | HostError::Missing(_)), "{error}"),
    }
}
