"""Passwords: bcrypt, off the event loop.

One hash takes a third of a second of CPU, so hashing has a thread of its own and can never hold up
other work, and few may wait for it. bcrypt reads 72 bytes; longer input is refused rather than cut.
Above: `users.py`.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TypeVar

import bcrypt

from dataagent_core.errors import BadInput, Unavailable
from dataagent_core.storage.text import is_storable

T = TypeVar("T")
MAX_BYTES = 72
ROUNDS = 12
MAX_WAITING = 32


def encode_password(password: str) -> bytes:
    """The password as bcrypt takes it.

    Raises:
        BadInput: empty, too long for bcrypt, or not text that can be typed again.
    """
    if not is_storable(password):
        raise BadInput("A password cannot contain NUL or half a character.")
    encoded = password.encode()
    if len(encoded) > MAX_BYTES:
        raise BadInput(f"A password has at most {MAX_BYTES} bytes; this one is longer.")
    if not encoded:
        raise BadInput("A password cannot be empty.")
    return encoded


class PasswordHasher:
    """Makes and checks hashes in its own threads. Close it when done."""

    def __init__(self, *, rounds: int = ROUNDS) -> None:
        self._rounds = rounds
        self._threads = ThreadPoolExecutor(max_workers=1, thread_name_prefix="passwords")
        self._waiting = 0

    async def hash(self, password: str) -> str:
        """A salted hash of the password.

        Raises:
            BadInput: see `encode_password`.
            Unavailable: too many wait for theirs already.
        """
        encoded = encode_password(password)
        return await self._in_turn(partial(self._hash, encoded))

    async def matches(self, password: str, hashed: str | None) -> bool:
        """Whether the password belongs to the hash; takes as long when there is no hash.

        Raises:
            Unavailable: too many wait for theirs already.
        """
        try:
            encoded = encode_password(password)
        except BadInput:
            encoded, hashed = b"not a password", None
        return await self._in_turn(partial(self._matches, encoded, hashed))

    def close(self) -> None:
        """Let the threads end."""
        self._threads.shutdown(wait=False)

    async def _in_turn(self, work: Callable[[], T]) -> T:
        if self._waiting >= MAX_WAITING:
            raise Unavailable("Too many log in at this moment. Try again in a few seconds.")
        self._waiting += 1
        try:
            return await asyncio.get_running_loop().run_in_executor(self._threads, work)
        finally:
            self._waiting -= 1

    def _hash(self, encoded: bytes) -> str:
        return bcrypt.hashpw(encoded, bcrypt.gensalt(self._rounds)).decode()

    def _matches(self, encoded: bytes, hashed: str | None) -> bool:
        if hashed is None:
            self._hash(encoded)
            return False
        return bcrypt.checkpw(encoded, hashed.encode())


def stamp(hashed: str | None) -> str:
    """A short mark of a password hash: a token that carries another mark is out of date."""
    return hashlib.sha256((hashed or "").encode()).hexdigest()[:16]
