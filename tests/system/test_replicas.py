"""Two replicas, one Redis: their limits hold together; and a server that follows its file of keys."""

import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import httpx

from service.access.keys import CHECK_SECONDS
from tests.support.redis import needs_redis, running_redis
from tests.support.server import ROOT, running_dummy

TEXT = {"q": "I lost.", "source": "en", "target": "fr"}


def keys(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run `translucent keys`."""
    command = [sys.executable, "-m", "service", "keys", *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)


@needs_redis
def test_limits_hold_across_two_replicas(tmp_path: Path) -> None:
    file = tmp_path / "keys.json"
    key = keys("add", "shared", "--file", str(file)).stdout.strip()
    with running_redis(tmp_path) as redis:
        settings: dict[str, Any] = {
            "TRANSLUCENT_RATE_LIMIT_STORAGE": redis.uri,
            "TRANSLUCENT_RATE_LIMIT": "6/hour",
            "TRANSLUCENT_KEY_RATE_LIMIT": "10/hour",
            "TRANSLUCENT_API_KEYS_FILE": str(file),
        }
        with running_dummy(**settings) as one, running_dummy(**settings) as other:
            for replica in (one, other):
                replica.wait_for("ready")
            for fields, allowed in ((TEXT, 6), ({**TEXT, "api_key": key}, 10)):
                urls = [(one.url, other.url)[number % 2] for number in range(allowed + 6)]
                statuses = [httpx.post(f"{url}/translate", json=fields).status_code for url in urls]
                assert statuses == [200] * allowed + [429] * 6
            assert key not in "".join(one.raw + other.raw)
            assert any(line.get("key") == "shared" for line in one.lines)


def test_a_running_server_takes_new_keys_and_drops_old_ones(tmp_path: Path) -> None:
    file = str(tmp_path / "keys.json")
    first = keys("add", "first", "--file", file).stdout.strip()
    with running_dummy(TRANSLUCENT_API_KEYS_FILE=file, TRANSLUCENT_REQUIRE_KEY="true") as server:
        server.wait_for("ready")

        def status(key: str) -> int:
            return httpx.post(f"{server.url}/translate", json={**TEXT, "api_key": key}).status_code

        assert (status(first), status("tl_wrong")) == (200, 403)
        second = keys("add", "second", "--file", file).stdout.strip()
        assert keys("remove", "first", "--file", file).returncode == 0
        time.sleep(CHECK_SECONDS + 0.2)
        assert (status(first), status(second)) == (403, 200)
    listed = keys("list", "--file", file)
    assert listed.stdout.split()[1] == "second"
    assert second not in listed.stdout


def test_the_command_says_what_is_wrong(tmp_path: Path) -> None:
    missing = keys("list", "--file", str(tmp_path / "none"))
    assert (missing.returncode, "translucent keys add" in missing.stderr) == (2, True)
    nameless = keys("add", "a b", "--file", str(tmp_path / "keys.json"))
    assert (nameless.returncode, "letters, digits" in nameless.stderr) == (2, True)
    assert keys("list").returncode == 2
