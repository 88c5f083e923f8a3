"""The strict serialiser, which remembers what it has read or written.

A thread's history is read anew at every turn, and reading a message means building a model: at a
few hundred messages that costs more than the turn. What was written never changes, so a value is
kept under its own bytes and shared; only containers are copied, because LangGraph fills them.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import Any

from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

# the value a snapshot is stored as
from langgraph.checkpoint.serde.types import _DeltaSnapshot  # pyright: ignore[reportPrivateUsage]

_MAX_BYTES = 4 * 1024 * 1024
_OBJECT_BYTES = 3 * 1024
"""What a message takes in memory besides its own text."""


class CachingSerialiser(JsonPlusSerializer):
    """LangGraph's serialiser, restricted to plain data and LangChain's own types."""

    def __init__(self, *, max_bytes: int = _MAX_BYTES) -> None:
        super().__init__(allowed_msgpack_modules=None)
        self._kept: OrderedDict[tuple[str, bytes], Any] = OrderedDict()
        self._bytes = 0
        self._max_bytes = max_bytes
        self._lock = threading.Lock()

    def dumps_typed(self, obj: Any) -> tuple[str, bytes]:
        """The value's bytes. It will be read back at the next turn, so it is kept now."""
        data = super().dumps_typed(obj)
        self._keep(data, _copy_containers(obj))
        return data

    def loads_typed(self, data: tuple[str, bytes]) -> Any:
        """The value, with containers of its own."""
        key = (data[0], bytes(data[1]))
        with self._lock:
            value = self._kept.get(key, _ABSENT)
            if value is not _ABSENT:
                self._kept.move_to_end(key)
        if value is _ABSENT:
            value = super().loads_typed(data)
            self._keep(key, value)
        return _copy_containers(value)

    def _keep(self, key: tuple[str, bytes], value: Any) -> None:
        size = _size(key)
        if size > self._max_bytes // 2:
            return
        with self._lock:
            if key not in self._kept:
                self._kept[key] = value
                self._bytes += size
            while self._bytes > self._max_bytes:
                dropped, _ = self._kept.popitem(last=False)
                self._bytes -= _size(dropped)


_ABSENT = object()


def _size(key: tuple[str, bytes]) -> int:
    """About how much memory a value takes that is kept under its bytes."""
    return len(key[1]) + _OBJECT_BYTES


def _copy_containers(value: Any) -> Any:
    """The value with its lists, dictionaries and snapshots copied; messages are shared."""
    # stored values of any shape
    kind: type[Any] = type(value)  # pyright: ignore[reportUnknownVariableType]
    if kind is list:
        return [_copy_containers(item) if type(item) in _CONTAINERS else item for item in value]
    if kind is dict:
        return {
            key: _copy_containers(item) if type(item) in _CONTAINERS else item
            for key, item in value.items()
        }
    return _DeltaSnapshot(_copy_containers(value.value)) if kind is _DeltaSnapshot else value


_CONTAINERS = frozenset({list, dict, _DeltaSnapshot})
