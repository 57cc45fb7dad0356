"""The fields of a translation, which are declared once: every face has each of them, and hands it to the engine."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any, get_type_hints

import pytest
from typer.testing import CliRunner

from service.api.schemas.common import SearchRequest
from service.cli import translate as bulk
from service.cli.main import cli
from service.cli.open_models import BulkOptions
from service.documents.jobs.job import from_json, to_json
from service.engine import DocumentFields, SearchFields, TextFields, TranslationOptions
from service.engine.types import AttentionOptions
from tests.support.api_client import serving
from tests.support.fake_engine import DummyRegistry
from tests.support.jobs import job_of
from translucent_mt import backend

PAIR = {"source": "en", "target": "fr"}
# A value of each field that is not its default.
CHOSEN: dict[str, Any] = {
    "beam_size": 2,
    "length_penalty": 0.5,
    "max_length": 30,
    "repetition_guard": False,
    "values": "keep",
    "context": False,
    "formality": "prefer_more",
    "alternatives": 3,
    "min_quality": 0.5,
    "below_min_quality": "keep_source",
}
SEARCH, DOCUMENT = ({name: CHOSEN[name] for name in get_type_hints(kind)} for kind in (SearchFields, DocumentFields))
WORDS = {name: str(value).lower() for name, value in DOCUMENT.items()}  # as a form has them
TENSOR = {"name": "text", "shape": [1], "datatype": "BYTES", "data": ["I lost."]}
CALLS: dict[str, tuple[str, dict[str, Any], dict[str, Any]]] = {
    "json": ("/translate", {"json": {**PAIR, **DOCUMENT, "q": "I lost."}}, DOCUMENT),
    "form": ("/translate", {"data": {**PAIR, **WORDS, "q": "I lost."}}, DOCUMENT),
    "query": ("/translate", {"params": {**PAIR, **WORDS, "q": "I lost."}}, DOCUMENT),
    "attention": ("/attention", {"json": {**PAIR, **SEARCH, "text": "I lost."}}, SEARCH),
    "inference": ("/v2/models/transformer-en-fr/infer", {"json": {"inputs": [TENSOR], "parameters": SEARCH}}, SEARCH),
    "document": ("/translate_file", {"data": {**PAIR, **WORDS}, "files": {"file": ("a.txt", b"I lost.")}}, DOCUMENT),
}


@pytest.mark.parametrize("call", CALLS)
async def test_a_field_reaches_the_engine_from_every_route(call: str, tmp_path: Path) -> None:
    path, request, chosen = CALLS[call]
    registry = DummyRegistry()
    async with serving(registry, jobs_dir=tmp_path) as client:
        answer = await client.post(path, **request)
    assert answer.status_code == 200, answer.text
    options = registry["transformer-en-fr"].calls[0][1]
    options = options.translation if isinstance(options, AttentionOptions) else options
    assert isinstance(options, TranslationOptions)
    assert {name: getattr(options, name) for name in chosen} == chosen


def test_a_field_is_an_option_of_the_command_line(monkeypatch: pytest.MonkeyPatch) -> None:
    taken: list[BulkOptions] = []
    monkeypatch.setattr(bulk, "run", taken.append)
    flags = {True: "--{}", False: "--no-{}"}
    given = [flags.get(value, "--{}=" + str(value)).format(name.replace("_", "-")) for name, value in CHOSEN.items()]
    answer = CliRunner().invoke(cli, ["translate", "I lost.", "--to", "fr", *given])
    assert answer.exit_code == 0, answer.output
    assert {name: getattr(taken[0], name) for name in CHOSEN} == CHOSEN
    wrong = CliRunner().invoke(cli, ["translate", "I lost.", "--beam-size", "9"])
    assert (wrong.exit_code, "--beam-size" in wrong.output) == (2, True)


def test_a_job_keeps_the_fields_of_its_document() -> None:
    job = job_of(**DOCUMENT)
    assert from_json(to_json(job)) == job
    before = {name: value for name, value in json.loads(to_json(job)).items() if name not in DOCUMENT}
    assert asdict(from_json(json.dumps(before))).items() >= asdict(DocumentFields()).items()  # of an earlier version


def test_the_types_of_the_python_face_are_those_of_the_fields() -> None:
    for kind, fields in ((backend.SearchOptions, SearchFields), (backend.TranslationOptions, DocumentFields)):
        declared = get_type_hints(fields)
        written = get_type_hints(kind)
        for name, hint in declared.items():
            assert hint in (written[name], written[name] | None), name


def test_a_field_has_its_text_and_limits_in_the_api_description() -> None:
    described = SearchRequest.model_json_schema()["properties"]
    assert all(described[name]["description"] for name in get_type_hints(SearchFields))
    assert described["beam_size"]["anyOf"][0] == {"type": "integer", "minimum": 1, "maximum": 8}
    assert set(CHOSEN) == set(get_type_hints(TextFields))
