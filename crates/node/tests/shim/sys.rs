//! The payload: runs inside of containers: asks the kernel for what a container must not have, and says what it got.

#![expect(unsafe_code, reason = "asks for system calls that no crate offers, in a program made for that")]

use std::fs::File;
use std::io::Write;
use std::process::ExitCode;

use asb_node::shim::cgroups::Hierarchies;

/// Does what the words say and prints the outcome.
pub(crate) fn main(mut words: impl Iterator<Item = String>) -> ExitCode {
    let outcome = match words.next().as_deref() {
        Some("calls") => calls(),
        Some("eat") => eat(),
        Some("join") => return join(words),
        Some("listen") => return listen(words),
        Some("spin") => spin(),
        Some("/trick") => overwrite(),
        _ => return ExitCode::from(2),
    };
    let _ = std::io::stdout().write_all(outcome.as_bytes());
    ExitCode::SUCCESS
}

/// The name of each call and the error that it failed with.
fn calls() -> String {
    // SAFETY: none of these calls is given memory that it could write to; those that succeed change only this process.
    let attempts: Vec<(&str, String)> = unsafe {
        vec![
            ("keyctl", error(libc::syscall(libc::SYS_keyctl, 0, -3, 0))),
            ("unshare", error(libc::syscall(libc::SYS_unshare, libc::CLONE_NEWUSER))),
            ("mount", error(libc::syscall(libc::SYS_mount, 0, 0, 0, 0, 0))),
            ("bpf", error(libc::syscall(libc::SYS_bpf, 0, 0, 0))),
            ("io_uring", error(libc::syscall(libc::SYS_io_uring_setup, 0, 0))),
            ("clone3", error(libc::syscall(libc::SYS_clone3, 0, 0))),
            ("vsock", error(libc::syscall(libc::SYS_socket, libc::AF_VSOCK, libc::SOCK_STREAM, 0))),
            ("alg", error(libc::syscall(libc::SYS_socket, libc::AF_ALG, libc::SOCK_SEQPACKET, 0))),
            ("inet", error(libc::syscall(libc::SYS_socket, libc::AF_INET, libc::SOCK_STREAM, 0))),
            ("route", error(libc::syscall(libc::SYS_socket, libc::AF_NETLINK, libc::SOCK_RAW, 0))),
            ("audit", error(libc::syscall(libc::SYS_socket, libc::AF_NETLINK, libc::SOCK_RAW, 9))),
            ("tiocsti", error(libc::syscall(libc::SYS_ioctl, 0, libc::TIOCSTI, 0))),
            ("tiocsti+", error(libc::syscall(libc::SYS_ioctl, 0, libc::TIOCSTI | 1 << 32, 0))),
            ("clone", error(libc::syscall(libc::SYS_clone, libc::CLONE_NEWUSER, 0, 0, 0, 0))),
            ("unknown", error(libc::syscall(470))),
            ("x32", error(libc::syscall(0x4000_0027))),
        ]
    };
    attempts.into_iter().fold(String::new(), |text, (name, outcome)| text + name + " " + &outcome + "\n")
}

/// Of the call that was just made.
fn error(result: libc::c_long) -> String {
    if result >= 0 {
        return "fine".to_owned();
    }
    match std::io::Error::last_os_error().raw_os_error() {
        Some(libc::EPERM) => "EPERM".to_owned(),
        Some(libc::ENOSYS) => "ENOSYS".to_owned(),
        other => format!("{other:?}"),
    }
}

/// Tries to get at the program that this process is.
fn overwrite() -> String {
    let mut text = String::new();
    if File::open("/proc/self/exe").is_ok() {
        text.push_str("opened to be read\n");
    }
    match File::options().write(true).open("/proc/self/exe") {
        Ok(_) => text + "opened to be written\n",
        Err(error) => format!("{text}to be written: {}\n", error.kind()),
    }
}

/// Joins a cgroup of version 1, says so, and stays.
fn join(mut words: impl Iterator<Item = String>) -> ExitCode {
    let joined = words.next().is_some_and(|path| {
        let hierarchies = Hierarchies::discover().map(Hierarchies::without_version_2);
        hierarchies.is_ok_and(|hierarchies| hierarchies.cgroup(path.as_ref()).join().is_ok())
    });
    if joined && std::io::stdout().write_all(b"in\n").is_ok() {
        loop {
            std::thread::park();
        }
    }
    ExitCode::FAILURE
}

/// Echoes what comes to a port of the loopback, which it needs a capability to have.
fn listen(mut words: impl Iterator<Item = String>) -> ExitCode {
    let port = words.next().and_then(|port| port.parse::<u16>().ok()).unwrap_or_default();
    if !raise_loopback() {
        return ExitCode::from(3);
    }
    let Ok(listener) = std::net::TcpListener::bind(("127.0.0.1", port)) else { return ExitCode::from(4) };
    let _ = std::io::stdout().write_all(b"listening\n");
    for stream in listener.incoming().flatten() {
        let _ = std::io::copy(&mut &stream, &mut &stream);
    }
    ExitCode::FAILURE
}

fn raise_loopback() -> bool {
    let Ok(socket) = std::net::UdpSocket::bind("0.0.0.0:0") else { return false };
    // SAFETY: all zeros is a valid value of the structure, which lives as long as the call.
    unsafe {
        let mut request: libc::ifreq = std::mem::zeroed();
        request.ifr_name[0] = b'l'.cast_signed();
        request.ifr_name[1] = b'o'.cast_signed();
        request.ifr_ifru.ifru_flags = 1;
        libc::ioctl(std::os::fd::AsRawFd::as_raw_fd(&socket), libc::SIOCSIFFLAGS, &raw const request) == 0
    }
}

/// Takes memory until there is no more.
fn eat() -> String {
    let mut eaten: Vec<Vec<u8>> = Vec::new();
    loop {
        eaten.push(vec![1; 1 << 20]);
        if eaten.len() > 4096 {
            return "full\n".to_owned();
        }
    }
}

/// Works for one second of the clock and says how many milliseconds it was given.
fn spin() -> String {
    let start = std::time::Instant::now();
    while start.elapsed().as_millis() < 1000 {
        std::hint::spin_loop();
    }
    // SAFETY: the structure is valid for the call, and all zeros is a valid value of it.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_SELF, &raw mut usage);
        usage
    };
    let milliseconds = |time: libc::timeval| time.tv_sec * 1000 + time.tv_usec / 1000;
    format!("{}\n", milliseconds(usage.ru_utime) + milliseconds(usage.ru_stime))
}
