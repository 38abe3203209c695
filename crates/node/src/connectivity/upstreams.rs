//! Whom the host asks about names, read again when its file has changed.

use std::fs;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use asb_core::network::resolver::Resolver;
use asb_core::network::ruleset::DNS_PORT;

/// How often the file is looked at.
pub(super) const LOOK: Duration = Duration::from_secs(5);

pub(super) struct Upstreams {
    file: PathBuf,
    changed: Option<SystemTime>,
    servers: Vec<SocketAddr>,
}

impl Upstreams {
    pub(super) fn of_host() -> Self {
        Self::of("/etc/resolv.conf".into())
    }

    fn of(file: PathBuf) -> Self {
        let mut upstreams = Self { file, changed: None, servers: Vec::new() };
        upstreams.look();
        upstreams
    }

    pub(super) fn servers(&self) -> &[SocketAddr] {
        &self.servers
    }

    /// Whether there are other servers than before. A file that cannot be read changes nothing.
    pub(super) fn look(&mut self) -> bool {
        let changed = fs::metadata(&self.file).and_then(|metadata| metadata.modified()).ok();
        if changed.is_none() || changed == self.changed {
            return false;
        }
        let Ok(text) = fs::read_to_string(&self.file) else { return false };
        self.changed = changed;
        let servers = Resolver::read(&text).upstreams();
        let servers = servers.into_iter().map(|address| SocketAddr::new(address, DNS_PORT)).collect();
        let is_other = servers != self.servers;
        self.servers = servers;
        is_other
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_follow_the_file_and_stay_when_it_is_gone() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("resolv.conf");
        fs::write(&file, "nameserver 192.0.2.1\n").unwrap();
        let mut upstreams = Upstreams::of(file.clone());
        assert_eq!(upstreams.servers(), ["192.0.2.1:53".parse().unwrap()]);
        fs::write(&file, "nameserver 192.0.2.2\n").unwrap();
        let later = SystemTime::now() + Duration::from_secs(1);
        fs::File::options().write(true).open(&file).unwrap().set_modified(later).unwrap();
        assert!(upstreams.look());
        fs::remove_file(&file).unwrap();
        assert!(!upstreams.look());
        assert_eq!(upstreams.servers(), ["192.0.2.2:53".parse().unwrap()]);
    }
}
