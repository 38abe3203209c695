//! Rights that a process does not have, and ways to get them back.

use crate::case::Attack::Program;
use crate::case::Layer::{Rights, SystemCalls, Users};
use crate::case::{Case, PRIVILEGED, Without, case};

pub(crate) const CASES: &[Case] = &[
    case(
        "set_user_id_programs_give_nothing",
        "CVE-2021-4034 and every other hole in a program that runs as root",
        &[Rights],
        Program(
            "
import shutil
path = f'/tmp/id-{os.getpid()}'
shutil.copy('/usr/bin/id', path)
os.chmod(path, 0o4755)
user = subprocess.run([path, '-u'], user=1000, group=1000, extra_groups=[], capture_output=True, text=True).stdout.strip()
escaped('root') if user == '0' else held(user)",
        ),
    )
    .without(Without::Container(r#"{"securityContext": {"allowPrivilegeEscalation": true}}"#)),
    case(
        "capabilities_of_files_give_nothing",
        "CVE-2021-3493, CVE-2023-0386: capabilities of files from inside a user namespace",
        &[Rights],
        Program(
            "
import shutil
path = os.path.join(os.getcwd(), f'cat-{os.getpid()}')
shutil.copy('/usr/bin/cat', path)
for revision, more in ((0x2000001, b''), (0x3000001, struct.pack('I', 0))):
    try: os.setxattr(path, 'security.capability', struct.pack('5I', revision, 1 << 21, 0, 0, 0) + more)
    except OSError as error: told.append(str(error))
status = subprocess.run([path, '/proc/self/status'], user=1000, group=1000, extra_groups=[], capture_output=True, text=True)
effective = [line for line in status.stdout.splitlines() if line.startswith('CapEff')][0].split()[1]
os.unlink(path)
escaped(effective) if int(effective, 16) else held(effective, *told)",
        ),
    )
    .without(Without::Machine),
    case(
        "capabilities_do_not_come_back",
        "CVE-2022-29162, CVE-2022-24769: sets that were left too full",
        &[Rights],
        Program(
            "
header = struct.pack('Ii', 0x20080522, 0)
attempt('capset', call('capset', header, struct.pack('6I', 1 << 21, 1 << 21, 0, 0, 0, 0)))
attempt('ambient', call('prctl', 47, 2, 21, 0, 0))
sets = dict(line.split() for line in open('/proc/self/status') if line.startswith('Cap'))
if int(sets['CapInh:'], 16) or int(sets['CapAmb:'], 16) or int(sets['CapBnd:'], 16) >> 21 & 1: escaped(sets)
held()",
        ),
    )
    .without(PRIVILEGED),
    case(
        "no_packet_is_made_by_hand",
        "CVE-2020-14386, CVE-2020-10749: raw sockets, with which neighbours are impersonated",
        &[Rights, SystemCalls],
        Program(
            "
tried('raw', lambda: socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP))
tried('raw, version 6', lambda: socket.socket(socket.AF_INET6, socket.SOCK_RAW, socket.IPPROTO_ICMPV6))
tried('packet', lambda: socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0x300))
held()",
        ),
    )
    .without(Without::Container(r#"{"securityContext": {"capabilities": {"add": ["NET_RAW"]}}}"#)),
    case(
        "the_network_is_not_set_up_anew",
        "addresses and hardware addresses of neighbours, taken by NET_ADMIN",
        &[Rights],
        Program(
            "
import fcntl
any_socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
address = struct.pack('16sH2s4s8x', b'lo:9', socket.AF_INET, b'', socket.inet_aton('192.0.2.9'))
tried('add an address', lambda: fcntl.ioctl(any_socket, 0x8916, address))
tried('take another hardware address', lambda: fcntl.ioctl(any_socket, 0x8924, struct.pack('16sH6s8x', b'eth0', 1, b'\\x02asbes')))
tried('listen to everything', lambda: fcntl.ioctl(any_socket, 0x8914, struct.pack('16sH14x', b'eth0', 0x1143)))
held()",
        ),
    )
    .without(Without::Container(r#"{"securityContext": {"capabilities": {"add": ["NET_ADMIN"]}}}"#)),
    case(
        "nobody_goes_before_the_machine",
        "real-time priorities, which starve everybody else",
        &[Rights, Users],
        Program(
            "
tried('be less nice', lambda: os.setpriority(os.PRIO_PROCESS, 0, -5))
tried('real time', lambda: os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1)))
attempt('disks in real time', call('ioprio_set', 1, 0, 1 << 13))
held()",
        ),
    )
    .without(Without::Machine),
    case(
        "limits_of_a_process_are_not_raised",
        "processes that the kernel never kills, and that open without end",
        &[Rights, Users],
        Program(
            "
import resource
def spare():
    with open('/proc/self/oom_score_adj', 'w') as file: file.write('-1000')
tried('never be killed for memory', spare)
soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
def raised():
    try: resource.setrlimit(resource.RLIMIT_NOFILE, (hard + 1, hard + 1))
    except ValueError as error: raise OSError(errno.EPERM, str(error))
tried('more descriptors', raised)
held()",
        ),
    ),
    case(
        "no_id_beyond_the_pods_is_taken",
        "containers that share ids: root of one is root of all",
        &[Users],
        Program(
            "
path = os.path.join(os.getcwd(), f'owned-{os.getpid()}')
open(path, 'w').close()
for user in (65536, 70000, 2000000000, 4294967294):
    tried(f'give a file to {user}', lambda: os.chown(path, user, -1))
    tried(f'become the group {user}', lambda: os.setgid(user))
    tried(f'become {user}', lambda: os.setuid(user))
held()",
        ),
    )
    .without(Without::Machine),
];
