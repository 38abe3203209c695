//! Calls that reach parts of the kernel which have no business with a container.

use crate::case::Attack::Program;
use crate::case::Layer::{Rights, SystemCalls, Users};
use crate::case::{Case, PRIVILEGED, UNCONFINED, Without, case};

pub(crate) const CASES: &[Case] = &[
    case(
        "keys_of_the_kernel_are_out_of_reach",
        "CVE-2016-0728, CVE-2017-6074; the keyring has no namespaces",
        &[SystemCalls],
        Program(
            "
for ring in (-3, -4, -5):
    attempt(f'add a key to {ring}', call('add_key', b'user', b'asb-escape', b'x', 1, ring))
attempt('ask for a key', call('request_key', b'user', b'asb-escape', 0, -3))
attempt('name the ring of the session', call('keyctl', 0, -3, 1))
held()",
        ),
    )
    .without(UNCONFINED),
    case(
        "no_user_namespace_is_made",
        "CVE-2022-0185, CVE-2023-32233, CVE-2024-1086: rights over the kernel from a namespace of one's own",
        &[SystemCalls],
        Program(
            "
attempt('unshare', call('unshare', NEWUSER))
for flags in (NEWUSER, NEWUSER | NEWNS | NEWPID, NEWNET, NEWNS, NEWCGROUP, NEWUTS, NEWIPC):
    result = call('clone', flags | signal.SIGCHLD, 0, 0, 0, 0)
    if result == 0: os._exit(0)
    attempt(f'clone {flags:x}', result)
arguments = ctypes.create_string_buffer(struct.pack('11Q', NEWUSER, 0, 0, 0, signal.SIGCHLD, 0, 0, 0, 0, 0, 0))
result = call('clone3', arguments, 88)
if result == 0: os._exit(0)
attempt('clone3', result)
held()",
        ),
    )
    .without(UNCONFINED),
    case(
        "nothing_is_mounted_from_a_nested_user_namespace",
        "CVE-2022-0185 (fsconfig), CVE-2023-0386 and CVE-2023-2640 (overlayfs): mounts by root of a nested namespace",
        &[SystemCalls],
        Program(
            "
result = call('unshare', NEWUSER | NEWNS)
if result < 0: held('unshare', errno.errorcode[-result])
attempt('mount', call('mount', b'tmpfs', b'/mnt', b'tmpfs', 0, 0))
attempt('fsopen', call('fsopen', b'overlay', 0))
held()",
        ),
    )
    .without(UNCONFINED),
    case(
        "nothing_is_mounted_or_uncovered",
        "CVE-2022-0492 and CVE-2025-31133 begin with a mount; masks end with an unmount",
        &[SystemCalls, Rights],
        Program(
            "
for kind in (b'tmpfs', b'proc', b'sysfs', b'overlay', b'mqueue'):
    attempt(f'mount {kind}', call('mount', kind, b'/mnt', kind, 0, 0))
attempt('bind', call('mount', b'/', b'/mnt', 0, 0x1000, 0))
attempt('remount', call('mount', 0, b'/proc/sys', 0, 0x1020, 0))
attempt('unmount', call('umount2', b'/proc/keys', 2))
attempt('fsopen', call('fsopen', b'tmpfs', 0))
attempt('open_tree', call('open_tree', -100, b'/', 1))
attempt('move_mount', call('move_mount', -100, b'/proc', -100, b'/mnt', 0))
attempt('pivot_root', call('pivot_root', b'/', b'/'))
held()",
        ),
    )
    .without(PRIVILEGED),
    case(
        "no_ring_of_requests_is_made",
        "CVE-2022-29582, CVE-2023-2598, CVE-2024-0582: io_uring",
        &[SystemCalls],
        Program(
            "
attempt('io_uring_setup', call('io_uring_setup', 4, ctypes.create_string_buffer(120)))
held()",
        ),
    )
    .without(UNCONFINED),
    case(
        "no_program_is_loaded_into_the_kernel",
        "CVE-2020-8835, CVE-2021-3490, CVE-2022-23222: eBPF",
        &[SystemCalls, Rights],
        Program(
            "
attributes = ctypes.create_string_buffer(struct.pack('IIII', 2, 4, 4, 1), 72)
attempt('make a map', call('bpf', 0, attributes, 72))
held()",
        ),
    )
    .without(Without::Machine),
    case(
        "faults_of_pages_are_not_handled_outside_of_the_kernel",
        "userfaultfd, which made CVE-2021-22555 and CVE-2022-2588 easy to use",
        &[SystemCalls],
        Program(
            "
attempt('userfaultfd', call('userfaultfd', 1))
held()",
        ),
    )
    .without(UNCONFINED),
    case(
        "nothing_is_measured_by_the_kernel",
        "CVE-2013-2094, CVE-2023-5717: perf_event_open",
        &[SystemCalls, Rights],
        Program(
            "
attributes = ctypes.create_string_buffer(struct.pack('IIQQQQQ', 1, 112, 0, 0, 0, 0, 0x61), 112)
attempt('perf_event_open', call('perf_event_open', attributes, 0, -1, -1, 0))
held()",
        ),
    )
    .without(Without::Machine),
    case(
        "the_kernel_is_neither_replaced_nor_extended",
        "modules, kexec, reboot, swap and accounting, as in containers that were given SYS_MODULE",
        &[SystemCalls, Rights],
        Program(
            "
attempt('init_module', call('init_module', b'', 0, b''))
attempt('finit_module', call('finit_module', 0, b'', 0))
attempt('delete_module', call('delete_module', b'asb_escape', 0))
attempt('kexec_load', call('kexec_load', 0, 0, 0, 0))
attempt('kexec_file_load', call('kexec_file_load', -1, -1, 0, b'', 0))
attempt('reboot', call('reboot', 0xfee1dead, 0x28121969, 0, 0))
attempt('swapon', call('swapon', b'/asb-escape', 0))
attempt('acct', call('acct', b'/tmp/asb-escape'))
attempt('quotactl', call('quotactl', 0x80000700, 0, 0, 0))
attempt('fanotify_init', call('fanotify_init', 0, 0))
held()",
        ),
    ),
    case(
        "the_clock_and_the_name_of_the_machine_stay",
        "what has no namespace, or needs one to be joined: time, host name",
        &[SystemCalls, Rights],
        Program(
            "
import time
now = time.time()
attempt('clock_settime', call('clock_settime', 0, struct.pack('qq', int(now), int(now % 1 * 10**9))))
timex = ctypes.create_string_buffer(208)
call('clock_adjtime', 0, timex)
struct.pack_into('I', timex, 0, 0x10)
attempt('clock_adjtime', call('clock_adjtime', 0, timex))
attempt('sethostname', call('sethostname', b'asb-escape', 10))
held()",
        ),
    ),
    case(
        "no_other_way_into_the_kernel_goes_around_the_filter",
        "filters that forget the calls of i386 and x32, as one for agents did in 2026",
        &[SystemCalls],
        Program(
            "
import mmap
attempt('x32', call(0x40000000 | 39))
if ON_THIS_MACHINE != 0: held('no older calls on this machine')
# keyctl(KEYCTL_GET_KEYRING_ID, session) by int 0x80
code = bytes.fromhex('53 b8 20 01 00 00 31 db b9 fd ff ff ff 31 d2 cd 80 5b c3')
page = mmap.mmap(-1, 4096, prot=7)
page.write(code)
enter = ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(page)))
ended = aside(lambda: 7 if enter() >= 0 else 8)
escaped('i386') if ended == 7 else held(ended)",
        ),
    )
    .without(UNCONFINED),
    case(
        "sockets_are_local_or_of_the_internet",
        "CVE-2017-7308 (packet), CVE-2021-43267 (TIPC), CVE-2017-7184 (XFRM), CVE-2022-1015 (netfilter), vsock to the hypervisor",
        &[SystemCalls],
        Program(
            "
stream, datagram, raw, packet = socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_RAW, socket.SOCK_SEQPACKET
families = {'vsock': (40, stream, 0), 'packet': (17, raw, 0x300), 'alg': (38, packet, 0), 'key': (15, raw, 2),
    'tipc': (30, packet, 0), 'can': (29, raw, 1), 'bluetooth': (31, raw, 1), 'xdp': (44, raw, 0), 'rds': (21, packet, 0),
    'smc': (43, stream, 0), 'netfilter': (16, raw, 12), 'xfrm': (16, raw, 6), 'audit': (16, raw, 9),
    'uevent': (16, raw, 15), 'generic': (16, raw, 16), 'diagnosis': (16, raw, 4)}
for name, wanted in families.items():
    tried(name, lambda: socket.socket(*wanted))
held()",
        ),
    )
    .without(UNCONFINED),
    case(
        "nothing_is_typed_into_a_terminal",
        "CVE-2017-5226, CVE-2023-28100: TIOCSTI and TIOCLINUX",
        &[SystemCalls],
        Program(
            "
import fcntl
master, slave = os.openpty()
def push():
    os.setsid()
    fcntl.ioctl(slave, 0x540e, 0)
    for request in (0x5412, 0x5412 | 1 << 32, 0x541c):
        if call('ioctl', slave, request, b'\\x03') >= 0: return 7
    return 8
ended = aside(push)
escaped('TIOCSTI') if ended == 7 else held(ended) if ended == 8 else print('no verdict', ended)",
        ),
    ),
    case(
        "files_are_not_opened_by_their_number",
        "Shocker, 2014: open_by_handle_at",
        &[SystemCalls, Rights, Users],
        Program(
            "
# Mounted from the machine's own file system.
mount = os.open('/etc/hosts', os.O_RDONLY)
root = ctypes.create_string_buffer(struct.pack('IiII', 8, 1, 2, 0))
attempt('the root of the file system', call('open_by_handle_at', mount, root, os.O_RDONLY))
handle, number = ctypes.create_string_buffer(struct.pack('Ii', 128, 0), 136), ctypes.c_int()
if call('name_to_handle_at', -100, b'/etc/hosts', handle, ctypes.byref(number), 0) == 0:
    attempt('a file of the file system', call('open_by_handle_at', mount, handle, os.O_RDONLY))
held()",
        ),
    )
    .without(Without::Machine),
    case(
        "the_log_of_the_kernel_is_not_read",
        "addresses of the kernel, and what neighbours did, in its log",
        &[SystemCalls, Rights],
        Program(
            "
attempt('syslog', call('syslog', 3, ctypes.create_string_buffer(4096), 4096))
for path in ('/dev/kmsg', '/proc/kmsg'):
    tried(path, lambda: os.read(os.open(path, os.O_RDONLY | os.O_NONBLOCK), 4096))
held()",
        ),
    )
    .without(Without::Machine),
];
