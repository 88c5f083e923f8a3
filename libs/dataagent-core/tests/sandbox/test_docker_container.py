"""What a container is made of, whole: a wall that is left out must fail here."""

from __future__ import annotations

import json

from dataagent_core.sandbox.docker_container import container_spec, seccomp_profile
from dataagent_core.sandbox.types import SandboxLimits
from tests.requirements import requirement

MIB = 1024 * 1024


@requirement("S2.4.1b", "S2.4.1c", "S10.3")
def test_a_container_has_every_wall() -> None:
    made = container_spec("image", SandboxLimits(), "one", binds={"/a": "/b"}, runtime="runsc")
    host = made.pop("HostConfig")
    profile = host["SecurityOpt"].pop()
    assert profile == f"seccomp={seccomp_profile()}"
    tmpfs = f"size={256 * MIB},nr_inodes=4096,uid=65534,gid=65534,mode=0700,nosuid,nodev"
    assert host == {
        "AutoRemove": True,
        "NetworkMode": "none",
        "IpcMode": "private",
        "CapDrop": ["ALL"],
        "SecurityOpt": ["no-new-privileges"],
        "ReadonlyRootfs": True,
        "LogConfig": {"Type": "none", "Config": {}},
        "OomScoreAdj": 500,
        "Privileged": False,
        "Memory": 512 * MIB,
        "MemorySwap": 512 * MIB,
        "CpuPeriod": 100_000,
        "CpuQuota": 100_000,
        "PidsLimit": 66,
        "ShmSize": 64 * MIB,
        "Ulimits": [
            {"Name": "nofile", "Soft": 1024, "Hard": 1024},
            {"Name": "core", "Soft": 0, "Hard": 0},
            {"Name": "fsize", "Soft": 64 * MIB, "Hard": 64 * MIB},
        ],
        "Mounts": [{"Type": "bind", "Source": "/a", "Target": "/b", "ReadOnly": True}],
        "Tmpfs": {"/workspace": tmpfs, "/tmp": tmpfs},
        "Runtime": "runsc",
    }
    assert made["User"] == "65534:65534"
    assert made["Cmd"] == ["python3", "-m", "runner", "single"]
    assert (made["OpenStdin"], made["StdinOnce"], made["Tty"]) == (True, True, False)
    assert made["NetworkDisabled"] is True
    assert made["Labels"] == {"dataagent.sandbox": "one"}
    assert not any("KEY" in each or "SECRET" in each for each in made["Env"])


@requirement("S10.3")
def test_the_profile_allows_a_list_and_refuses_the_rest() -> None:
    profile = json.loads(seccomp_profile())
    assert profile["defaultAction"] == "SCMP_ACT_ERRNO"
    allowed = {
        name
        for rule in profile["syscalls"]
        if rule["action"] == "SCMP_ACT_ALLOW"
        for name in rule["names"]
    }
    dangerous = {
        "io_uring_setup", "keyctl", "add_key", "bpf", "perf_event_open", "userfaultfd", "unshare",
        "setns", "mount", "umount2", "pivot_root", "chroot", "ptrace", "process_vm_readv",
        "kexec_load", "init_module", "open_by_handle_at", "swapon", "reboot", "clone3", "acct",
        "fsopen", "move_mount", "open_tree", "pidfd_getfd", "kcmp", "syslog", "iopl", "ioperm",
    }  # fmt: skip
    assert allowed & dangerous == set()
    conditional = {rule["names"][0]: rule["args"] for rule in profile["syscalls"] if "args" in rule}
    assert set(conditional) == {"socket", "clone", "personality"}
