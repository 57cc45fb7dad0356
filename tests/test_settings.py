"""Settings: what is not accepted says which variable, which value, and what would be."""

import os
from pathlib import Path
from typing import Any

import pytest

from service.settings import (
    Settings,
    SettingsError,
    forget_secrets,
    load_settings,
    settings_table,
    variable,
)


@pytest.fixture(autouse=True)
def _own_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith("TRANSLUCENT_")]:
        monkeypatch.delenv(name)


def test_the_defaults_are_those_of_the_contract() -> None:
    settings = load_settings()
    assert (settings.character_limit, settings.body_limit) == (100_000, 1_048_576)
    assert settings.port == 8000
    assert settings.max_rows == "auto"
    assert settings.cors_origin == "*"
    assert settings.models_dir == Path(__file__).resolve().parents[1] / "models"


def test_variables_are_read_and_options_win(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRANSLUCENT_PORT", "9000")
    monkeypatch.setenv("TRANSLUCENT_HOST", "0.0.0.0")
    settings = load_settings(port=9001, host=None)
    assert (settings.port, settings.host) == (9001, "0.0.0.0")


def test_nothing_is_read_before_it_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRANSLUCENT_PORT", "9000")
    first = load_settings()
    monkeypatch.setenv("TRANSLUCENT_PORT", "9001")
    assert (first.port, load_settings().port) == (9000, 9001)


@pytest.mark.parametrize(
    ("name", "value", "accepted"),
    [
        ("TRANSLUCENT_PORT", "abc", "a whole number from 0 to 65535"),
        ("TRANSLUCENT_PORT", "", "a whole number from 0 to 65535"),
        ("TRANSLUCENT_PORT", "70000", "a whole number from 0 to 65535"),
        ("TRANSLUCENT_PORT", "80.5", "a whole number from 0 to 65535"),
        ("TRANSLUCENT_DEVICE", "gpu", "auto, cpu or cuda"),
        ("TRANSLUCENT_INTRA_THREADS", "0", "a whole number from 1 to 256"),
        ("TRANSLUCENT_MAX_ROWS", "7", "auto or a whole number from 8 to 4096"),
        ("TRANSLUCENT_REQUEST_TIMEOUT_SECONDS", "0", "a number above 0"),
        ("TRANSLUCENT_REQUEST_TIMEOUT_SECONDS", "nan", "a number above 0"),
        ("TRANSLUCENT_DRAIN_TIMEOUT_SECONDS", "inf", "a number from 0 to 3600"),
        ("TRANSLUCENT_LOG_LEVEL", "loud", "debug, info, warning or error"),
        ("TRANSLUCENT_HOST", "", "a host name or an IP address"),
        ("TRANSLUCENT_REQUIRE_KEY", "true", "true needs TRANSLUCENT_API_KEYS_FILE"),
        ("TRANSLUCENT_RATE_LIMIT", "many", "a number and `/second`"),
        ("TRANSLUCENT_TRUSTED_PROXIES", "example.org", "addresses and networks"),
    ],
)
def test_a_wrong_value_names_variable_value_and_what_is_accepted(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str, accepted: str
) -> None:
    monkeypatch.setenv(name, value)
    with pytest.raises(SettingsError) as caught:
        load_settings()
    assert f"{name}={value!r}" in str(caught.value)
    assert accepted in str(caught.value)
    assert "default" in str(caught.value)


@pytest.mark.parametrize(
    ("name", "secret", "accepted"),
    [
        ("TRANSLUCENT_ADMIN_TOKEN", "s3cret", "at least 16 letters, digits and signs"),
        ("TRANSLUCENT_METRICS_TOKEN", "s3cret-with spaces in it", "at least 16 letters, digits and signs"),
        ("TRANSLUCENT_METRICS_TOKEN", "s3cret-é-with-more-letters", "at least 16 letters, digits and signs"),
    ],
)
@pytest.mark.parametrize("in_a_file", [False, True])
def test_a_secret_that_is_not_accepted_is_not_shown(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str, secret: str, accepted: str, in_a_file: bool
) -> None:
    if in_a_file:
        (tmp_path / "secret").write_text(secret, "utf-8")
        monkeypatch.setenv(f"{name}_FILE", str(tmp_path / "secret"))
    else:
        monkeypatch.setenv(name, secret)
    with pytest.raises(SettingsError) as caught:
        load_settings()
    assert name in str(caught.value)
    assert "s3cret" not in str(caught.value)
    if secret.isascii():
        assert accepted in str(caught.value)
    with pytest.raises(ValueError) as raw:  # noqa: PT011 - whatever it says, it must not say the secret
        Settings.model_validate({name.removeprefix("TRANSLUCENT_").lower(): secret})
    assert "s3cret" not in str(raw.value)


SECRETS: dict[str, Any] = {
    "metrics_token": "s3cret-of-the-metrics",
    "admin_token": "s3cret-of-the-operator",
}


@pytest.mark.parametrize(("field", "secret"), SECRETS.items())
def test_every_secret_may_be_in_a_file(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, field: str, secret: str
) -> None:
    (tmp_path / "secret").write_text(f"{secret}\n", "utf-8")
    monkeypatch.setenv(f"{variable(field)}_FILE", str(tmp_path / "secret"))
    assert getattr(load_settings(), field).get_secret_value() == secret
    monkeypatch.setenv(variable(field), f"{secret}-2")
    with pytest.raises(SettingsError, match=f"{variable(field)} is given twice") as caught:
        load_settings()
    assert "s3cret" not in str(caught.value)


@pytest.mark.parametrize("content", [None, b"", b" \n", b"\xff" * 20])
def test_a_file_without_a_secret_is_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, content: bytes | None
) -> None:
    file = tmp_path / "secret"
    if content is not None:
        file.write_bytes(content)
    monkeypatch.setenv("TRANSLUCENT_ADMIN_TOKEN_FILE", str(file))
    with pytest.raises(SettingsError) as caught:
        load_settings()
    assert str(caught.value).startswith(
        f"TRANSLUCENT_ADMIN_TOKEN_FILE={str(file)!r} is not accepted: it must be a file"
    )


def test_secrets_that_have_been_read_are_not_left_in_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for field, secret in SECRETS.items():
        monkeypatch.setenv(variable(field), secret)
    monkeypatch.setenv("TRANSLUCENT_PORT", "9000")
    forget_secrets()
    left = {name: value for name, value in os.environ.items() if name.startswith("TRANSLUCENT_")}
    assert left == {"TRANSLUCENT_PORT": "9000"}


def test_settings_can_be_printed_without_their_secrets() -> None:
    settings = Settings(**SECRETS)
    assert settings.admin_token.get_secret_value() == SECRETS["admin_token"]
    for shown in (repr(settings), str(settings), settings.model_dump_json(), str(settings.model_dump())):
        assert "s3cret" not in shown


def test_an_unknown_variable_is_an_error_with_a_suggestion(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRANSLUCENT_PROT", "9000")
    monkeypatch.setenv("TRANSLUCENT_COLOUR_OF_THE_SKY", "blue")
    with pytest.raises(SettingsError) as caught:
        load_settings(port="x")
    lines = str(caught.value).splitlines()
    assert len(lines) == 3
    assert "TRANSLUCENT_PROT is not a setting; did you mean TRANSLUCENT_PORT?" in lines
    assert any("TRANSLUCENT_COLOUR_OF_THE_SKY is not a setting; the settings are TRANSLUCENT_HOST" in x for x in lines)


def test_every_setting_is_in_the_table_with_its_default() -> None:
    table = settings_table()
    for name, info in Settings.model_fields.items():
        row = next(line for line in table.splitlines() if line.startswith(f"| `{variable(name)}` |"))
        assert info.description
        assert info.description in row
        assert row.count("|") == 5
