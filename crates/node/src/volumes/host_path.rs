//! Paths of the machine that a Pod was allowed to see: whether what is there is what the Pod expects.

use std::fs::{self, File, FileType};
use std::io::{self, ErrorKind};
use std::os::unix::fs::FileTypeExt;
use std::path::Path;

use super::durable::make_directory;
use super::error::{Error, failed};

/// Makes or checks what a volume of this `type` expects at `path`. No type expects nothing.
pub fn check(path: &Path, expected: Option<&str>) -> Result<(), Error> {
    let is_expected: fn(FileType) -> bool = match expected.unwrap_or_default() {
        "DirectoryOrCreate" => {
            create(path, |path| make_directory(path, 0o755))?;
            |kind| kind.is_dir()
        }
        "FileOrCreate" => {
            create(path, |path| File::create_new(path).map(drop))?;
            |kind| kind.is_file()
        }
        "Directory" => |kind| kind.is_dir(),
        "File" => |kind| kind.is_file(),
        "Socket" => |kind| kind.is_socket(),
        "CharDevice" => |kind| kind.is_char_device(),
        "BlockDevice" => |kind| kind.is_block_device(),
        _ => return Ok(()),
    };
    let kind = fs::metadata(path).map_err(failed("look at", path))?.file_type();
    if is_expected(kind) {
        Ok(())
    } else {
        Err(Error::HostPath { path: path.to_owned(), expected: expected.unwrap_or_default().to_owned() })
    }
}

fn create(path: &Path, make: impl Fn(&Path) -> io::Result<()>) -> Result<(), Error> {
    match make(path) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(()),
        other => other.map_err(failed("make", path)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_is_made_where_the_pod_says_so_and_only_there() {
        let folder = tempfile::tempdir().unwrap();
        let (directory, file) = (folder.path().join("d"), folder.path().join("f"));
        assert!(check(&directory, Some("Directory")).is_err());
        check(&directory, Some("DirectoryOrCreate")).unwrap();
        check(&directory, Some("DirectoryOrCreate")).unwrap();
        check(&file, Some("FileOrCreate")).unwrap();
        check(&file, Some("File")).unwrap();
        check(Path::new("/dev/null"), Some("CharDevice")).unwrap();
        check(Path::new("/nonexistent"), None).unwrap();
    }

    #[test]
    fn something_else_is_refused() {
        let error = check(Path::new("/dev/null"), Some("Directory")).unwrap_err();
        assert_eq!(error.to_string(), "hostPath type check failed: /dev/null is not a Directory");
        for kind in ["File", "Socket", "BlockDevice", "FileOrCreate"] {
            assert!(check(Path::new("/dev/null"), Some(kind)).is_err(), "{kind}");
        }
    }
}
