//! Certificates that somebody else keeps in files: read at the start, and again when they change.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;

use super::identity::{Broken, Identity, certified};

/// How often to see whether they changed.
const ROUND: Duration = Duration::from_secs(10);
/// A certificate and its key in one file, where there are no two.
const COMBINED: &str = "cert.pem";

#[derive(Clone, Debug)]
pub struct Files {
    pub directory: PathBuf,
    pub certificate: String,
    pub key: String,
}

#[derive(Debug, thiserror::Error)]
pub enum Unreadable {
    #[error("cannot read {}", .0.display())]
    File(PathBuf, #[source] std::io::Error),
    #[error("cannot use the certificate in {}", .0.display())]
    Broken(PathBuf, #[source] Broken),
}

impl Files {
    pub(super) fn read(&self) -> Result<Identity, Unreadable> {
        let (chain, key) = self.texts()?;
        let key = certified(&chain, &key).map_err(|why| Unreadable::Broken(self.directory.clone(), why))?;
        Ok(Identity { key: Arc::new(key), bundle: None })
    }

    /// The certificate and the key.
    fn texts(&self) -> Result<(String, String), Unreadable> {
        let read = |name: &str| {
            let path = self.directory.join(name);
            std::fs::read_to_string(&path).map_err(|error| Unreadable::File(path, error))
        };
        match (read(&self.certificate), read(&self.key)) {
            (Ok(certificate), Ok(key)) => Ok((certificate, key)),
            (Err(error), _) | (_, Err(error)) => {
                read(COMBINED).map(|both| (both.clone(), both)).map_err(|_| error)
            }
        }
    }

    /// Serves what is in the files, for ever.
    pub(super) async fn keep(self, served: watch::Sender<Option<Arc<Identity>>>) {
        loop {
            tokio::time::sleep(ROUND).await;
            match self.read() {
                Ok(identity) => drop(served.send_if_modified(|served| {
                    let is_new = served.as_ref().is_none_or(|served| served.key.cert != identity.key.cert);
                    if is_new {
                        *served = Some(Arc::new(identity));
                    }
                    is_new
                })),
                // Files that are being exchanged do not fit for a moment; what was read before still serves.
                Err(error) => tracing::warn!(
                    error = &error as &dyn std::error::Error,
                    "cannot read the webhook's certificate, serving the one before"
                ),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    use super::super::issue::issue;
    use super::*;

    fn files(directory: &std::path::Path) -> Files {
        Files {
            directory: directory.to_owned(),
            certificate: "tls.crt".to_owned(),
            key: "tls.key".to_owned(),
        }
    }

    #[test]
    fn two_files_are_read_and_one_where_there_are_no_two() {
        let directory = tempfile::tempdir().unwrap();
        let (two, one) = (directory.path().join("two"), directory.path().join("one"));
        let issued = issue(&["hook.system.svc".to_owned()], Timestamp::now()).unwrap();
        for folder in [&two, &one] {
            std::fs::create_dir(folder).unwrap();
        }
        std::fs::write(two.join("tls.crt"), &issued.certificate).unwrap();
        std::fs::write(two.join("tls.key"), &issued.key).unwrap();
        std::fs::write(one.join(COMBINED), issued.key + &issued.certificate).unwrap();
        assert_eq!(files(&two).read().unwrap().key.cert, files(&one).read().unwrap().key.cert);
    }

    #[test]
    fn a_missing_file_is_named() {
        let directory = tempfile::tempdir().unwrap();
        let error = files(directory.path()).read().unwrap_err().to_string();
        assert!(error.ends_with("tls.crt"), "{error}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_changed_certificate_is_served() {
        let directory = tempfile::tempdir().unwrap();
        let write = || {
            let issued = issue(&["hook.system.svc".to_owned()], Timestamp::now()).unwrap();
            std::fs::write(directory.path().join(COMBINED), issued.key + &issued.certificate).unwrap();
        };
        write();
        let files = files(directory.path());
        let first = files.read().unwrap();
        let served = watch::Sender::new(Some(Arc::new(first.clone())));
        let mut seen = served.subscribe();
        let keeping = tokio::spawn(files.keep(served));
        write();
        seen.changed().await.unwrap();
        assert_ne!(seen.borrow().as_ref().unwrap().key.cert, first.key.cert);
        keeping.abort();
    }
}
