"""What code leaves for harvest is data: no link, pipe or name in it reaches the host."""

from __future__ import annotations

from pathlib import PurePosixPath

import pytest

from tests.requirements import requirement

from .ground import Ground, armed, attack, mark, until_none

pytestmark = pytest.mark.asyncio(loop_scope="session")

NASTY = """
import socket, stat
os.makedirs("/output/nasty")
os.chdir("/output/nasty")
open("fine.txt", "w").write("fine")
os.symlink("/etc/passwd", "link.txt")
os.symlink("/proc/1/environ", "environ.txt")
os.symlink(FACTS["path"], "host.txt")
os.symlink("/output", "loop")
os.mkfifo("pipe.txt")
s = socket.socket(socket.AF_UNIX); s.bind("sock.txt")
devices = []
for number in ((1, 8), (8, 0), (254, 0)):
    try:
        os.mknod(f"device{number[0]}", stat.S_IFBLK | 0o666, os.makedev(*number))
        devices.append(number)
    except OSError:
        pass
ODD = ("-rf", "new\\nline.txt", "a\\u202egnp.exe", "..", " ", "x" * 255, "b\\\\slash", "n\\x01.txt")
for name in ODD:
    try:
        open(name, "w").write("named")
    except OSError:
        pass
deep = "/output/nasty"
for _ in range(60):
    deep += "/d"
    os.mkdir(deep)
open(deep + "/deep.txt", "w").write("deep")
tell(devices=devices)
"""


@requirement("R33.4", "S10.3")
async def test_only_plain_files_come_back_and_no_link_is_followed(ground: Ground) -> None:
    session = await ground.session()
    code = armed(NASTY, path=str(ground.bait.path))
    result = await session.run_python(code, timeout_seconds=10)
    assert result.status == "ok", result
    assert '"devices": []' in result.stdout
    contents = {PurePosixPath(file.path).name: file.content for file in result.files}
    assert contents["fine.txt"] == b"fine"
    assert set(contents.values()) <= {b"fine", b"named", b"deep"}
    for file in result.files:
        path = PurePosixPath(file.path)
        assert ".." not in path.parts, file.path
        assert not path.is_absolute()
    await session.run_python("import os, shutil; os.chdir('/'); shutil.rmtree('/output/nasty')")


MANY = """
for number in range(FACTS["count"]):
    open(f"/output/{number}.txt", "w").write(str(number))
"""
HEAVY = """
for number in range(4):
    with open(f"/output/heavy{number}", "wb") as f:
        f.write(bytes(15 << 20))
"""


@requirement("S10.3")
async def test_no_more_files_come_back_than_the_limits_and_the_rest_is_counted(
    ground: Ground,
) -> None:
    session, limits = await ground.session(), ground.sandboxes.limits
    assert limits.harvest_bytes < 4 * 15 * 1024 * 1024
    result = await session.run_python(armed(MANY, count=limits.harvest_files + 25))
    assert len(result.files) <= limits.harvest_files
    assert len(result.files) + result.files_left_out == limits.harvest_files + 25
    result = await session.run_python(armed(HEAVY))
    assert sum(len(file.content) for file in result.files) <= limits.harvest_bytes
    assert result.files_left_out >= 1
    await session.run_python(
        "import os, shutil; shutil.rmtree('/output'); os.mkdir('/workspace/output')"
    )


@requirement("S10.3")
async def test_a_file_comes_back_once_and_not_with_every_later_run(ground: Ground) -> None:
    session = await ground.session()
    first = await session.run_python("open('/output/a.txt', 'w').write('1')")
    again = await session.run_python("print(open('/output/a.txt').read())")
    changed = await session.run_python("open('/output/a.txt', 'w').write('22')")
    assert [len(each.files) for each in (first, again, changed)] == [1, 0, 1]
    assert again.stdout.strip() == "1"


SWAP = """
import ctypes
if os.fork() == 0:
    ctypes.CDLL(None).prctl(15, FACTS["mark"].encode(), 0, 0, 0)
    os.setsid()
    while True:
        for target in (None, "/etc/passwd", FACTS["path"], "/proc/1/environ"):
            try:
                if target is None:
                    open("/output/next", "w").write("fine")
                else:
                    os.symlink(target, "/output/next")
                os.rename("/output/next", "/output/swapped.txt")
            except OSError:
                pass
import time
time.sleep(0.05)
tell(left=True)
"""


@requirement("R33.4", "S10.3")
async def test_a_file_replaced_by_a_link_while_it_is_read_reveals_nothing(
    ground: Ground,
) -> None:
    session, name = await ground.session(), mark()
    for _ in range(5):
        code = armed(SWAP, mark=name, path=str(ground.bait.path))
        result = await session.run_python(code, timeout_seconds=5)
        assert {file.content for file in result.files} <= {b"fine", b""}
    await until_none(name)


PLANT = """
import pathlib, site
home = pathlib.Path(os.environ.get("HOME", "/workspace"))
spots = [home, pathlib.Path("/tmp"), pathlib.Path("/workspace"), pathlib.Path("/output"),
         pathlib.Path(site.getusersitepackages())]
planted = []
for spot in spots:
    for name in ("evil.pth", "sitecustomize.py", "usercustomize.py", "pandas.py", "json.py"):
        try:
            spot.mkdir(parents=True, exist_ok=True)
            (spot / name).write_text("import builtins; builtins.HACKED = True")
            planted.append(str(spot / name))
        except OSError:
            pass
tell(planted=len(planted))
"""


@requirement("R32.1", "S10.3")
async def test_one_users_files_are_invisible_to_another(ground: Ground) -> None:
    mallory, alice = await ground.session(), await ground.session("alice")
    assert (await attack(mallory, PLANT))["planted"] > 0
    look = (
        "import builtins, pandas, json\n"
        "tell(hacked=hasattr(builtins, 'HACKED'), tmp=os.listdir('/tmp'))"
    )
    seen = await attack(alice, look)
    assert seen["hacked"] is False
    assert not {"evil.pth", "sitecustomize.py", "pandas.py"} & set(seen["tmp"])
    reset = await mallory.run_python(armed(look), reset=True)
    assert '"hacked": false' in reset.stdout, reset
    await ground.sandboxes.release("mallory", "t")
