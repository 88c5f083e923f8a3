"""The specification of a sandbox's container for the Docker API. Pure data.

Each setting is part of the wall: no network, no capabilities, a read-only root, mounts with a size
and a number of files, no log on the host, and an end as soon as the attached client is gone. The
seccomp profile lists the system calls that data work needs, narrower than an engine's own: sockets
of the families UNIX, INET and INET6 only (no AF_ALG, AF_VSOCK, AF_NETLINK), no io_uring, no keys,
no tracing, no namespaces. The runner adds a second filter around the code (`runner/`).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from dataagent_core.sandbox.types import SandboxLimits

_EPERM: Final = 1
_ENOSYS: Final = 38
_NEW_NAMESPACES: Final = 0x7E020000  # CLONE_NEW{NS,CGROUP,UTS,IPC,USER,PID,NET}
_FAMILIES: Final = (1, 2, 10)  # AF_UNIX, AF_INET, AF_INET6

_FILE_CALLS: Final = (
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
_MEMORY_CALLS: Final = (
    "brk get_mempolicy madvise membarrier memfd_create mincore mlock mlock2 mlockall mmap "
    "mprotect mremap msync munlock munlockall munmap pkey_alloc pkey_free pkey_mprotect "
    "remap_file_pages rseq set_mempolicy mbind"
)
_PROCESS_CALLS: Final = (
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
_SOCKET_CALLS: Final = (
    "accept accept4 bind connect epoll_create epoll_create1 epoll_ctl epoll_pwait "
    "epoll_pwait2 epoll_wait eventfd eventfd2 getpeername getsockname getsockopt listen "
    "mq_getsetattr mq_notify mq_open mq_timedreceive mq_timedsend mq_unlink msgctl msgget msgrcv "
    "msgsnd pause pipe pipe2 poll ppoll pselect6 recvfrom recvmmsg recvmsg select semctl semget "
    "semop semtimedop sendmmsg sendmsg sendto setsockopt shmat shmctl shmdt shmget shutdown "
    "signalfd signalfd4"
)
_TIME_CALLS: Final = (
    "alarm clock_getres clock_gettime clock_nanosleep getitimer getrandom gettimeofday nanosleep "
    "setitimer time timer_create timer_delete timer_getoverrun timer_gettime timer_settime "
    "timerfd_create timerfd_gettime timerfd_settime"
)


def seccomp_profile() -> str:
    """Return the profile as JSON text."""
    plain = [
        name
        for part in (_FILE_CALLS, _MEMORY_CALLS, _PROCESS_CALLS, _SOCKET_CALLS, _TIME_CALLS)
        for name in part.split()
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


LABEL: Final = "dataagent.sandbox"
NOBODY: Final = 65534
WRITABLE_PATHS: Final = ("/workspace", "/tmp")  # noqa: S108 inside the container
_RUNNER_PROCESSES: Final = 2
_PERIOD: Final = 100_000
_MAX_OPEN_FILES: Final = 1024
_ENVIRONMENT: Final = {
    "PATH": "/usr/local/bin:/usr/bin:/bin",
    "PYTHONPATH": "/opt/site:/opt",
    "PYTHONDONTWRITEBYTECODE": "1",
    "HOME": "/workspace",
    "LANG": "C.UTF-8",
    "MPLCONFIGDIR": "/tmp/matplotlib",  # noqa: S108 inside the container
}


def container_spec(
    image: str,
    limits: SandboxLimits,
    sandbox_id: str,
    *,
    binds: Mapping[str, str],
    runtime: str | None = None,
    profile: str | None = None,
) -> dict[str, Any]:
    """Return the body of `POST /containers/create`; `binds` maps host paths to ours."""
    return {
        "Image": image,
        "Cmd": ["python3", "-m", "runner", "single"],
        "User": f"{NOBODY}:{NOBODY}",
        "WorkingDir": "/workspace",
        "Env": [f"{name}={value}" for name, value in _ENVIRONMENT.items()],
        "Hostname": "sandbox",
        "Labels": {LABEL: sandbox_id},
        "AttachStdin": True,
        "AttachStdout": True,
        "AttachStderr": True,
        "OpenStdin": True,
        "StdinOnce": True,  # the client has died: the runner reads the end of its input and exits
        "Tty": False,
        "NetworkDisabled": True,
        "HostConfig": {
            **_isolation(profile or seccomp_profile()),
            **_amounts(limits),
            "Mounts": [
                {"Type": "bind", "Source": source, "Target": target, "ReadOnly": True}
                for source, target in binds.items()
            ],
            "Tmpfs": {place: _tmpfs(limits) for place in WRITABLE_PATHS},
            **({"Runtime": runtime} if runtime else {}),
        },
    }


def _isolation(profile: str) -> dict[str, Any]:
    return {
        "AutoRemove": True,
        "NetworkMode": "none",
        "IpcMode": "private",
        "CapDrop": ["ALL"],
        "SecurityOpt": ["no-new-privileges", f"seccomp={profile}"],
        "ReadonlyRootfs": True,
        "LogConfig": {"Type": "none", "Config": {}},
        "OomScoreAdj": 500,
        "Privileged": False,
    }


def _amounts(limits: SandboxLimits) -> dict[str, Any]:
    return {
        "Memory": limits.memory_bytes,  # of the runner too
        "MemorySwap": limits.memory_bytes,
        "CpuPeriod": _PERIOD,
        "CpuQuota": max(1000, int(limits.cpus * _PERIOD)),
        "PidsLimit": limits.processes + _RUNNER_PROCESSES,
        "ShmSize": limits.disk_bytes // 4,
        "Ulimits": [
            {"Name": "nofile", "Soft": _MAX_OPEN_FILES, "Hard": _MAX_OPEN_FILES},
            {"Name": "core", "Soft": 0, "Hard": 0},
            {"Name": "fsize", "Soft": limits.file_bytes, "Hard": limits.file_bytes},
        ],
    }


def _tmpfs(limits: SandboxLimits) -> str:
    return (
        f"size={limits.disk_bytes},nr_inodes={limits.inodes},uid={NOBODY},gid={NOBODY},mode=0700,"
        "nosuid,nodev"
    )
