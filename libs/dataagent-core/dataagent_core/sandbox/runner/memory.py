"""Gets a process ready to be forked many times, so that each fork has little for itself.

A fork shares every page with its parent until one of them writes to it, and Python writes wherever
it goes: to the count of an object that it looks at, to the first hole that a new object fits into.
What can be done about it is done here, once, before the first fork.
"""

from __future__ import annotations

import ctypes
import gc
import sys
from collections.abc import Iterator
from typing import Any

_POOL = 16384
"""Python takes memory from pools of this size, each for objects of one size: 16, 32, ... 512."""

_LARGEST_HOLE, _SMALLEST_HOLE = 1 << 16, 1 << 9
_DONTNEED = 4

_fillers: list[list[object]] = []


def prepare_for_fork() -> None:
    """Leave nothing to tidy up, no holes, and no pages that forks do not have from us anyway."""
    gc.collect()
    # each entry that a fork replaced would write to the name it was for
    sys._clear_type_cache()  # pyright: ignore[reportPrivateUsage] documented for our use
    library = ctypes.CDLL(None)
    library.malloc_trim(0)
    _fill_pools()
    _fill_heap(library)
    gc.freeze()
    gc.set_threshold(100_000, 50, 50)
    _forget_files(library)


def _fill_pools() -> None:
    """Have the next objects lie together in pools of their own, not in holes all over."""
    for size in range(16, 513, 16):
        batch = _objects(size)
        while len({id(found) // _POOL for found in batch}) > 3:
            _fillers.append(batch)
            batch = _objects(size)


def _objects(size: int) -> list[object]:
    """As many objects of a size as a pool holds."""
    numbers = range(_POOL // size)
    if size == 16:
        return [object() for _ in numbers]
    if size == 32:
        return [float(number) for number in numbers]
    return [bytes(size - 33) for _ in numbers]


def _fill_heap(library: ctypes.CDLL) -> None:
    """Likewise for what is larger: from the largest holes of the heap to the smallest."""
    allocate: Any = library.malloc  # Any: a foreign function, likewise below
    allocate.argtypes, allocate.restype = [ctypes.c_size_t], ctypes.c_void_p
    free: Any = library.free
    free.argtypes, free.restype = [ctypes.c_void_p], None
    end: Any = library.sbrk
    end.argtypes, end.restype = [ctypes.c_ssize_t], ctypes.c_void_p
    limit, size = end(0), _LARGEST_HOLE
    while size >= _SMALLEST_HOLE:
        place = allocate(size)
        if place is None or place + size > limit:  # no hole: beyond what was the heap
            free(place)
            size = size * 7 // 8


def _forget_files(library: ctypes.CDLL) -> None:
    """Give back the pages of programs that only imports needed; who needs one again is given it."""
    advise: Any = library.madvise
    advise.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    for start, end in _unchanged_files():
        advise(start, end - start, _DONTNEED)


def _unchanged_files() -> Iterator[tuple[int, int]]:
    """Where files are mapped of which nothing was written to."""
    start = end = 0
    with open("/proc/self/smaps") as file:
        for words in map(str.split, file):
            if "-" in words[0] and not words[0].endswith(":"):
                first, _, last = words[0].partition("-")
                is_file = len(words) > 5 and words[5].startswith("/") and "w" not in words[1]
                start, end = (int(first, 16), int(last, 16)) if is_file else (0, 0)
            elif start and words[:2] == ["Anonymous:", "0"]:
                yield start, end
