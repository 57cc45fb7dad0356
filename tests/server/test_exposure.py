"""The report of a server about itself before it listens."""

import resource
from pathlib import Path
from typing import Any

import pytest

from service.server import exposure
from service.server.exposure import descriptor_warning, exposure_warning, possible_connections
from service.settings import Settings
from tests.support.server import running_dummy


@pytest.mark.parametrize(
    ("settings", "warned"),
    [
        ({}, False),
        ({"host": "127.0.0.9"}, False),
        ({"host": "::1"}, False),
        ({"host": "localhost"}, False),
        ({"host": "0.0.0.0"}, True),
        ({"host": "::"}, True),
        ({"host": "translate.example.org"}, True),
        ({"host": "0.0.0.0", "rate_limit": "300/minute"}, False),
        ({"host": "0.0.0.0", "require_key": True, "api_keys_file": Path("keys.json")}, False),
        ({"host": "0.0.0.0", "api_keys_file": Path("keys.json")}, True),  # keys that are not needed
    ],
)
def test_an_open_server_is_warned_about(settings: dict[str, Any], warned: bool) -> None:
    warning = exposure_warning(Settings(**settings))
    assert (warning is not None) == warned
    if warning is not None:
        assert "TRANSLUCENT_RATE_LIMIT" in warning


def test_a_limit_of_open_files_that_is_too_low_is_warned_about(monkeypatch: pytest.MonkeyPatch) -> None:
    allowed = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    for connections, warned in ((8, False), (allowed, True)):
        monkeypatch.setattr(exposure, "MOST_CONNECTIONS", connections)
        warning = descriptor_warning(possible_connections())
        assert warned == (f"{allowed} open files" in (warning or ""))


def test_the_warning_is_one_line_at_the_start() -> None:
    with running_dummy(TRANSLUCENT_HOST="0.0.0.0") as server:
        warnings = [line for line in server.lines if line["level"] == "warning"]
        assert ["without API keys and without a rate limit" in line["event"] for line in warnings] == [True]
