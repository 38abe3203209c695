//! The root file system and volumes of a container, made in a mount namespace of its own: nothing is ever mounted where
//! the machine could see it, and nothing is left to unmount when the last process is gone.
//!
//! Image layers and volumes are mounted with the ids of the Pod mapped, so that files on disk carry the container's ids.
//! Writable layers belong to one attempt and are given to the Pod's root instead.

use std::fs;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::{DirBuilderExt, PermissionsExt, chown};
use std::path::{Path, PathBuf};

use nix::sched::{CloneFlags, unshare};
use rustix::fs::{
    AtFlags, CWD, Gid, Mode, OFlags, ResolveFlags, StatVfsMountFlags, Uid, fstat, fstatvfs, openat, openat2,
};
use rustix::mount::{
    MountFlags, MountPropagationFlags, MoveMountFlags, OpenTreeFlags, UnmountFlags, mount, mount_change,
    move_mount, open_tree, unmount,
};
use rustix::process::chdir;

use super::plan::{Overlay, Source};
use crate::sys::processes::{self as sys, MountAttributes};

#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error("cannot {action} {path}")]
    Step { action: &'static str, path: PathBuf, source: io::Error },
    #[error(
        "the file system of {path} cannot map ids ({kind}), so the Pod's files there could not be kept apart"
    )]
    NotMappable { path: PathBuf, kind: String, source: io::Error },
    #[error("the root file system came up read-only; the writable layer in {0} is not usable")]
    ReadOnly(PathBuf),
    #[error("an image has at least one layer")]
    NoLayers,
}

type Result<T, E = Error> = std::result::Result<T, E>;

/// Where a container is put together: a small file system in memory, in a mount namespace that nobody else sees.
pub(super) struct Stage {
    base: PathBuf,
}

/// For libcontainer the stage takes the place of the cgroups' mounts, which has two uses: any machine has the directory and
/// the Pod's root may walk to it; and libcontainer, which finds no hierarchies there any more, leaves the cgroups of the
/// process as they are.
pub(super) const CGROUPS: &str = "/sys/fs/cgroup";

/// A mount namespace in which nothing that we do is seen outside.
pub(super) fn withdraw() -> Result<()> {
    let failed = |source| Error::Step { action: "leave the mount namespace at", path: "/".into(), source };
    unshare(CloneFlags::CLONE_NEWNS).map_err(|error| failed(error.into()))?;
    mount_change("/", MountPropagationFlags::DOWNSTREAM | MountPropagationFlags::REC)
        .map_err(|error| failed(error.into()))
}

/// Layers, lowest first, under a writable one kept in `writable`, at `target`.
pub(super) struct Layers<'a> {
    pub(super) lowest_first: &'a [PathBuf],
    pub(super) writable: &'a Path,
    /// Tells it from the other overlays of the same container.
    pub(super) number: usize,
}

/// How ids are mapped: by the Pod's user namespace, the first of whose ids is given; or not at all.
#[derive(Clone, Copy)]
pub(super) struct Mapping<'a> {
    pub(super) namespace: BorrowedFd<'a>,
    pub(super) root: u32,
}

impl Stage {
    /// In place of the cgroups. What is to be taken from there must be opened before.
    pub(super) fn instead_of_cgroups() -> Result<Self> {
        // Mounts lie on top of each other there; the last one is the machine's own directory.
        while unmount(CGROUPS, UnmountFlags::DETACH).is_ok() {}
        Self::at(Path::new(CGROUPS))
    }

    pub(super) fn at(base: &Path) -> Result<Self> {
        make_directory(base)?;
        mount("tmpfs", base, "tmpfs", MountFlags::NOSUID | MountFlags::NODEV, Some(c"mode=0755,size=4m"))
            .map_err(|source| error("mount a stage on", base, source))?;
        let stage = Self { base: base.to_owned() };
        for name in ["layers", "mounts", "rootfs", "bundle"] {
            make_directory(&stage.path(name))?;
        }
        Ok(stage)
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.base.join(name)
    }

    /// Mounts an overlay at a path of the stage.
    pub(super) fn overlay(
        &self,
        layers: &Layers<'_>,
        target: &Path,
        mapping: Option<Mapping<'_>>,
    ) -> Result<()> {
        if layers.lowest_first.is_empty() {
            return Err(Error::NoLayers);
        }
        let lower = self.attach_layers(layers, mapping)?;
        let writable = self.attach_writable(layers, mapping)?;
        let options =
            format!("lowerdir={},upperdir={writable}/upper,workdir={writable}/work", lower.join(":"));
        let options = std::ffi::CString::new(options).map_err(|source| Error::Step {
            action: "name the layers of",
            path: target.to_owned(),
            source: source.into(),
        })?;
        // Relative names: short, and free of the signs that separate options.
        let mounted = chdir(&self.base)
            .and_then(|()| mount("overlay", target, "overlay", MountFlags::NODEV, Some(options.as_c_str())))
            .and_then(|()| chdir("/"));
        mounted.map_err(|source| error("mount the layers at", target, source))?;
        check_writable(target, layers.writable)
    }

    /// Topmost first, as overlay wants them; the names are short because the kernel takes one page of options.
    fn attach_layers(&self, layers: &Layers<'_>, mapping: Option<Mapping<'_>>) -> Result<Vec<String>> {
        let mut names = Vec::new();
        for (number, layer) in layers.lowest_first.iter().enumerate().rev() {
            let name = format!("layers/{}-{number}", layers.number);
            let place = self.path(&name);
            make_directory(&place)?;
            let tree = clone_tree(&open_source(layer)?, layer, false)?;
            let ids = mapping.map(|mapping| mapping.namespace);
            change(&tree, layer, MountAttributes { set: libc::MOUNT_ATTR_RDONLY, ids, recursive: false })?;
            attach(&tree, &place)?;
            names.push(name);
        }
        Ok(names)
    }

    fn attach_writable(&self, layers: &Layers<'_>, mapping: Option<Mapping<'_>>) -> Result<String> {
        let owner = mapping.map_or(0, |mapping| mapping.root);
        for name in ["upper", "work"] {
            let path = layers.writable.join(name);
            fs::create_dir_all(&path)
                .and_then(|()| fs::set_permissions(&path, fs::Permissions::from_mode(0o755)))
                .and_then(|()| chown(&path, Some(owner), Some(owner)))
                .map_err(|source| Error::Step {
                    action: "make the writable layer",
                    path: path.clone(),
                    source,
                })?;
        }
        let name = format!("layers/{}-w", layers.number);
        let place = self.path(&name);
        make_directory(&place)?;
        let tree = clone_tree(&open_source(layers.writable)?, layers.writable, false)?;
        attach(&tree, &place)?;
        Ok(name)
    }

    /// An overlay below the root, at a path that is followed inside the root and nowhere else.
    pub(super) fn sub_overlay(
        &self,
        root: &Path,
        overlay_plan: &Overlay,
        layers: &Layers<'_>,
        mapping: Option<Mapping<'_>>,
        read_only: bool,
    ) -> Result<()> {
        let place = self.path("mounts").join(format!("overlay-{}", layers.number));
        make_directory(&place)?;
        self.overlay(layers, &place, mapping)?;
        let tree = clone_tree(&open_source(&place)?, &place, false)?;
        if read_only {
            change(
                &tree,
                &place,
                MountAttributes { set: libc::MOUNT_ATTR_RDONLY, ..MountAttributes::default() },
            )?;
        }
        let target = inside(root, &overlay_plan.target, mapping.map_or(0, |mapping| mapping.root))?;
        move_mount(
            &tree,
            "",
            &target,
            "",
            MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH | MoveMountFlags::MOVE_MOUNT_T_EMPTY_PATH,
        )
        .map_err(|source| error("mount layers at", &overlay_plan.target, source))
    }

    /// Puts what a volume is made from on the stage, ready to be bound into the container, and says where.
    pub(super) fn volume(
        &self,
        number: usize,
        path: &Path,
        sub_path: Option<&Path>,
        wanted: MountAttributes<'_>,
    ) -> Result<PathBuf> {
        let base = open_source(path)?;
        let source = match sub_path {
            Some(sub_path) => beneath(&base, path, sub_path)?,
            None => base,
        };
        let is_directory = rustix::fs::FileType::from_raw_mode(
            fstat(&source).map_err(|source| error("look at", path, source))?.st_mode,
        )
        .is_dir();
        let tree = clone_tree(&source, path, wanted.recursive)?;
        let set = wanted.set | libc::MOUNT_ATTR_NOSUID | libc::MOUNT_ATTR_NODEV;
        change(&tree, path, MountAttributes { set, ..wanted })?;
        let place = self.path("mounts").join(number.to_string());
        if is_directory {
            make_directory(&place)?;
        } else {
            fs::write(&place, "").map_err(|source| Error::Step {
                action: "make",
                path: place.clone(),
                source,
            })?;
        }
        attach(&tree, &place)?;
        Ok(place)
    }

    /// Puts the container's own cgroups on the stage, to be read and not written, and says where each is. Their names here
    /// are numbers: libcontainer would take what is named after a controller for a hierarchy to join.
    pub(super) fn cgroups(&self, views: Vec<(PathBuf, OwnedFd)>) -> Result<Vec<(PathBuf, PathBuf)>> {
        let set = libc::MOUNT_ATTR_RDONLY
            | libc::MOUNT_ATTR_NOSUID
            | libc::MOUNT_ATTR_NODEV
            | libc::MOUNT_ATTR_NOEXEC;
        let mut placed = Vec::new();
        for (number, (name, tree)) in views.into_iter().enumerate() {
            let place = self.path("mounts").join(format!("cgroup-{number}"));
            make_directory(&place)?;
            change(&tree, &place, MountAttributes { set, ..MountAttributes::default() })?;
            attach(&tree, &place)?;
            placed.push((place, Path::new(CGROUPS).join(name)));
        }
        Ok(placed)
    }
}

/// Overlay falls back to read-only without a word when it cannot use the writable layer.
fn check_writable(target: &Path, writable: &Path) -> Result<()> {
    let opened = openat(CWD, target, OFlags::PATH | OFlags::CLOEXEC, Mode::empty());
    let flags = opened.and_then(fstatvfs).map_err(|source| error("look at", target, source))?.f_flag;
    if flags.contains(StatVfsMountFlags::RDONLY) { Err(Error::ReadOnly(writable.to_owned())) } else { Ok(()) }
}

/// A view of a directory that can be mounted later.
pub(super) fn view(path: &Path) -> Result<OwnedFd> {
    clone_tree(&open_source(path)?, path, false)
}

/// The mount attributes of a volume.
pub(super) fn volume_attributes<'a>(
    source: &Source,
    read_only: bool,
    mapping: Option<Mapping<'a>>,
) -> MountAttributes<'a> {
    let set = if read_only { libc::MOUNT_ATTR_RDONLY } else { 0 };
    match source {
        Source::Path { recursive, .. } => {
            MountAttributes { set, ids: mapping.map(|mapping| mapping.namespace), recursive: *recursive }
        }
        // Made for the Pod, with its ids.
        Source::Memory { .. } | Source::Tmpfs { .. } => MountAttributes { set, ids: None, recursive: false },
    }
}

/// A directory inside the root, made if it is missing. Links of the image lead nowhere else.
pub(super) fn inside(root: &Path, path: &Path, owner: u32) -> Result<OwnedFd> {
    let opened = open_source(root)?;
    reach(&opened, path, ResolveFlags::IN_ROOT, owner).map_err(|source| Error::Step {
        action: "find a place in the container for",
        path: path.to_owned(),
        source,
    })
}

/// What a volume's user names inside of it; what leads out of it is an error.
fn beneath(base: &OwnedFd, path: &Path, sub_path: &Path) -> Result<OwnedFd> {
    reach(base, sub_path, ResolveFlags::BENEATH, 0).map_err(|source| Error::Step {
        action: "find the sub-path in",
        path: path.join(sub_path),
        source,
    })
}

/// Opens `path` below `base`, one directory after the other where they are missing.
fn reach(base: &OwnedFd, path: &Path, how: ResolveFlags, owner: u32) -> io::Result<OwnedFd> {
    let (user, group) = (Uid::from_raw(owner), Gid::from_raw(owner));
    let resolve = how | ResolveFlags::NO_MAGICLINKS;
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    let relative = path.strip_prefix("/").unwrap_or(path);
    let open = |path: &Path| openat2(base, path, flags, Mode::empty(), resolve);
    let mut sofar = PathBuf::from(".");
    let mut opened = open(&sofar)?;
    for name in relative.components().filter(|part| !matches!(part, std::path::Component::CurDir)) {
        sofar.push(name);
        opened = match open(&sofar) {
            Err(rustix::io::Errno::NOENT) => {
                // Made in the directory that was reached; a link that points nowhere makes this fail.
                rustix::fs::mkdirat(&opened, name.as_os_str(), Mode::from_raw_mode(0o755))?;
                let made = open(&sofar)?;
                rustix::fs::chownat(&made, "", Some(user), Some(group), AtFlags::EMPTY_PATH)?;
                made
            }
            other => other?,
        };
    }
    Ok(opened)
}

fn open_source(path: &Path) -> Result<OwnedFd> {
    openat(CWD, path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty())
        .map_err(|source| error("open", path, source))
}

fn clone_tree(source: &OwnedFd, path: &Path, recursive: bool) -> Result<OwnedFd> {
    let mut flags =
        OpenTreeFlags::OPEN_TREE_CLONE | OpenTreeFlags::OPEN_TREE_CLOEXEC | OpenTreeFlags::AT_EMPTY_PATH;
    if recursive {
        flags |= OpenTreeFlags::AT_RECURSIVE;
    }
    open_tree(source, "", flags).map_err(|source| error("take a view of", path, source))
}

/// Every file system says in the same way that it does not know mapped ids.
fn change(tree: &OwnedFd, path: &Path, attributes: MountAttributes<'_>) -> Result<()> {
    sys::mount_setattr(tree.as_fd(), attributes).map_err(|source| {
        if attributes.ids.is_some() && source.raw_os_error() == Some(libc::EINVAL) {
            return Error::NotMappable { path: path.to_owned(), kind: kind(tree), source };
        }
        Error::Step { action: "set the mount options of", path: path.to_owned(), source }
    })
}

fn kind(tree: &OwnedFd) -> String {
    rustix::fs::fstatfs(tree)
        .map_or_else(|error| error.to_string(), |stat| format!("type {:#x}", stat.f_type))
}

fn attach(tree: &OwnedFd, place: &Path) -> Result<()> {
    move_mount(tree, "", CWD, place, MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH)
        .map_err(|source| error("mount at", place, source))
}

fn make_directory(path: &Path) -> Result<()> {
    fs::DirBuilder::new().mode(0o755).recursive(true).create(path).map_err(|source| Error::Step {
        action: "make",
        path: path.to_owned(),
        source,
    })
}

fn error(action: &'static str, path: impl AsRef<Path>, source: rustix::io::Errno) -> Error {
    Error::Step { action, path: path.as_ref().to_owned(), source: source.into() }
}
