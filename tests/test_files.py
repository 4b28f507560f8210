"""Bounded reading and atomic writing of files."""

from __future__ import annotations

import io
import os
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from local_judge.base.files import each_line, open_file, read_file, read_utf8, replacing


def _fifo(path: Path) -> Path:
    os.mkfifo(path / "fifo")
    return path / "fifo"


def _socket(path: Path) -> Path:
    with socket.socket(socket.AF_UNIX) as bound:
        bound.bind(str(path / "socket"))
    return path / "socket"


def _device(path: Path) -> Path:
    return Path("/dev/zero")


def _folder(path: Path) -> Path:
    return path


def _absent(path: Path) -> Path:
    return path / "absent"


def _sparse(path: Path) -> Path:
    with (path / "sparse").open("wb") as file:
        file.truncate(1 << 40)
    return path / "sparse"


def _link(path: Path) -> Path:
    (path / "inside").mkdir()
    (path / "secret").write_text("x")
    (path / "inside/link").symlink_to(path / "secret")
    return path / "inside/link"


def _circle(path: Path) -> Path:
    (path / "circle").symlink_to(path / "circle")
    return path / "circle"


@pytest.mark.parametrize(
    ("made", "problem"),
    [
        (_fifo, "not a regular file"),
        (_socket, "not a regular file"),
        (_device, "not a regular file"),
        (_folder, "Is a directory"),
        (_sparse, "more than 1,073,741,824 bytes"),
        (_link, "a link that leads out of"),
        (_circle, "a link that leads out of|Too many levels|Symlink loop"),
        (_absent, "No such file"),
    ],
)
def test_only_regular_files_within_the_limit_are_read(
    tmp_path: Path, made: Callable[[Path], Path], problem: str
) -> None:
    path = made(tmp_path)
    with pytest.raises(OSError, match=problem) as caught:
        read_file(path, inside=tmp_path / "inside" if made is _link else None)
    assert caught.value.filename == str(path)


def test_a_file_of_the_limit_is_read_and_a_longer_one_is_not(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"\xef\xbb\xbfa\r\nb\rc")
    assert read_file(tmp_path / "x", 9) and read_utf8(tmp_path / "x") == "a\nb\nc"
    with pytest.raises(OSError, match="more than 8 bytes"):
        read_file(tmp_path / "x", 8)
    # Files in /proc have size 0 and content: the limit holds for what is read.
    with pytest.raises(OSError, match="more than 10 bytes"):
        read_file(Path("/proc/self/status"), 10)
    with open_file(tmp_path / "x") as file:
        assert os.get_blocking(file.fileno()) is False


def test_lines_are_bounded_before_they_are_held() -> None:
    assert list(each_line(io.BytesIO(b"ab\ncd"), Path("x"), 3)) == [b"ab\n", b"cd"]
    with pytest.raises(OSError, match="a line of more than 2 bytes"):
        list(each_line(io.BytesIO(b"ab\n"), Path("x"), 2))


def test_the_next_write_removes_what_killed_processes_left_of_the_same_file(tmp_path: Path) -> None:
    dead = subprocess.Popen([sys.executable, "-c", ""])
    dead.wait()
    left = tmp_path / f".page.html.{dead.pid}.partial"
    kept = [tmp_path / f".other.html.{dead.pid}.partial", tmp_path / f".page.html.{os.getppid()}.partial"]
    for path in (left, *kept):
        path.write_text("half")
    with replacing(tmp_path / "page.html") as file:
        file.write(b"whole")
    assert sorted(tmp_path.iterdir()) == sorted([*kept, tmp_path / "page.html"])
    with pytest.raises(ZeroDivisionError), replacing(tmp_path / "page.html") as file:
        file.write(b"half")
        raise ZeroDivisionError
    assert (tmp_path / "page.html").read_bytes() == b"whole"
    assert sorted(tmp_path.iterdir()) == sorted([*kept, tmp_path / "page.html"])
