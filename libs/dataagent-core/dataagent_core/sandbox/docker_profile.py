"""The system calls a container of ours may make: a list of what data work needs, nothing else.

Narrower than an engine's own profile, whose gaps depend on its version: sockets of the families
UNIX, INET and INET6 only (no AF_ALG, AF_VSOCK, AF_NETLINK), no io_uring, no keys, no tracing, no
namespaces. The runner puts a second filter of its own around the code (`runner/`). Pure data.
"""

from __future__ import annotations

import json
from typing import Any, Final

_EPERM: Final = 1
_ENOSYS: Final = 38
_NEW_NAMESPACES: Final = 0x7E020000  # CLONE_NEW{NS,CGROUP,UTS,IPC,USER,PID,NET}
_FAMILIES: Final = (1, 2, 10)  # AF_UNIX, AF_INET, AF_INET6

_FILES: Final = (
    "access chdir chmod chown close close_range copy_file_range creat dup dup2 dup3 faccessat "
    "faccessat2 fadvise64 fallocate fchdir fchmod fchmodat fchmodat2 fchown fchownat fcntl "
    "fdatasync fgetxattr flistxattr flock fremovexattr fsetxattr fstat fstatfs fsync ftruncate "
    "futimesat getcwd getdents getdents64 getxattr inotify_add_watch inotify_init inotify_init1 "
    "inotify_rm_watch ioctl lchown lgetxattr link linkat listxattr llistxattr lremovexattr lseek "
    "lsetxattr lstat mkdir mkdirat mknod mknodat newfstatat open openat openat2 pread64 preadv "
    "preadv2 pwrite64 pwritev pwritev2 read readahead readlink readlinkat readv removexattr "
    "rename renameat renameat2 rmdir sendfile setxattr splice stat statfs statx symlink symlinkat "
    "sync sync_file_range syncfs tee truncate umask unlink unlinkat utime utimensat utimes "
    "vmsplice write writev"
)
_MEMORY: Final = (
    "brk get_mempolicy madvise membarrier memfd_create mincore mlock mlock2 mlockall mmap "
    "mprotect mremap msync munlock munlockall munmap pkey_alloc pkey_free pkey_mprotect "
    "remap_file_pages rseq set_mempolicy mbind"
)
_PROCESSES: Final = (
    "arch_prctl capget capset execve execveat exit exit_group fork futex futex_waitv "
    "get_robust_list get_thread_area getcpu getegid geteuid getgid getgroups getpgid getpgrp "
    "getpid getppid "
    "getpriority getresgid getresuid getrlimit getrusage getsid gettid getuid ioprio_get "
    "ioprio_set kill pidfd_open pidfd_send_signal prctl prlimit64 restart_syscall "
    "rt_sigaction rt_sigpending rt_sigprocmask rt_sigqueueinfo rt_sigreturn rt_sigsuspend "
    "rt_sigtimedwait rt_tgsigqueueinfo sched_get_priority_max sched_get_priority_min "
    "sched_getaffinity sched_getattr sched_getparam sched_getscheduler sched_rr_get_interval "
    "sched_setaffinity sched_setattr sched_setparam sched_setscheduler sched_yield seccomp "
    "set_robust_list set_thread_area set_tid_address setfsgid setfsuid setgid setgroups "
    "setpgid setpriority setregid setresgid setresuid setreuid setrlimit setsid setuid "
    "sigaltstack sysinfo tgkill times tkill uname vfork wait4 waitid"
)
_TALKING: Final = (
    "accept accept4 bind connect epoll_create epoll_create1 epoll_ctl epoll_pwait "
    "epoll_pwait2 epoll_wait eventfd eventfd2 getpeername getsockname getsockopt listen "
    "mq_getsetattr mq_notify mq_open mq_timedreceive mq_timedsend mq_unlink msgctl msgget msgrcv "
    "msgsnd pause pipe pipe2 poll ppoll pselect6 recvfrom recvmmsg recvmsg select semctl semget "
    "semop semtimedop sendmmsg sendmsg sendto setsockopt shmat shmctl shmdt shmget shutdown "
    "signalfd signalfd4"
)
_TIME: Final = (
    "alarm clock_getres clock_gettime clock_nanosleep getitimer getrandom gettimeofday nanosleep "
    "setitimer time timer_create timer_delete timer_getoverrun timer_gettime timer_settime "
    "timerfd_create timerfd_gettime timerfd_settime"
)


def seccomp_profile() -> str:
    """The profile as the Docker API takes it: JSON text."""
    plain = [
        name for part in (_FILES, _MEMORY, _PROCESSES, _TALKING, _TIME) for name in part.split()
    ]
    rules: list[dict[str, Any]] = [
        _allow(plain),
        *(_allow(["socket", "socketpair"], _equal(0, family)) for family in _FAMILIES),
        _allow(["clone"], _masked(0, _NEW_NAMESPACES, 0)),
        *(_allow(["personality"], _equal(0, known)) for known in (0, 0xFFFFFFFF)),
        {
            "names": ["clone3"],
            "action": "SCMP_ACT_ERRNO",
            "errnoRet": _ENOSYS,
        },  # then clone is used
    ]
    profile: dict[str, Any] = {
        "defaultAction": "SCMP_ACT_ERRNO",
        "defaultErrnoRet": _EPERM,
        "archMap": [
            {"architecture": "SCMP_ARCH_X86_64", "subArchitectures": []},
            {"architecture": "SCMP_ARCH_AARCH64", "subArchitectures": []},
        ],
        "syscalls": rules,
    }
    return json.dumps(profile)


def _allow(names: list[str], condition: dict[str, Any] | None = None) -> dict[str, Any]:
    rule: dict[str, Any] = {"names": names, "action": "SCMP_ACT_ALLOW"}
    return rule if condition is None else {**rule, "args": [condition]}


def _equal(index: int, value: int) -> dict[str, Any]:
    return {"index": index, "value": value, "op": "SCMP_CMP_EQ"}


def _masked(index: int, mask: int, value: int) -> dict[str, Any]:
    return {"index": index, "value": mask, "valueTwo": value, "op": "SCMP_CMP_MASKED_EQ"}
