//! Files of the kernel below /proc and /sys: those with an effect when they are written, and those that tell too much.

use crate::case::Attack::Program;
use crate::case::Layer::{Files, Namespaces, Users};
use crate::case::{Case, UNMASKED, case};

pub(crate) const CASES: &[Case] = &[
    case(
        "settings_of_the_kernel_are_not_written",
        "CVE-2022-0811, CVE-2025-52881: core_pattern, modprobe and the like, which run programs as root of the machine",
        &[Files, Users],
        Program(
            "
# Each is given the value that it has.
names = ('kernel/core_pattern', 'kernel/modprobe', 'kernel/sysrq', 'kernel/hostname', 'kernel/domainname', 'kernel/panic',
    'kernel/randomize_va_space', 'vm/overcommit_memory', 'vm/drop_caches', 'fs/binfmt_misc/register', 'fs/suid_dumpable',
    'kernel/ns_last_pid', 'kernel/msgmax', 'kernel/shm_rmid_forced', 'kernel/yama/ptrace_scope', 'user/max_user_namespaces', 'net/ipv4/ip_default_ttl')
def write(path):
    with open(path, 'r+b', buffering=0) as file:
        value = file.read(4096)
        file.seek(0)
        file.write(value)
for name in names:
    tried(name, lambda: write(f'/proc/sys/{name}'))
held()",
        ),
    )
    .without(UNMASKED),
    case(
        "no_file_of_the_kernel_opens_to_be_written",
        "uevent_helper, sysrq-trigger, mtrr and whatever a new kernel adds: all there are, one by one",
        &[Files, Users],
        Program(
            "
import stat
seen = 0
for top in ('/proc', '/sys'):
    for folder, folders, files in os.walk(top):
        if folder == '/proc':
            folders[:] = [name for name in folders if not name.isdigit()]
        for name in files:
            path, seen = os.path.join(folder, name), seen + 1
            if os.path.islink(path): continue
            try: file = os.open(path, os.O_WRONLY | os.O_NONBLOCK | os.O_NOCTTY)
            except OSError: continue
            found = os.fstat(file)
            os.close(file)
            # What is masked is /dev/null.
            if not (stat.S_ISCHR(found.st_mode) and found.st_rdev == os.makedev(1, 3)): escaped(path)
held(seen, 'files') if seen > 100 else print('nothing to see')",
        ),
    )
    .without(UNMASKED),
    case(
        "nobody_pulls_the_magic_key",
        "/proc/sysrq-trigger, which restarts the machine",
        &[Files, Users],
        Program(
            "
def pull():
    # The letter for help.
    with open('/proc/sysrq-trigger', 'w') as file: file.write('h')
tried('sysrq-trigger', pull)
held()",
        ),
    ),
    case(
        "the_memory_of_the_machine_is_not_read",
        "/proc/kcore, /dev/mem and what leads to pages of others",
        &[Files, Users],
        Program(
            "
paths = ('/proc/kcore', '/dev/mem', '/dev/kmem', '/dev/port', '/proc/kpagecount', '/proc/kpageflags', '/proc/kpagecgroup',
    '/proc/vmallocinfo', '/proc/slabinfo', '/proc/pagetypeinfo', '/sys/kernel/debug/tracing/trace', '/sys/kernel/tracing/trace',
    '/sys/kernel/security/lockdown', '/sys/kernel/debug/sched/debug', '/sys/fs/bpf/x')
def read(path):
    data = os.read(os.open(path, os.O_RDONLY | os.O_NONBLOCK), 64)
    if not data: raise OSError(errno.ENODATA, 'masked')
    return data
for path in paths:
    tried(path, lambda: read(path))
held()",
        ),
    ),
    case(
        "what_tells_of_the_machine_is_masked",
        "CVE-2020-8694 (power as a side channel), CVE-2024-21626's sisters: keys, timers, interrupts, firmware",
        &[Files],
        Program(
            "
for path in ('/proc/keys', '/proc/timer_list', '/proc/sched_debug', '/proc/interrupts', '/proc/latency_stats'):
    if os.path.exists(path):
        try: data = open(path, 'rb').read(64)
        except OSError as error: data, _ = b'', told.append(f'{path}: {error}')
        if data: escaped(path, data)
for path in ('/proc/acpi', '/proc/scsi', '/proc/asound', '/sys/firmware', '/sys/devices/virtual/powercap'):
    if os.path.isdir(path) and os.listdir(path): escaped(path, os.listdir(path))
held()",
        ),
    )
    .without(UNMASKED),
    case(
        "addresses_of_the_kernel_are_not_told",
        "the first step of every hole in the kernel: where it is",
        &[Users, Namespaces],
        Program(
            "
for path in ('/proc/kallsyms', '/proc/modules', '/proc/self/stack', '/proc/self/wchan'):
    try: lines = open(path).read().splitlines()
    except OSError as error:
        told.append(f'{path}: {error}')
        continue
    for line in lines:
        for word in line.split():
            if len(word) >= 16 and word.startswith('ffff'): escaped(path, line)
            if word.startswith('0xffff'): escaped(path, line)
held()",
        ),
    ),
];
