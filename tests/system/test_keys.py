"""A server follows its file of keys."""

from pathlib import Path

import httpx
from typer.testing import CliRunner

from service.cli.main import cli
from tests.support.polling import wait_until
from tests.support.server import running_dummy

TEXT = {"q": "I lost.", "source": "en", "target": "fr"}


def keys(*arguments: str) -> str:
    """Run `translucent keys` and return its output."""
    done = CliRunner().invoke(cli, ["keys", *arguments])
    assert done.exit_code == 0, done.output
    return done.stdout.strip()


def test_a_running_server_takes_new_keys_and_drops_old_ones(tmp_path: Path) -> None:
    file = str(tmp_path / "keys.json")
    first = keys("add", "first", "--file", file)
    with running_dummy(TRANSLUCENT_API_KEYS_FILE=file, TRANSLUCENT_REQUIRE_KEY="true") as server:

        def status(key: str) -> int:
            return httpx.post(f"{server.url}/translate", json={**TEXT, "api_key": key}).status_code

        assert (status(first), status("tl_wrong")) == (200, 403)
        second = keys("add", "second", "--file", file)
        keys("remove", "first", "--file", file)
        wait_until(lambda: status(first) == 403)
        assert status(second) == 200
    listed = keys("list", "--file", file)
    assert listed.split()[1] == "second"
    assert second not in listed
