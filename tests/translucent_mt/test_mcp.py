"""`translucent mcp`, with the client of the protocol's official SDK: this machine's models and a server's."""

import contextlib
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mcp import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

from tests.support.paths import MODELS
from tests.support.polling import wait_until
from tests.support.server import free_port, running
from translucent_mt.mcp_server import Models, server_of

COMMAND = [str(Path(sys.executable).with_name("translucent")), "mcp"]
TEXT = "A man is sleeping."
PAIR = {"source": "en", "target": "de"}


def listens(port: int) -> bool:
    with socket.socket() as connection:
        return connection.connect_ex(("127.0.0.1", port)) == 0


async def used(client: Client) -> dict[str, Any]:
    names = {tool.name for tool in (await client.list_tools()).tools}
    assert names == {"list_languages", "translate", "explain_alignment"}
    calls: dict[str, tuple[str, dict[str, Any]]] = {
        "languages": ("list_languages", {}),
        "translated": ("translate", {"text": TEXT, **PAIR}),
        "with terms": ("translate", {"text": TEXT, **PAIR, "glossary": {"man": "Herr"}}),
        "aligned": ("explain_alignment", {"text": TEXT, **PAIR}),
        "given": ("explain_alignment", {"text": TEXT, **PAIR, "translation": "Eine Frau schläft."}),
    }
    answers = {key: await client.call_tool(name, fields) for key, (name, fields) in calls.items()}
    assert not any(answer.is_error for answer in answers.values()), answers
    return {key: answer.structured_content for key, answer in answers.items()}


async def test_an_assistant_starts_the_program_and_uses_its_tools(tmp_path: Path) -> None:
    log = tmp_path / "stderr"
    server = StdioServerParameters(command=COMMAND[0], args=[*COMMAND[1:], "--models-dir", str(MODELS)])
    with log.open("w") as errors:
        async with Client(stdio_client(server, errlog=errors)) as client:
            found = await used(client)
            refused = await client.call_tool("translate", {"text": TEXT, "source": "en", "target": "xx"})
            wrong = await client.call_tool("translate", {"text": TEXT})
    assert PAIR in found["languages"]["result"]
    german = found["translated"]["text"]
    assert "schläft" in german
    assert "Herr" in found["with terms"]["text"]
    [sentence] = found["aligned"]["result"]
    assert sentence["target"] == german
    assert {"target": "Mann", "source": ["man"]} in sentence["words"]
    [given] = found["given"]["result"]
    assert given["score"] < sentence["score"]
    assert [word["target"] for word in given["words"]] == ["Eine", "Frau", "schläft", "."]
    assert refused.is_error
    assert "en → de" in str(refused.content)
    assert wrong.is_error
    assert "sleeping" not in log.read_text()


@contextlib.contextmanager
def over_http(url: str, log: Path) -> Iterator[int]:
    """Yield the port on which the program offers the models of a server."""
    port = free_port()
    with log.open("w") as errors:
        command = [*COMMAND, "--url", url, "--transport", "http", "--port", str(port)]
        program = subprocess.Popen(command, stderr=errors)
        try:
            wait_until(lambda: listens(port), seconds=60)
            yield port
        finally:
            program.terminate()
            program.wait(timeout=30)


async def test_the_tools_of_a_server_say_the_same_over_http(tmp_path: Path) -> None:
    with running("-m", "service", "serve", "--models-dir", str(MODELS), "--device", "cpu") as server:
        async with Client(server_of(Models(server.url, None, None))) as client:
            remote = await used(client)
        with over_http(server.url, tmp_path / "stderr") as port:
            async with Client(f"http://127.0.0.1:{port}/mcp") as client:
                assert await used(client) == remote
    assert "schläft" in remote["translated"]["text"]
    assert "sleeping" not in (tmp_path / "stderr").read_text()
