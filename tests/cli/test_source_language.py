"""The language of what is translated: named, detected, or the only possible one; and `translucent detect`."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from service.cli.find_model import ModelQuery
from service.cli.main import cli
from service.cli.source_language import with_source
from service.engine import InvalidInput
from tests.support.manifests import write_bundle

FRENCH, ENGLISH = "Bonjour, où est la gare ?", "Good morning, where is the station?"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Models from English to French and German, and from French and German to English."""
    for source, target in (("en", "fr"), ("en", "de"), ("fr", "en"), ("de", "en")):
        name = f"{source}-{target}"
        write_bundle(tmp_path / name, name=name, source_language=source, target_language=target)
    return tmp_path


def source_of(text: str, folder: Path, wanted: ModelQuery) -> str | None:
    return with_source(wanted, folder, lambda: text).source


@pytest.mark.parametrize(
    ("text", "wanted", "source"),
    [
        (FRENCH, ModelQuery(None, "auto", "en"), "fr"),
        (FRENCH, ModelQuery(None, None, "en"), "fr"),  # two are possible
        (FRENCH, ModelQuery(None, None, "de", pivot="en"), "fr"),  # not in the only direct one
        (FRENCH, ModelQuery(None, None, "de"), None),  # nothing translates it
        (ENGLISH, ModelQuery(None, None, "de", pivot="en"), None),
        ("Gift", ModelQuery(None, None, "fr", pivot="en"), None),  # too short to doubt
        (FRENCH, ModelQuery(None, "en", "de"), "en"),
    ],
)
def test_the_source_is_detected_where_it_is_open(
    folder: Path, text: str, wanted: ModelQuery, source: str | None, capsys: pytest.CaptureFixture[str]
) -> None:
    assert source_of(text, folder, wanted) == source
    said = capsys.readouterr().err
    assert ("detected fr" in said) == (source == "fr")
    assert ("another language (fr); it is translated as en" in said) == (text == FRENCH and source is None)


def test_a_text_that_is_in_no_language_is_refused_with_auto(folder: Path) -> None:
    with pytest.raises(InvalidInput, match="--from: de, en, fr"):
        source_of("123", folder, ModelQuery(None, "auto", "en"))


def test_detect_prints_the_language_of_each_text(folder: Path) -> None:
    found = CliRunner().invoke(cli, ["detect", FRENCH, ENGLISH, "123", "--models-dir", str(folder)])
    assert [line.split("\t")[0] for line in found.stdout.splitlines()] == ["fr", "en", "und"]
    lines = CliRunner().invoke(cli, ["detect", "--json", "--models-dir", str(folder)], input=f"{FRENCH}\n")
    assert json.loads(lines.stdout)[0]["language"] == "fr"
    assert {each["language"] for each in json.loads(lines.stdout)} == {"de", "en", "fr"}
