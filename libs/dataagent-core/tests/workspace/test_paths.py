"""Any text as a path: no operation raises, none reaches outside, no message names the host."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dataagent_core.workspace import UserWorkspaceManager
from dataagent_core.workspace.workers import run_blocking
from tests.requirements import requirement
from tests.tiers import examples

ATTACKS = [
    "../outside",
    "/../outside",
    "/files/../../outside",
    "files/../../../outside",
    "..",
    "/..",
    "..\\outside",
    "\\..\\outside",
    "..;/outside",
    "%2e%2e/outside",
    "%2e%2e%2foutside",
    "..%2foutside",
    "%252e%252e%252foutside",
    "..%c0%afoutside",
    "/files/.../outside",
    "//outside",
    "/./../outside",
    "/files/a\0/../../outside",
    "\0",
    "/u1-evil/x",
    "../u1-evil/x",
    "/etc/passwd",
    "file:///etc/passwd",
    "~/x",
    "~root/x",
    "C:\\Windows\\x",
    "\udc80",
    "/files/\ud800",
    "x" * 5000,
    "/" + "a/" * 3000,
    "",
    ".",
    "/",
]
STEPS = st.one_of(
    st.sampled_from(["..", ".", "", "out", "abs", "in", "files", "a", "\0", "~", "\\..\\", "..\\"]),
    st.text(max_size=8),
)
PATHS = st.one_of(
    st.lists(STEPS, max_size=8).map("/".join),
    st.text(max_size=60),
    st.sampled_from(ATTACKS),
)


async def _try_everything(path: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        base = Path(folder)
        manager = UserWorkspaceManager(base / "home" / "w", 10_000)
        backend = await manager.open_workspace("u1")
        manager.ensure_user_workspace("u1-evil")
        root = manager.get_user_workspace("u1")
        (base / "outside").mkdir()
        (base / "outside" / "secret").write_text("SECRET")
        (root / "out").symlink_to("../../../outside")
        (root / "abs").symlink_to(base / "outside")
        (root / "in").symlink_to("files")
        before = _tree(base, root)
        results: list[object] = [
            await backend.als(path),
            await backend.aread(path),
            await backend.aread(f"{path}/secret"),
            await backend.agrep("SECRET", path),
            await backend.aglob("*secret*", path),
            await backend.aglob(path),
            *await backend.adownload_files([path, f"{path}/secret"]),
            await backend.awrite(path, "mine"),
            await backend.awrite(f"{path}/new", "mine"),
            await backend.aedit(path, "mine", "yours"),
            *await backend.aupload_files([(path, b"mine")]),
            await backend.adelete(path),
        ]
        said = repr(results)
        assert _tree(base, root) == before, said
        assert "SECRET" not in said.replace(repr(path), "")
        assert folder not in said
        assert await manager.usage("u1") == manager.get_workspace_usage("u1"), said
        manager.close()


def _tree(base: Path, root: Path) -> dict[str, bytes]:
    """Everything outside the workspace."""
    return {
        str(path): path.read_bytes()
        for path in base.rglob("*")
        if path.is_file() and not path.is_relative_to(root)
    }


@requirement("R33.3", "R33.4", "P52")
@pytest.mark.parametrize("path", ATTACKS)
async def test_known_attacks_reach_nothing(path: str) -> None:
    await _try_everything(path)


@requirement("R33.3", "R33.4", "P52")
@settings(max_examples=examples(100))
@given(path=PATHS)
def test_no_path_escapes_or_raises(path: str) -> None:
    run_blocking(_try_everything(path))
