"""Two replicas, one Redis: their limits hold together; and a server that follows its file of keys."""

import time
from pathlib import Path
from typing import Any

import httpx
from typer.testing import CliRunner

from service.access.keys import CHECK_SECONDS
from service.cli.main import cli
from tests.support.redis import needs_redis, running_redis
from tests.support.server import running_dummy

TEXT = {"q": "I lost.", "source": "en", "target": "fr"}


def keys(*arguments: str) -> str:
    """Run `translucent keys` and return its output."""
    done = CliRunner().invoke(cli, ["keys", *arguments])
    assert done.exit_code == 0, done.output
    return done.stdout.strip()


@needs_redis
def test_limits_hold_across_two_replicas(tmp_path: Path) -> None:
    file = tmp_path / "keys.json"
    key = keys("add", "shared", "--file", str(file))
    with running_redis(tmp_path) as redis:
        settings: dict[str, Any] = {
            "TRANSLUCENT_RATE_LIMIT_STORAGE": redis.uri,
            "TRANSLUCENT_RATE_LIMIT": "6/hour",
            "TRANSLUCENT_KEY_RATE_LIMIT": "10/hour",
            "TRANSLUCENT_API_KEYS_FILE": str(file),
        }
        with running_dummy(**settings) as one, running_dummy(**settings) as other:
            for fields, allowed in ((TEXT, 6), ({**TEXT, "api_key": key}, 10)):
                urls = [(one.url, other.url)[number % 2] for number in range(allowed + 6)]
                statuses = [httpx.post(f"{url}/translate", json=fields).status_code for url in urls]
                assert statuses == [200] * allowed + [429] * 6
            assert key not in "".join(one.raw + other.raw)
            assert any(line.get("key") == "shared" for line in one.lines)


def test_a_running_server_takes_new_keys_and_drops_old_ones(tmp_path: Path) -> None:
    file = str(tmp_path / "keys.json")
    first = keys("add", "first", "--file", file)
    with running_dummy(TRANSLUCENT_API_KEYS_FILE=file, TRANSLUCENT_REQUIRE_KEY="true") as server:

        def status(key: str) -> int:
            return httpx.post(f"{server.url}/translate", json={**TEXT, "api_key": key}).status_code

        assert (status(first), status("tl_wrong")) == (200, 403)
        second = keys("add", "second", "--file", file)
        keys("remove", "first", "--file", file)
        time.sleep(CHECK_SECONDS + 0.2)
        assert (status(first), status(second)) == (403, 200)
    listed = keys("list", "--file", file)
    assert listed.split()[1] == "second"
    assert second not in listed
