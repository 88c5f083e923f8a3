"""Which files of a project hold keys and passwords, by their names. Pure.

Their content is not shown to a model before a person has said so. A name is all there is to go by:
what lies in a file with an ordinary name is not protected.
"""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase
from typing import Final

_FOLDERS: Final = frozenset({".ssh", ".gnupg", ".aws", ".azure", ".kube"})
_NAMES: Final = (
    ".env",
    ".env.*",
    ".envrc",
    ".git-credentials",
    ".htpasswd",
    ".netrc",
    ".npmrc",
    ".pgpass",
    ".pypirc",
    "*.jks",
    "*.kdbx",
    "*.key",
    "*.keystore",
    "*.p12",
    "*.pem",
    "*.pfx",
    "credentials",
    "credentials.json",
    "id_dsa",
    "id_ecdsa",
    "id_ed25519",
    "id_rsa",
    "secrets.json",
    "secrets.toml",
    "secrets.yaml",
    "secrets.yml",
    "service-account*.json",
)
_EXAMPLES: Final = (".env.dist", ".env.example", ".env.sample", ".env.template")


def is_secret(steps: Sequence[str]) -> bool:
    """Whether a file with these steps, of which the last is its name, holds secrets."""
    if not steps:
        return False
    name = steps[-1].casefold()
    if name in _EXAMPLES:
        return False
    if any(step.casefold() in _FOLDERS for step in steps[:-1]):
        return True
    return any(fnmatchcase(name, pattern) for pattern in _NAMES)
