"""What a sandbox's container is, as the Docker API takes it. Pure data.

Each line is one of the walls: no network, no rights, our system calls only, a root that cannot be
written to, places with a size and a number of files, no log on the host, and an end as soon as
whoever attached is gone. Above: `docker.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from dataagent_core.sandbox.docker_profile import seccomp_profile
from dataagent_core.sandbox.types import SandboxLimits

LABEL: Final = "dataagent.sandbox"
NOBODY: Final = 65534
WRITABLE_PATHS: Final = ("/workspace", "/tmp")  # noqa: S108 inside the container
_RUNNER_PROCESSES: Final = 2
_PERIOD: Final = 100_000
_FILES: Final = 1024
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
    """The body of `POST /containers/create`; `binds` maps places of the host to ours."""
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
        "StdinOnce": True,  # whoever attached has died: the runner reads its end and goes
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
            {"Name": "nofile", "Soft": _FILES, "Hard": _FILES},
            {"Name": "core", "Soft": 0, "Hard": 0},
            {"Name": "fsize", "Soft": limits.file_bytes, "Hard": limits.file_bytes},
        ],
    }


def _tmpfs(limits: SandboxLimits) -> str:
    return (
        f"size={limits.disk_bytes},nr_inodes={limits.inodes},uid={NOBODY},gid={NOBODY},mode=0700,"
        "nosuid,nodev"
    )
