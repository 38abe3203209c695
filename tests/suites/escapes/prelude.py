# What every attack begins with: system calls by name, and the verdict, which is the last thing that an attack says.
import ctypes, errno, os, platform, signal, socket, struct, subprocess, sys

LIBRARY = ctypes.CDLL(None, use_errno=True)
LIBRARY.syscall.restype = ctypes.c_long
ON_THIS_MACHINE = {'x86_64': 0, 'aarch64': 1}[platform.machine()]
# On x86_64, and on arm64.
NUMBERS = {
    'acct': (163, 89), 'add_key': (248, 217), 'bpf': (321, 280), 'capset': (126, 91), 'clock_adjtime': (305, 266),
    'clock_settime': (227, 112), 'clone': (56, 220), 'clone3': (435, 435), 'delete_module': (176, 106),
    'fanotify_init': (300, 262), 'finit_module': (313, 273), 'fsopen': (430, 430), 'init_module': (175, 105),
    'io_uring_setup': (425, 425), 'ioctl': (16, 29), 'ioprio_set': (251, 30), 'kexec_file_load': (320, 294),
    'kexec_load': (246, 104), 'keyctl': (250, 219), 'mount': (165, 40), 'move_mount': (429, 429), 'msgctl': (71, 187),
    'msgget': (68, 186), 'name_to_handle_at': (303, 264), 'open_by_handle_at': (304, 265), 'open_tree': (428, 428),
    'perf_event_open': (298, 241), 'pidfd_getfd': (438, 438), 'pidfd_open': (434, 434), 'pivot_root': (155, 41),
    'prctl': (157, 167), 'process_vm_readv': (310, 270), 'ptrace': (101, 117), 'quotactl': (179, 60),
    'reboot': (169, 142), 'request_key': (249, 218), 'sethostname': (170, 161), 'setns': (308, 268),
    'swapon': (167, 224), 'syslog': (103, 116), 'umount2': (166, 39), 'unshare': (272, 97), 'userfaultfd': (323, 282),
}
NEWNS, NEWCGROUP, NEWUTS, NEWIPC = 0x20000, 0x2000000, 0x4000000, 0x8000000
NEWUSER, NEWPID, NEWNET = 0x10000000, 0x20000000, 0x40000000
told = []

def call(name, *arguments):
    number = NUMBERS[name][ON_THIS_MACHINE] if isinstance(name, str) else name
    given = [ctypes.c_long(it) if isinstance(it, int) else it for it in arguments]
    result = LIBRARY.syscall(ctypes.c_long(number), *given)
    return result if result >= 0 else -ctypes.get_errno()

def say(verdict, words):
    print(verdict, *words, flush=True)
    os._exit(0)

def escaped(*words):
    say('ESCAPED', words)

def held(*words):
    say('HELD', words or ['; '.join(told)])

# A call that fails is remembered, and the attack goes on.
def attempt(what, result):
    if result >= 0:
        escaped(what, result)
    told.append(f'{what}: {errno.errorcode.get(-result, result)}')

def tried(what, function):
    try:
        result = function()
    except OSError as error:
        told.append(f'{what}: {errno.errorcode.get(error.errno, error)}')
    else:
        escaped(what, result)

# How a function ends in a process of its own: 0 or more, or minus a signal.
def aside(function):
    child = os.fork()
    if child == 0:
        try:
            code = function()
        except BaseException:
            code = 99
        os._exit(code or 0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])

