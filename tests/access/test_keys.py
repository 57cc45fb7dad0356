"""API keys: what is shown, what is kept, and what a running server makes of a changed file."""

import asyncio
import json
import stat
import threading
from pathlib import Path

import pytest

from service.access.keys import KeyFileError, KeyRing, add_key, read_keys, remove_key
from tests.support.polling import PATIENCE


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "keys" / "keys.json"


def test_a_key_is_kept_as_a_hash_only_and_for_its_owner_only(path: Path) -> None:
    key = add_key(path, "weblate")
    assert key.startswith("tl_")
    assert len(key) > 40
    assert key not in path.read_text("utf-8")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    ring = KeyRing(path)
    assert ring.owner(key) == "weblate"
    for wrong in ("", key[:-1], f"{key}x", key.upper(), "é", "\ud800", "x" * 100_000):
        assert ring.owner(wrong) is None
    assert sorted(file.name for file in path.parent.iterdir()) == [".keys.json.lock", "keys.json"]


def test_every_key_is_compared_whichever_fits(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    keys = [add_key(path, name) for name in ("a", "b", "c")]
    ring = KeyRing(path)
    compared: list[str] = []

    def compare(known: str, offered: str) -> bool:
        compared.append(known)
        return known == offered

    monkeypatch.setattr("service.access.keys.hmac.compare_digest", compare)
    for key, owner in [*zip(keys, "abc", strict=True), ("wrong", None)]:
        compared.clear()
        assert ring.owner(key) == owner
        assert len(compared) == 3


@pytest.mark.parametrize("name", ["", "a b", "a/b", "x" * 65, "é", "a\n"])
def test_names_that_would_not_fit_into_a_log_line_are_refused(path: Path, name: str) -> None:
    with pytest.raises(KeyFileError, match="letters, digits"):
        add_key(path, name)


def test_a_name_has_one_key(path: Path) -> None:
    add_key(path, "a")
    with pytest.raises(KeyFileError, match="already"):
        add_key(path, "a")
    remove_key(path, "a")
    with pytest.raises(KeyFileError, match="no key named a"):
        remove_key(path, "a")
    add_key(path, "a")
    assert [key.name for key in read_keys(path)] == ["a"]


def test_keys_added_at_the_same_time_are_all_there(path: Path) -> None:
    threads = [threading.Thread(target=add_key, args=(path, f"name-{number}")) for number in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(read_keys(path)) == 20


@pytest.mark.parametrize("text", ["{", "[]", '{"keys": [{}]}', '{"keys": 1}'])
def test_a_file_that_is_none_is_refused(path: Path, text: str) -> None:
    path.parent.mkdir()
    path.write_text(text, "utf-8")
    with pytest.raises(KeyFileError, match="not a file of API keys"):
        KeyRing(path)


def test_a_running_server_follows_the_file_keeps_its_keys_when_it_breaks_and_takes_them_back_when_it_is_deleted(
    path: Path,
) -> None:
    readable: list[bool] = []
    first = add_key(path, "first")
    ring = KeyRing(path, on_read=readable.append)
    second = add_key(path, "second")

    def owners() -> tuple[str | None, str | None]:
        ring.reload()
        return ring.owner(first), ring.owner(second)

    assert owners() == ("first", "second")
    good = json.loads(path.read_text("utf-8"))
    path.write_text("broken", "utf-8")
    assert owners() == ("first", "second")
    good["keys"].pop(0)
    path.write_text(json.dumps(good), "utf-8")
    assert owners() == (None, "second")
    moved = path.rename(path.with_name("elsewhere"))
    assert owners() == (None, None)
    moved.rename(path)
    assert owners() == (None, "second")
    assert readable == [True, True, False, True, False, True]


async def test_a_file_system_that_hangs_holds_up_one_request_for_a_moment(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now, readable, released = [0.0], list[bool](), threading.Event()
    key = add_key(path, "first")
    ring = KeyRing(path, lambda: now[0], readable.append)
    monkeypatch.setattr(ring, "_read_stamp", lambda: released.wait(30))
    monkeypatch.setattr("service.access.keys.READ_SECONDS", 0.05)
    now[0] += 2
    for _ in range(3):  # only the first of them waits
        await asyncio.wait_for(ring.reload_if_due(), PATIENCE)
        assert ring.owner(key) == "first"
    assert readable == [True, False]
    released.set()
    while any(thread.name == "api-keys" for thread in threading.enumerate()):
        await asyncio.sleep(0.01)
