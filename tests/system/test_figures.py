"""The process that draws figures ends or stands still: one client must ask again, and the next one gets a picture."""

import contextlib
import os
import signal
from pathlib import Path

import httpx
import pytest

from tests.support.polling import wait_until
from tests.support.server import ServerProcess, running_dummy

ASKED = {"text": "I lost.", "source": "en", "target": "fr", "format": "svg"}


def drawing(server: ServerProcess) -> list[int]:
    """Return the processes of a server that draw figures."""
    return [child for child in server.children if b"renderer_process" in Path(f"/proc/{child}/cmdline").read_bytes()]


@pytest.mark.parametrize("number", [signal.SIGSTOP, signal.SIGKILL], ids=lambda number: number.name)
def test_a_lost_process_costs_one_picture_at_the_most(number: signal.Signals) -> None:
    with running_dummy() as server, httpx.Client(base_url=server.url) as client:
        assert client.get("/attention", params=ASKED).status_code == 200
        [process] = drawing(server)
        os.kill(process, number)
        try:
            answer = client.get("/attention", params={**ASKED, "text": "I lost my dog."})
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)  # it would outlive the server
        if answer.status_code != 200:  # a process that ended between two pictures is replaced before the next one
            assert (answer.status_code, answer.json()["code"]) == (503, "not_ready")
            assert answer.headers["retry-after"] == "1"
            assert "send the request again" in answer.json()["error"]
        wait_until(lambda: drawing(server) not in ([], [process]))
        assert client.get("/attention", params={**ASKED, "text": "I lost my cat."}).status_code == 200
