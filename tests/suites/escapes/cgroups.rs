//! Cgroups: programs that the kernel runs for them, limits that a container would like to lift.

use crate::case::Attack::Program;
use crate::case::Layer::{Files, Limits, Namespaces, SystemCalls};
use crate::case::{Case, PRIVILEGED, case};

pub(crate) const CASES: &[Case] = &[
    case(
        "no_program_is_run_when_a_cgroup_empties",
        "CVE-2022-0492: release_agent, by a mount of one's own",
        &[SystemCalls, Files],
        Program(
            "
place = f'/tmp/cgroup-{os.getpid()}'
os.mkdir(place)
for flags in (0, NEWUSER | NEWNS | NEWCGROUP):
    if flags:
        result = call('unshare', flags)
        told.append(f'unshare: {result}')
        if result < 0: break
    for options in (b'memory', b'pids', b'cpu,cpuacct', b'devices', b'none,name=asb-escape'):
        attempt(f'mount {options}', call('mount', b'cgroup', place.encode(), b'cgroup', 0, options))
    attempt('mount version 2', call('mount', b'cgroup2', place.encode(), b'cgroup2', 0, 0))
for folder, folders, files in os.walk('/sys/fs/cgroup'):
    for name in files:
        if name in ('release_agent', 'notify_on_release'):
            tried(f'{folder}/{name}', lambda: os.open(os.path.join(folder, name), os.O_WRONLY))
held(len(told), 'ways')",
        ),
    )
    .without(PRIVILEGED),
    case(
        "limits_are_not_lifted_from_inside",
        "containers that may write their own cgroup",
        &[Limits, Files],
        Program(
            "
seen = 0
for folder, folders, files in os.walk('/sys/fs/cgroup'):
    # Directories without it are those that the hierarchies of version 1 are mounted in.
    if 'cgroup.procs' in files: tried(f'a cgroup in {folder}', lambda: os.mkdir(os.path.join(folder, 'asb-escape')))
    for name in files:
        seen += 1
        tried(name, lambda: os.open(os.path.join(folder, name), os.O_WRONLY))
held(seen, 'files') if seen > 10 else print('no cgroups to see')",
        ),
    ),
    case(
        "cgroups_of_others_are_not_seen",
        "names and limits of neighbours, and a way to freeze them",
        &[Namespaces],
        Program(
            "
# Hierarchies that we do not use are not mounted in here; in all others the container's own cgroup is the root.
for line in open('/proc/self/mountinfo'):
    fields = line.split()
    if 'cgroup' in fields[fields.index('-') + 1] and fields[3] not in ('/', '/..') and 'agent-sandbox' in fields[3]:
        escaped(line)
for folder, folders, files in os.walk('/sys/fs/cgroup'):
    for name in ('cgroup.procs', 'tasks'):
        if name not in files: continue
        # A process of another pid namespace is shown as 0.
        if '0' in open(os.path.join(folder, name)).read().split(): escaped(folder)
held()",
        ),
    ),
];
