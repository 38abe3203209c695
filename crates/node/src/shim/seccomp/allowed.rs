//! The calls that the filter lets through.

use rustix::thread::CapabilitySet;

/// Whatever the arguments and whoever asks.
#[rustfmt::skip]
pub(super) const ALWAYS: &[i64] = &[
    libc::SYS_accept, libc::SYS_accept4, libc::SYS_adjtimex, libc::SYS_bind, libc::SYS_brk,
    libc::SYS_capget, libc::SYS_capset, libc::SYS_chdir, libc::SYS_clock_adjtime, libc::SYS_clock_getres,
    libc::SYS_clock_gettime, libc::SYS_clock_nanosleep, libc::SYS_clone3, libc::SYS_close,
    libc::SYS_close_range, libc::SYS_connect, libc::SYS_copy_file_range, libc::SYS_dup, libc::SYS_dup3,
    libc::SYS_epoll_create1, libc::SYS_epoll_ctl, libc::SYS_epoll_pwait, libc::SYS_epoll_pwait2,
    libc::SYS_eventfd2, libc::SYS_execve, libc::SYS_execveat, libc::SYS_exit, libc::SYS_exit_group,
    libc::SYS_faccessat, libc::SYS_faccessat2, libc::SYS_fadvise64, libc::SYS_fallocate, libc::SYS_fchdir,
    libc::SYS_fchmod, libc::SYS_fchmodat, libc::SYS_fchown, libc::SYS_fchownat, libc::SYS_fcntl,
    libc::SYS_fdatasync, libc::SYS_fgetxattr, libc::SYS_flistxattr, libc::SYS_flock,
    libc::SYS_fremovexattr, libc::SYS_fsetxattr, libc::SYS_fstat, libc::SYS_fstatfs, libc::SYS_fsync,
    libc::SYS_ftruncate, libc::SYS_futex, libc::SYS_futex_waitv, libc::SYS_get_robust_list,
    libc::SYS_getcpu, libc::SYS_getcwd, libc::SYS_getdents64, libc::SYS_getegid, libc::SYS_geteuid,
    libc::SYS_getgid, libc::SYS_getgroups, libc::SYS_getitimer, libc::SYS_getpeername, libc::SYS_getpgid,
    libc::SYS_getpid, libc::SYS_getppid, libc::SYS_getpriority, libc::SYS_getrandom, libc::SYS_getresgid,
    libc::SYS_getresuid, libc::SYS_getrlimit, libc::SYS_getrusage, libc::SYS_getsid, libc::SYS_getsockname,
    libc::SYS_getsockopt, libc::SYS_gettid, libc::SYS_gettimeofday, libc::SYS_getuid, libc::SYS_getxattr,
    libc::SYS_inotify_add_watch, libc::SYS_inotify_init1, libc::SYS_inotify_rm_watch, libc::SYS_io_cancel,
    libc::SYS_io_destroy, libc::SYS_io_getevents, libc::SYS_io_setup,
    libc::SYS_io_submit, libc::SYS_ioprio_get, libc::SYS_ioprio_set, libc::SYS_kill,
    libc::SYS_landlock_add_rule, libc::SYS_landlock_create_ruleset, libc::SYS_landlock_restrict_self,
    libc::SYS_lgetxattr, libc::SYS_linkat, libc::SYS_listen, libc::SYS_listxattr, libc::SYS_llistxattr,
    libc::SYS_lremovexattr, libc::SYS_lseek, libc::SYS_lsetxattr, libc::SYS_madvise, libc::SYS_membarrier,
    libc::SYS_memfd_create, libc::SYS_memfd_secret, libc::SYS_mincore, libc::SYS_mkdirat,
    libc::SYS_mknodat, libc::SYS_mlock, libc::SYS_mlock2, libc::SYS_mlockall, libc::SYS_mmap,
    libc::SYS_mprotect, libc::SYS_mq_getsetattr, libc::SYS_mq_notify, libc::SYS_mq_open,
    libc::SYS_mq_timedreceive, libc::SYS_mq_timedsend, libc::SYS_mq_unlink, libc::SYS_mremap,
    libc::SYS_msgctl, libc::SYS_msgget, libc::SYS_msgrcv, libc::SYS_msgsnd, libc::SYS_msync,
    libc::SYS_munlock, libc::SYS_munlockall, libc::SYS_munmap, libc::SYS_name_to_handle_at,
    libc::SYS_nanosleep, libc::SYS_newfstatat, libc::SYS_openat, libc::SYS_openat2, libc::SYS_pidfd_open,
    libc::SYS_pidfd_send_signal, libc::SYS_pipe2, libc::SYS_pkey_alloc, libc::SYS_pkey_free,
    libc::SYS_pkey_mprotect, libc::SYS_ppoll, libc::SYS_prctl, libc::SYS_pread64, libc::SYS_preadv,
    libc::SYS_preadv2, libc::SYS_prlimit64, libc::SYS_process_mrelease, libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev, libc::SYS_pselect6, libc::SYS_ptrace, libc::SYS_pwrite64,
    libc::SYS_pwritev, libc::SYS_pwritev2, libc::SYS_read, libc::SYS_readahead, libc::SYS_readlinkat,
    libc::SYS_readv, libc::SYS_recvfrom, libc::SYS_recvmmsg, libc::SYS_recvmsg, libc::SYS_remap_file_pages,
    libc::SYS_removexattr, libc::SYS_renameat, libc::SYS_renameat2, libc::SYS_restart_syscall,
    libc::SYS_rseq, libc::SYS_rt_sigaction, libc::SYS_rt_sigpending, libc::SYS_rt_sigprocmask,
    libc::SYS_rt_sigqueueinfo, libc::SYS_rt_sigreturn, libc::SYS_rt_sigsuspend, libc::SYS_rt_sigtimedwait,
    libc::SYS_rt_tgsigqueueinfo, libc::SYS_sched_get_priority_max, libc::SYS_sched_get_priority_min,
    libc::SYS_sched_getaffinity, libc::SYS_sched_getattr, libc::SYS_sched_getparam,
    libc::SYS_sched_getscheduler, libc::SYS_sched_rr_get_interval, libc::SYS_sched_setaffinity,
    libc::SYS_sched_setattr, libc::SYS_sched_setparam, libc::SYS_sched_setscheduler, libc::SYS_sched_yield,
    libc::SYS_seccomp, libc::SYS_semctl, libc::SYS_semget, libc::SYS_semop, libc::SYS_semtimedop,
    libc::SYS_sendfile, libc::SYS_sendmmsg, libc::SYS_sendmsg, libc::SYS_sendto, libc::SYS_set_robust_list,
    libc::SYS_set_tid_address, libc::SYS_setfsgid, libc::SYS_setfsuid, libc::SYS_setgid,
    libc::SYS_setgroups, libc::SYS_setitimer, libc::SYS_setpgid, libc::SYS_setpriority, libc::SYS_setregid,
    libc::SYS_setresgid, libc::SYS_setresuid, libc::SYS_setreuid, libc::SYS_setrlimit, libc::SYS_setsid,
    libc::SYS_setsockopt, libc::SYS_setuid, libc::SYS_setxattr, libc::SYS_shmat, libc::SYS_shmctl,
    libc::SYS_shmdt, libc::SYS_shmget, libc::SYS_shutdown, libc::SYS_sigaltstack, libc::SYS_signalfd4,
    libc::SYS_splice, libc::SYS_statfs, libc::SYS_statx, libc::SYS_symlinkat, libc::SYS_sync,
    libc::SYS_sync_file_range, libc::SYS_syncfs, libc::SYS_sysinfo, libc::SYS_tee, libc::SYS_tgkill,
    libc::SYS_timer_create, libc::SYS_timer_delete, libc::SYS_timer_getoverrun, libc::SYS_timer_gettime,
    libc::SYS_timer_settime, libc::SYS_timerfd_create, libc::SYS_timerfd_gettime,
    libc::SYS_timerfd_settime, libc::SYS_times, libc::SYS_tkill, libc::SYS_truncate, libc::SYS_umask,
    libc::SYS_uname, libc::SYS_unlinkat, libc::SYS_utimensat, libc::SYS_vmsplice, libc::SYS_wait4,
    libc::SYS_waitid, libc::SYS_write, libc::SYS_writev,
    // Newer than some libraries' lists; the numbers are the same on every machine.
    451, // cachestat
    452, // fchmodat2
    453, // map_shadow_stack
    454, // futex_wake
    455, // futex_wait
    456, // futex_requeue
    462, // mseal
    463, // setxattrat
    464, // getxattrat
    465, // listxattrat
    466, // removexattrat
    468, // file_getattr
    469, // file_setattr
];

/// Older calls that newer machines never had.
#[cfg(target_arch = "x86_64")]
#[rustfmt::skip]
pub(super) const ON_THIS_MACHINE: &[i64] = &[
    333, // io_pgetevents
    libc::SYS_access, libc::SYS_alarm, libc::SYS_arch_prctl, libc::SYS_chmod, libc::SYS_chown,
    libc::SYS_creat, libc::SYS_dup2, libc::SYS_epoll_create, libc::SYS_epoll_wait, libc::SYS_eventfd,
    libc::SYS_fork, libc::SYS_futimesat, libc::SYS_get_thread_area, libc::SYS_getdents, libc::SYS_getpgrp,
    libc::SYS_inotify_init, libc::SYS_lchown, libc::SYS_link, libc::SYS_lstat, libc::SYS_mkdir,
    libc::SYS_mknod, libc::SYS_modify_ldt, libc::SYS_open, libc::SYS_pause, libc::SYS_pipe, libc::SYS_poll,
    libc::SYS_readlink, libc::SYS_rename, libc::SYS_rmdir, libc::SYS_select, libc::SYS_set_thread_area,
    libc::SYS_signalfd, libc::SYS_stat, libc::SYS_symlink, libc::SYS_time, libc::SYS_unlink,
    libc::SYS_utime, libc::SYS_utimes, libc::SYS_vfork,
];

#[cfg(not(target_arch = "x86_64"))]
pub(super) const ON_THIS_MACHINE: &[i64] = &[];

/// For containers that were given the capability without which the kernel would refuse them anyway.
#[rustfmt::skip]
pub(super) const WITH: &[(CapabilitySet, &[i64])] = &[
    (CapabilitySet::BPF, &[
        libc::SYS_bpf,
    ]),
    (CapabilitySet::DAC_READ_SEARCH, &[
        libc::SYS_open_by_handle_at,
    ]),
    (CapabilitySet::PERFMON, &[
        libc::SYS_perf_event_open,
    ]),
    (CapabilitySet::SYS_ADMIN, &[
        libc::SYS_clone, libc::SYS_fanotify_init, libc::SYS_fanotify_mark, libc::SYS_fsconfig,
        libc::SYS_fsmount, libc::SYS_fsopen, libc::SYS_fspick, libc::SYS_lookup_dcookie, libc::SYS_mount,
        libc::SYS_mount_setattr, libc::SYS_move_mount, libc::SYS_open_tree, libc::SYS_pivot_root,
        libc::SYS_quotactl, libc::SYS_quotactl_fd, libc::SYS_setdomainname, libc::SYS_sethostname,
        libc::SYS_setns, libc::SYS_umount2, libc::SYS_unshare,
    ]),
    (CapabilitySet::SYS_BOOT, &[
        libc::SYS_reboot,
    ]),
    (CapabilitySet::SYS_CHROOT, &[
        libc::SYS_chroot,
    ]),
    (CapabilitySet::SYS_MODULE, &[
        libc::SYS_delete_module, libc::SYS_finit_module, libc::SYS_init_module,
    ]),
    (CapabilitySet::SYS_NICE, &[
        libc::SYS_get_mempolicy, libc::SYS_mbind, libc::SYS_set_mempolicy,
        libc::SYS_set_mempolicy_home_node,
    ]),
    (CapabilitySet::SYS_PACCT, &[
        libc::SYS_acct,
    ]),
    (CapabilitySet::SYS_PTRACE, &[
        libc::SYS_kcmp, libc::SYS_pidfd_getfd, libc::SYS_process_madvise,
    ]),
    (CapabilitySet::SYS_TIME, &[
        libc::SYS_clock_settime, libc::SYS_settimeofday,
    ]),
    (CapabilitySet::SYS_TTY_CONFIG, &[
        libc::SYS_vhangup,
    ]),
    (CapabilitySet::SYSLOG, &[
        libc::SYS_syslog,
    ]),
];

/// The names of the same, for runtimes that take names. Those of other machines do no harm.
#[rustfmt::skip]
pub(super) const NAMES: &[&str] = &[
    "accept", "accept4", "access", "adjtimex", "alarm", "arch_prctl", "bind", "brk", "cachestat", "capget",
    "capset", "chdir", "chmod", "chown", "clock_adjtime", "clock_getres", "clock_gettime",
    "clock_nanosleep", "close", "close_range", "connect", "copy_file_range", "creat", "dup", "dup2", "dup3",
    "epoll_create", "epoll_create1", "epoll_ctl", "epoll_pwait", "epoll_pwait2", "epoll_wait", "eventfd",
    "eventfd2", "execve", "execveat", "exit", "exit_group", "faccessat", "faccessat2", "fadvise64",
    "fallocate", "fchdir", "fchmod", "fchmodat", "fchmodat2", "fchown", "fchownat", "fcntl", "fdatasync",
    "fgetxattr", "file_getattr", "file_setattr", "flistxattr", "flock", "fork", "fremovexattr", "fsetxattr",
    "fstat", "fstatfs", "fsync", "ftruncate", "futex", "futex_requeue", "futex_wait", "futex_waitv",
    "futex_wake", "futimesat", "get_robust_list", "get_thread_area", "getcpu", "getcwd", "getdents",
    "getdents64", "getegid", "geteuid", "getgid", "getgroups", "getitimer", "getpeername", "getpgid",
    "getpgrp", "getpid", "getppid", "getpriority", "getrandom", "getresgid", "getresuid", "getrlimit",
    "getrusage", "getsid", "getsockname", "getsockopt", "gettid", "gettimeofday", "getuid", "getxattr",
    "getxattrat", "inotify_add_watch", "inotify_init", "inotify_init1", "inotify_rm_watch", "io_cancel",
    "io_destroy", "io_getevents", "io_pgetevents", "io_setup", "io_submit", "ioprio_get", "ioprio_set",
    "kill", "landlock_add_rule", "landlock_create_ruleset", "landlock_restrict_self", "lchown", "lgetxattr",
    "link", "linkat", "listen", "listxattr", "listxattrat", "llistxattr", "lremovexattr", "lseek",
    "lsetxattr", "lstat", "madvise", "map_shadow_stack", "membarrier", "memfd_create", "memfd_secret",
    "mincore", "mkdir", "mkdirat", "mknod", "mknodat", "mlock", "mlock2", "mlockall", "mmap", "modify_ldt",
    "mprotect", "mq_getsetattr", "mq_notify", "mq_open", "mq_timedreceive", "mq_timedsend", "mq_unlink",
    "mremap", "mseal", "msgctl", "msgget", "msgrcv", "msgsnd", "msync", "munlock", "munlockall", "munmap",
    "name_to_handle_at", "nanosleep", "newfstatat", "open", "openat", "openat2", "pause", "pidfd_open",
    "pidfd_send_signal", "pipe", "pipe2", "pkey_alloc", "pkey_free", "pkey_mprotect", "poll", "ppoll",
    "prctl", "pread64", "preadv", "preadv2", "prlimit64", "process_mrelease", "process_vm_readv",
    "process_vm_writev", "pselect6", "ptrace", "pwrite64", "pwritev", "pwritev2", "read", "readahead",
    "readlink", "readlinkat", "readv", "recvfrom", "recvmmsg", "recvmsg", "remap_file_pages", "removexattr",
    "removexattrat", "rename", "renameat", "renameat2", "restart_syscall", "rmdir", "rseq", "rt_sigaction",
    "rt_sigpending", "rt_sigprocmask", "rt_sigqueueinfo", "rt_sigreturn", "rt_sigsuspend",
    "rt_sigtimedwait", "rt_tgsigqueueinfo", "sched_get_priority_max", "sched_get_priority_min",
    "sched_getaffinity", "sched_getattr", "sched_getparam", "sched_getscheduler", "sched_rr_get_interval",
    "sched_setaffinity", "sched_setattr", "sched_setparam", "sched_setscheduler", "sched_yield", "seccomp",
    "select", "semctl", "semget", "semop", "semtimedop", "sendfile", "sendmmsg", "sendmsg", "sendto",
    "set_robust_list", "set_thread_area", "set_tid_address", "setfsgid", "setfsuid", "setgid", "setgroups",
    "setitimer", "setpgid", "setpriority", "setregid", "setresgid", "setresuid", "setreuid", "setrlimit",
    "setsid", "setsockopt", "setuid", "setxattr", "setxattrat", "shmat", "shmctl", "shmdt", "shmget",
    "shutdown", "sigaltstack", "signalfd", "signalfd4", "splice", "stat", "statfs", "statx", "symlink",
    "symlinkat", "sync", "sync_file_range", "syncfs", "sysinfo", "tee", "tgkill", "time", "timer_create",
    "timer_delete", "timer_getoverrun", "timer_gettime", "timer_settime", "timerfd_create",
    "timerfd_gettime", "timerfd_settime", "times", "tkill", "truncate", "umask", "uname", "unlink",
    "unlinkat", "utime", "utimensat", "utimes", "vfork", "vmsplice", "wait4", "waitid", "write", "writev",
];
