//! The root directory: where everything is found that clients name. The kernel resolves paths beneath it and refuses what would
//! lead out; what it cannot decide, such as absolute links that lead back in, and kernels without `openat2`, are for `walk`.

use std::ffi::OsStr;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags, ResolveFlags, openat2};
use rustix::io::Errno;

use super::facts::Facts;
use super::path::Inside;
use super::walk::{self, Follow, Missing, Place};

const SAFE: ResolveFlags = ResolveFlags::BENEATH.union(ResolveFlags::NO_MAGICLINKS);

pub(crate) struct Root {
    directory: OwnedFd,
    path: PathBuf,
    /// Whether the kernel has `openat2`: older ones than 5.6 have not, and some filters of system calls refuse it.
    by_kernel: bool,
}

impl Root {
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        let path = std::fs::canonicalize(path)?;
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let directory = rustix::fs::open(&path, flags, Mode::empty())?;
        let by_kernel = openat2(&directory, ".", flags, Mode::empty(), SAFE).is_ok();
        Ok(Self { directory, path, by_kernel })
    }

    /// As it would be on a kernel without `openat2`.
    #[cfg(test)]
    pub(crate) fn without_kernel(self) -> Self {
        Self { by_kernel: false, ..self }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn directory(&self) -> BorrowedFd<'_> {
        self.directory.as_fd()
    }

    /// Opens what is there, following links as long as they stay inside.
    pub(crate) fn get(&self, inside: &Inside, flags: OFlags) -> Result<OwnedFd, Errno> {
        let flags = flags | OFlags::CLOEXEC;
        if self.by_kernel {
            match openat2(&self.directory, inside.relative(), flags, Mode::empty(), SAFE) {
                // Links that are absolute or lead out look alike to the kernel, and so do paths that somebody is changing.
                Err(Errno::XDEV | Errno::LOOP | Errno::AGAIN) => {}
                other => return other,
            }
        }
        self.place(inside, Follow::Last, Missing::Fails)?.open(flags)
    }

    pub(crate) fn facts(&self, inside: &Inside) -> Result<Facts, Errno> {
        let file = self.get(inside, OFlags::PATH)?;
        rustix::fs::fstat(file).map(|stat| Facts::of(&stat))
    }

    /// Where something is or would be: the directory, and the name in it.
    pub(crate) fn place(&self, inside: &Inside, follow: Follow, missing: Missing) -> Result<Place, Errno> {
        walk::walk(self, inside.names(), follow, missing)
    }

    /// The rest of an absolute path that leads back in here.
    pub(crate) fn back<'a>(&self, absolute: &'a Path) -> Option<&'a OsStr> {
        absolute.strip_prefix(&self.path).ok().map(Path::as_os_str)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::Read;
    use std::os::unix::fs::symlink;

    use super::*;

    struct Home {
        directory: tempfile::TempDir,
        roots: [Root; 2],
    }

    /// A root with a secret beside it, resolved by the kernel and without.
    fn home() -> Home {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().join("root");
        fs::create_dir_all(root.join("a/b")).unwrap();
        fs::write(root.join("a/b/file"), "inside").unwrap();
        fs::write(directory.path().join("secret"), "outside").unwrap();
        fs::create_dir(directory.path().join("root-too")).unwrap();
        fs::write(directory.path().join("root-too/secret"), "outside").unwrap();
        let open = || Root::open(&root).unwrap();
        Home { roots: [open(), open().without_kernel()], directory }
    }

    impl Home {
        fn link(&self, name: &str, target: impl AsRef<Path>) {
            symlink(target, self.directory.path().join("root").join(name)).unwrap();
        }

        fn inside(&self) -> PathBuf {
            fs::canonicalize(self.directory.path()).unwrap().join("root")
        }

        /// What both ways of resolving say, which must be the same.
        fn read(&self, path: &str) -> Result<String, Errno> {
            let [kernel, walk] = self.roots.each_ref().map(|root| read(root, path));
            assert_eq!(kernel, walk, "{path}");
            kernel
        }
    }

    fn read(root: &Root, path: &str) -> Result<String, Errno> {
        let file = root.get(&Inside::parse(path.as_bytes()).unwrap(), OFlags::RDONLY)?;
        let mut text = String::new();
        fs::File::from(file)
            .read_to_string(&mut text)
            .map_err(|error| Errno::from_io_error(&error).unwrap())?;
        Ok(text)
    }

    #[test]
    fn the_kernel_of_this_machine_resolves_beneath() {
        assert!(home().roots[0].by_kernel);
    }

    #[test]
    fn files_inside_are_found() {
        let home = home();
        assert_eq!(home.read("a/b/file").unwrap(), "inside");
        assert_eq!(home.read("/a/../a/b/./file").unwrap(), "inside");
        assert_eq!(home.read("a/missing"), Err(Errno::NOENT));
        assert_eq!(home.read("a/b/file/x"), Err(Errno::NOTDIR));
    }

    #[test]
    fn links_inside_are_followed_also_absolute_ones() {
        let home = home();
        home.link("relative", "a/b");
        home.link("a/up", "../a/b/file");
        home.link("absolute", home.inside().join("a"));
        home.link("chain", "absolute/b");
        assert_eq!(home.read("relative/file").unwrap(), "inside");
        assert_eq!(home.read("a/up").unwrap(), "inside");
        assert_eq!(home.read("absolute/b/file").unwrap(), "inside");
        assert_eq!(home.read("chain/file").unwrap(), "inside");
    }

    #[test]
    fn links_that_lead_out_are_refused() {
        let home = home();
        home.link("up", "../secret");
        home.link("absolute", "/etc/passwd");
        home.link("beside", home.inside().with_file_name("root-too"));
        home.link("deep", "a/b/../../../secret");
        home.link("magic", "/proc/self/root/etc/passwd");
        for path in ["up", "absolute", "beside/secret", "deep", "magic"] {
            assert_eq!(home.read(path), Err(Errno::XDEV), "{path}");
        }
    }

    #[test]
    fn links_in_a_circle_end() {
        let home = home();
        home.link("one", "two");
        home.link("two", "one");
        assert_eq!(home.read("one"), Err(Errno::LOOP));
    }

    #[test]
    fn the_root_of_a_machine_can_be_the_root() {
        let root = Root::open(Path::new("/")).unwrap();
        for root in [Root::open(Path::new("/")).unwrap().without_kernel(), root] {
            assert!(root.get(&Inside::parse(b"proc/self/status").unwrap(), OFlags::RDONLY).is_ok());
        }
    }
}
