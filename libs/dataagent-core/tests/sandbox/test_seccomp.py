"""The filter's program, run by a small interpreter of BPF: no kernel is needed to know it."""

from __future__ import annotations

import errno
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dataagent_core.sandbox.runner.seccomp import DENIED, UnknownArchitecture, build
from tests.requirements import requirement

ALLOW, KILL = 0x7FFF0000, 0x80000000
ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
CALLS = {
    "x86_64": {
        "read": 0,
        "clone": 56,
        "clone3": 435,
        "socket": 41,
        "socketpair": 53,
        "prctl": 157,
        "ioctl": 16,
    },
    "aarch64": {
        "read": 63,
        "clone": 220,
        "clone3": 435,
        "socket": 198,
        "socketpair": 199,
        "prctl": 167,
        "ioctl": 29,
    },
}


def verdict(program: bytes, architecture: int, number: int, *arguments: int) -> int:
    """What the kernel would do with a call."""
    padded = [*arguments, *[0] * (6 - len(arguments))]
    call = struct.pack("IIQ6Q", number, architecture, 0, *padded)
    lines = list(struct.iter_unpack("HBBI", program))
    place, value = 0, 0
    while True:
        code, if_true, if_false, k = lines[place]
        place += 1
        match code:
            case 0x20:
                (value,) = struct.unpack_from("I", call, k)
            case 0x15:
                place += if_true if value == k else if_false
            case 0x35:
                place += if_true if value >= k else if_false
            case 0x45:
                place += if_true if value & k else if_false
            case 0x06:
                return k
            case _:
                raise AssertionError(f"unknown instruction {code:#x}")


def refused_with(machine: str, number: int, *arguments: int) -> int | None:
    """The error a call gets; None if it is allowed."""
    found = verdict(build(machine), ARCHITECTURES[machine], number, *arguments)
    assert found == ALLOW or found & 0xFFFF0000 == 0x00050000, hex(found)
    return None if found == ALLOW else found & 0xFFFF


@requirement("S10.3")
@pytest.mark.parametrize("machine", ARCHITECTURES)
def test_every_call_on_the_list_is_refused(machine: str) -> None:
    column = list(ARCHITECTURES).index(machine)
    numbers = [numbers[column] for numbers in DENIED.values() if numbers[column] is not None]
    assert len(numbers) > 50
    assert {refused_with(machine, number) for number in numbers if number} == {errno.EPERM}


@requirement("S10.3")
@pytest.mark.parametrize("machine", ARCHITECTURES)
def test_sockets_are_of_three_families_only(machine: str) -> None:
    for name in ("socket", "socketpair"):
        number = CALLS[machine][name]
        allowed = {family for family in range(64) if refused_with(machine, number, family) is None}
        assert allowed == {1, 2, 10}


@requirement("S10.3")
@pytest.mark.parametrize("machine", ARCHITECTURES)
def test_forks_and_threads_are_allowed_and_new_namespaces_are_not(machine: str) -> None:
    clone = CALLS[machine]["clone"]
    assert refused_with(machine, clone, 0x01200011) is None
    assert refused_with(machine, clone, 0x003D0F00) is None
    for flag in (0x80, 0x20000, *(1 << bit for bit in range(25, 31))):
        assert refused_with(machine, clone, flag | 17) == errno.EPERM
    assert refused_with(machine, CALLS[machine]["clone3"]) == errno.ENOSYS


@requirement("S10.3")
@pytest.mark.parametrize("machine", ARCHITECTURES)
def test_no_process_can_hide_its_memory_or_type_into_a_terminal(machine: str) -> None:
    assert refused_with(machine, CALLS[machine]["prctl"], 4, 0) == errno.EPERM
    assert refused_with(machine, CALLS[machine]["prctl"], 15) is None
    assert refused_with(machine, CALLS[machine]["ioctl"], 0, 0x5412) == errno.EPERM
    assert refused_with(machine, CALLS[machine]["ioctl"], 0, 0x5401) is None


@requirement("S10.3")
@given(st.sampled_from(list(ARCHITECTURES)), st.integers(463, 2**32 - 1))
def test_unknown_calls_do_not_exist(machine: str, number: int) -> None:
    assert refused_with(machine, number) == errno.ENOSYS


@requirement("S10.3")
@given(st.integers(0, 2**32 - 1), st.integers(0, 2**32 - 1))
def test_calls_of_another_architecture_end_the_process(architecture: int, number: int) -> None:
    if architecture not in ARCHITECTURES.values():
        assert verdict(build("x86_64"), architecture, number) == KILL


@requirement("S10.3")
@pytest.mark.parametrize("machine", ARCHITECTURES)
def test_ordinary_calls_are_allowed(machine: str) -> None:
    assert refused_with(machine, CALLS[machine]["read"]) is None


@requirement("S10.3")
def test_a_machine_without_numbers_has_no_filter() -> None:
    with pytest.raises(UnknownArchitecture, match="riscv64"):
        build("riscv64")
