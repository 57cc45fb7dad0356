"""A file that is replaced is the old one or the new one, and nothing is left beside it."""

import errno
import os
from pathlib import Path

import pytest

from service.access.keys import KeyFileError, add_key, read_keys
from service.whole_file import write_whole


@pytest.fixture
def full(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every write fail at its end, as on a full disk."""

    def fails(_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", fails)


def test_a_file_is_replaced_with_its_mode(tmp_path: Path) -> None:
    path = tmp_path / ("a" * 255)
    write_whole(path, b"old")
    umask = os.umask(0)
    os.umask(umask)
    assert path.stat().st_mode & 0o777 == 0o666 & ~umask
    write_whole(path, b"new", 0o600)
    assert (path.read_bytes(), path.stat().st_mode & 0o777, [*tmp_path.iterdir()]) == (b"new", 0o600, [path])


@pytest.mark.usefixtures("full")
def test_a_full_disk_leaves_the_old_file_alone(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"old")
    with pytest.raises(OSError, match="No space left"):
        write_whole(path, b"new")
    assert (path.read_bytes(), [*tmp_path.iterdir()]) == (b"old", [path])


def test_a_full_disk_leaves_the_keys_as_they_are(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    path = tmp_path / "keys.json"
    add_key(path, "first")
    before = sorted(tmp_path.iterdir())
    request.getfixturevalue("full")
    with pytest.raises(KeyFileError, match="No space left"):
        add_key(path, "second")
    assert [key.name for key in read_keys(path)] == ["first"]
    assert sorted(tmp_path.iterdir()) == before
