//! Project quotas: the kernel counts what is in a directory under a number, and stops at a limit.
#![expect(unsafe_code, reason = "quotas have no safe calls")]

use std::fs::File;
use std::io;
use std::mem::{offset_of, size_of};
use std::os::fd::{AsFd, AsRawFd};
use std::path::Path;

/// `struct fsxattr`.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Attributes {
    flags: u32,
    extent: u32,
    extents: u32,
    project: u32,
    copy: u32,
    padding: [u8; 8],
}

/// `struct if_dqblk`: limits in blocks of 1 KiB.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Limits {
    hard: u64,
    soft: u64,
    used: u64,
    files: [u64; 3],
    times: [u64; 2],
    valid: u32,
}

const _: () = assert!(size_of::<Attributes>() == 28 && offset_of!(Limits, valid) == 64);

/// Whatever is made in the directory belongs to its project.
const INHERIT: u32 = 0x200;
const READ_ATTRIBUTES: libc::c_ulong = 0x801c_581f;
const WRITE_ATTRIBUTES: libc::c_ulong = 0x401c_5820;
const SET_LIMITS: u32 = (0x0080_0008 << 8) | 2;
const BLOCK_LIMITS: u32 = 1;

/// Counts `directory`, which must be new or counted already, under `project`, and limits it.
pub(crate) fn set(directory: &Path, project: u32, bytes: u64) -> io::Result<()> {
    let opened = File::open(directory)?;
    let mut attributes = Attributes::default();
    exchange(&opened, READ_ATTRIBUTES, &mut attributes)?;
    if attributes.project != project || attributes.flags & INHERIT == 0 {
        (attributes.project, attributes.flags) = (project, attributes.flags | INHERIT);
        exchange(&opened, WRITE_ATTRIBUTES, &mut attributes)?;
    }
    let blocks = bytes.div_ceil(1024);
    limit(&opened, project, Limits { hard: blocks, soft: blocks, valid: BLOCK_LIMITS, ..Limits::default() })
}

fn exchange(file: &impl AsFd, request: libc::c_ulong, attributes: &mut Attributes) -> io::Result<()> {
    // SAFETY: both requests read or write one `struct fsxattr` of 28 bytes, which `Attributes` is, for the time of the call.
    let result = unsafe { libc::ioctl(file.as_fd().as_raw_fd(), request, std::ptr::from_mut(attributes)) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

fn limit(file: &impl AsFd, project: u32, mut limits: Limits) -> io::Result<()> {
    let pointer = std::ptr::from_mut(&mut limits);
    // SAFETY: the command reads one `struct if_dqblk`, which `Limits` is, for the time of the call.
    let result = unsafe {
        libc::syscall(libc::SYS_quotactl_fd, file.as_fd().as_raw_fd(), SET_LIMITS, project, pointer)
    };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
