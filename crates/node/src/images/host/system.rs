//! The tree around `/usr`: directories, the links of a merged system, and the settings in `/etc` that programs expect.
//! What is written here is either fixed or known to everybody; nothing that an administrator wrote is copied.

use super::HostError;
use super::skeleton::Skeleton;

/// Must be links into `/usr` where they are there at all.
const MERGED: [&str; 6] = ["bin", "lib", "lib32", "lib64", "libx32", "sbin"];
const NEEDED: [&str; 2] = ["bin", "lib"];

const DIRECTORIES: [(&str, u32); 28] = [
    ("dev", 0o755),
    ("etc", 0o755),
    ("home", 0o755),
    ("media", 0o755),
    ("mnt", 0o755),
    ("opt", 0o755),
    ("proc", 0o555),
    ("root", 0o700),
    ("run", 0o755),
    ("run/lock", 0o1777),
    ("srv", 0o755),
    ("sys", 0o555),
    ("tmp", 0o1777),
    ("usr", 0o755),
    ("usr/local", 0o755),
    ("usr/local/bin", 0o755),
    ("usr/local/etc", 0o755),
    ("usr/local/include", 0o755),
    ("usr/local/lib", 0o755),
    ("usr/local/sbin", 0o755),
    ("usr/local/share", 0o755),
    ("var", 0o755),
    ("var/cache", 0o755),
    ("var/lib", 0o755),
    ("var/log", 0o755),
    ("var/mail", 0o775),
    ("var/spool", 0o755),
    ("var/tmp", 0o1777),
];

const LINKS: [(&str, &str); 3] =
    [("var/run", "/run"), ("var/lock", "/run/lock"), ("etc/mtab", "../proc/self/mounts")];

const NAME_SERVICES: &str = "passwd: files\ngroup: files\nshadow: files\nhosts: files dns\nnetworks: files\n\
                             protocols: files\nservices: files\nethers: files\nrpc: files\n";
const PROFILE: &str = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin\nexport PATH\n";

/// Lists that are the same on every machine, and who made the system.
const PUBLIC: [&str; 6] =
    ["protocols", "services", "debian_version", "alpine-release", "fedora-release", "redhat-release"];

pub(super) fn add(skeleton: &mut Skeleton) -> Result<(), HostError> {
    check(skeleton)?;
    DIRECTORIES.iter().try_for_each(|(name, mode)| skeleton.directory(name, *mode))?;
    // Hides what the machine has there, also from who looks for it by another name.
    skeleton.file("usr/local/.wh..wh..opq", "")?;
    for name in MERGED {
        if let Some(target) = skeleton.target(name) {
            skeleton.link(name, target.trim_start_matches('/'))?;
        }
    }
    LINKS.iter().try_for_each(|(name, target)| skeleton.link(name, target))?;
    settings(skeleton)?;
    alternatives(skeleton)
}

/// The program of who names none.
pub(super) fn shell(skeleton: &Skeleton) -> &'static str {
    if skeleton.exists("usr/bin/bash") { "/bin/bash" } else { "/bin/sh" }
}

fn check(skeleton: &Skeleton) -> Result<(), HostError> {
    if !skeleton.is_directory("usr") {
        return Err(HostError::Missing("directory /usr"));
    }
    for name in MERGED {
        let merged = skeleton.target(name).is_some_and(|to| to.trim_start_matches('/').starts_with("usr/"));
        if !merged && (skeleton.exists(name) || NEEDED.contains(&name)) {
            return Err(HostError::Unmerged(name));
        }
    }
    if !skeleton.exists("usr/bin/sh") {
        return Err(HostError::Missing("shell /usr/bin/sh"));
    }
    Ok(())
}

fn settings(skeleton: &mut Skeleton) -> Result<(), HostError> {
    skeleton.file("etc/nsswitch.conf", NAME_SERVICES)?;
    skeleton.file("etc/profile", PROFILE)?;
    skeleton.file("etc/shells", "/bin/sh\n/bin/bash\n")?;
    // Filled in for every Pod.
    for name in ["etc/hosts", "etc/hostname", "etc/resolv.conf"] {
        skeleton.file(name, "")?;
    }
    if skeleton.exists("usr/lib/os-release") {
        skeleton.link("etc/os-release", "../usr/lib/os-release")?;
    }
    for name in PUBLIC {
        let name = format!("etc/{name}");
        if let Some(content) = skeleton.read(&name)? {
            skeleton.file(&name, content)?;
        }
    }
    let zone = skeleton.target("etc/localtime").and_then(|target| {
        let (_, zone) = target.split_once("zoneinfo/")?;
        Some(format!("/usr/share/zoneinfo/{zone}"))
    });
    zone.map_or(Ok(()), |zone| skeleton.link("etc/localtime", &zone))
}

/// Which of many programs of one kind is meant; those that lie in `/usr`.
fn alternatives(skeleton: &mut Skeleton) -> Result<(), HostError> {
    let names = skeleton.names("etc/alternatives");
    if !names.is_empty() {
        skeleton.directory("etc/alternatives", 0o755)?;
    }
    for name in names {
        let name = format!("etc/alternatives/{name}");
        if let (Some(target), Some(_)) = (skeleton.target(&name), skeleton.shown(&name)) {
            skeleton.link(&name, &target)?;
        }
    }
    Ok(())
}
