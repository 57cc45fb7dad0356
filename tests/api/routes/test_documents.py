"""/translate_file as LibreTranslate's clients use it, and /jobs."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from service.access.keys import add_key
from service.engine import EngineFailure, Term, TranslationOptions
from service.settings import Settings
from tests.support.api_client import Client, serving
from tests.support.fake_engine import DummyRegistry

PAIR = {"source": "en", "target": "fr"}


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(jobs_dir=tmp_path / "jobs", max_file_mb=1, body_limit=20_000)


def file_of(name: str = "letter.txt", content: bytes = b"Dear friend,\nI lost.\n") -> dict[str, Any]:
    return {"file": (name, content)}


def names_in(folder: Path) -> str:
    return " ".join(map(str, folder.rglob("*")))


async def finished(client: Client, path: str, **headers: str) -> dict[str, Any]:
    for _ in range(300):
        found: dict[str, Any] = (await client.get(path, headers=headers)).json()
        if found.get("state") in {"done", "failed"}:
            return found
        await asyncio.sleep(0.02)
    raise AssertionError(f"the job did not end: {found}")


async def test_a_file_is_translated_as_libretranslate_does(client: Client, tmp_path: Path) -> None:
    answer = await client.post("/translate_file", data=PAIR, files=file_of())
    assert answer.status_code == 200
    address = answer.json()["translatedFileUrl"]
    assert address.startswith("http://translucent/download_file/")
    assert address.endswith(".txt")
    assert "letter" not in address
    assert "letter" not in names_in(tmp_path)
    found = await client.get(address)
    assert found.content == b"DEAR FRIEND,\nI LOST.\n"
    assert "filename*=UTF-8''letter.fr.txt" in found.headers["content-disposition"]
    answer = await client.post("/translate_file", data={"source": "fr", "target": "fr"}, files=file_of())
    assert (await client.get(answer.json()["translatedFileUrl"])).content == b"Dear friend,\nI lost.\n"


@pytest.mark.parametrize(
    ("fields", "files", "status", "error"),
    [
        (PAIR, None, 400, "Invalid request: missing file parameter"),
        ({"target": "fr"}, file_of(), 400, "Invalid request: missing source parameter"),
        ({"source": "en"}, file_of(), 400, "Invalid request: missing target parameter"),
        (PAIR, file_of("a.txt", b""), 400, "Invalid request: empty file"),
        ({**PAIR, "source": "zz"}, file_of(), 400, "zz is not supported"),
        ({**PAIR, "target": "zz"}, file_of(), 400, "zz is not supported"),
        ({**PAIR, "model": "nope"}, file_of(), 404, "There is no model"),
        ({**PAIR, "beam_size": "99"}, file_of(), 400, "beam_size must be a whole number from 1 to 8"),
        ({**PAIR, "glossary": '{"friend": ""}'}, file_of(), 400, "no translation of"),
        ({**PAIR, "glossary": "{broken"}, file_of(), 400, "glossary must be the name of a glossary"),
        ({**PAIR, "glossary": "legal"}, file_of(), 400, "There is no glossary of this name"),
        (PAIR, file_of("a.exe"), 400, "Invalid request: file format not supported"),
        (PAIR, file_of("a.docm"), 400, "macros"),
        (PAIR, file_of("a.rtf"), 400, "Save it as .docx"),
        (PAIR, file_of("a.docx", b"PK no zip"), 400, "damaged"),
        (PAIR, file_of("a.txt", b"x" * 1_060_000), 413, "at most 1048576"),
        (PAIR, file_of("a.txt", b"x" * 1_200_000), 413, "larger than"),
    ],
)
@pytest.mark.parametrize("path", ["/translate_file", "/jobs"])
async def test_what_is_wrong_gets_one_clear_error(
    client: Client, path: str, fields: dict[str, str], files: dict[str, Any] | None, status: int, error: str
) -> None:
    answer = await client.post(path, data=fields, files=files)
    if path == "/jobs" and error == "damaged":  # the document is read in the background
        job = await finished(client, answer.headers["location"])
        assert (job["state"], job["error"]["code"]) == ("failed", "broken_document")
        answer = await client.get(f"{answer.headers['location']}/file")
    assert (answer.status_code, error in answer.json()["error"]) == (status, True), answer.text


async def test_a_job_is_polled_fetched_and_deleted(client: Client) -> None:
    text = file_of(content=b"I have lost my keys.\n")
    answer = await client.post("/jobs", data={**PAIR, "source": "auto"}, files=text)
    assert answer.status_code == 202
    assert answer.json()["state"] == "queued"
    path = answer.headers["location"]
    job = await finished(client, path)
    assert (job["state"], job["detected"], job["progress"]) == ("done", "en", {"segments": 1, "segments_done": 1})
    assert job["created"] < job["expires"]
    found = await client.get(job["file"])
    assert found.content == b"I HAVE LOST MY KEYS.\n"
    address = path.replace("/jobs/", "/download_file/")
    assert (await client.get(address)).status_code == 404  # needs no key: not for jobs
    assert (await client.delete(path)).status_code == 204
    for method in ("GET", "DELETE"):
        assert (await client.request(method, path)).json()["code"] == "unknown_job"


async def test_a_job_says_how_the_document_was_read_and_what_its_translation_is_called(client: Client) -> None:
    path = (await client.post("/jobs", data=PAIR, files=file_of(content="Déjà\n".encode("cp1252")))).headers["location"]
    found = await finished(client, path)
    assert (found["encoding"], found["file_name"]) == ("Windows-1252", "letter.fr.txt")
    path = (await client.post("/jobs", data=PAIR, files=file_of())).headers["location"]
    assert "encoding" not in await finished(client, path)


async def test_a_job_says_which_segments_to_check(client: Client, registry: DummyRegistry) -> None:
    translator = registry["transformer-en-fr"]
    path = (await client.post("/jobs", data=PAIR, files=file_of())).headers["location"]
    assert "quality" not in await finished(client, path), "the model gives none"
    translator.quality_of = lambda text: {"I lost.": 0.25, "Green ideas.": 0.05}.get(text, 0.9)
    content = b"Dear friend,\n\nI lost.\nGreen ideas.\n"
    path = (await client.post("/jobs", data=PAIR, files=file_of(content=content))).headers["location"]
    found = (await finished(client, path))["quality"]
    assert [(each["quality"], each["translation"]) for each in found["doubtful"]] == [
        (0.05, "GREEN IDEAS."),
        (0.25, "I LOST."),
    ]
    assert [(each["segment"], each["source"]) for each in found["doubtful"]] == [(3, "Green ideas."), (2, "I lost.")]
    assert found["mean"] == pytest.approx((12 * 0.9 + 7 * 0.25 + 12 * 0.05) / 31, abs=1e-4)


async def test_a_job_that_is_not_done_has_no_file(client: Client, registry: DummyRegistry) -> None:
    registry["transformer-en-fr"].seconds = 30
    path = (await client.post("/jobs", data=PAIR, files=file_of())).headers["location"]
    assert (await client.get(f"{path}/file")).json()["code"] == "job_not_done"
    await registry["transformer-en-fr"].busy.wait()
    assert (await client.delete(path)).status_code == 204
    assert registry["transformer-en-fr"].rows == 0  # the engine is free again


async def test_a_document_that_takes_too_long_to_wait_for_is_cancelled(registry: DummyRegistry, tmp_path: Path) -> None:
    registry["transformer-en-fr"].seconds = 30
    async with serving(registry, jobs_dir=tmp_path / "jobs", request_timeout_seconds=0.3) as client:
        answer = await client.post("/translate_file", data=PAIR, files=file_of())
        assert (answer.status_code, "/jobs" in answer.json()["error"]) == (504, True)
        assert registry["transformer-en-fr"].rows == 0
        assert [*(tmp_path / "jobs").iterdir()] == []


async def test_a_failure_of_the_engine_is_an_error_of_the_server(client: Client, registry: DummyRegistry) -> None:
    registry["transformer-en-fr"].error = EngineFailure.of_a_run()
    answer = await client.post("/translate_file", data=PAIR, files=file_of())
    assert (answer.status_code, answer.json()["code"]) == (500, "engine_failure")


async def test_a_job_belongs_to_the_key_that_sent_it(tmp_path: Path) -> None:
    keys = {name: add_key(tmp_path / "keys.json", name) for name in ("ann", "bob")}
    async with serving(api_keys_file=tmp_path / "keys.json", require_key=True, jobs_dir=tmp_path / "jobs") as client:
        ann, bob = ({"Authorization": f"Bearer {keys[name]}"} for name in ("ann", "bob"))
        for form, header in (({"api_key": keys["ann"]}, {}), ({}, ann)):
            answer = await client.post("/jobs", data={**PAIR, **form}, files=file_of(), headers=header)
            path = answer.headers["location"]
            await finished(client, path, **ann)
            assert (await client.get(f"{path}/file", headers=ann)).status_code == 200
            assert (await client.get(f"{path}/file?api_key={keys['ann']}")).status_code == 200
            for other in (f"{path}/file", path):
                assert (await client.get(other, headers=bob)).json()["code"] == "unknown_job"
            assert (await client.delete(path, headers=bob)).status_code == 404
            assert (await client.get(path)).json()["code"] == "key_required"
        kept = "".join(file.read_text() for file in (tmp_path / "jobs").rglob("job.json"))
        assert keys["ann"] not in kept
        # As with LibreTranslate, the link of a file is enough for its download.
        link = (await client.post("/translate_file", data=PAIR, files=file_of(), headers=ann)).json()
        assert (await client.get(link["translatedFileUrl"])).status_code == 200
        assert (await client.post("/translate_file", data=PAIR, files=file_of())).status_code == 400


async def test_the_operator_can_switch_documents_off() -> None:
    async with serving(max_file_mb=0) as client:
        answers = [await client.post(path, data=PAIR, files=file_of()) for path in ("/translate_file", "/jobs")]
        for answer in (*answers, await client.get("/download_file/x.txt")):
            assert answer.status_code == 403
            assert answer.json()["error"] == "Files translation are disabled on this server."
        shown = (await client.get("/frontend/settings")).json()
        assert (shown["filesTranslation"], shown["supportedFilesFormat"]) == (False, [])


async def test_a_folder_that_cannot_be_written_is_the_operators_to_mend(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder")
    async with serving(jobs_dir=tmp_path / "file") as client:
        answer = await client.post("/jobs", data=PAIR, files=file_of())
    assert (answer.status_code, answer.json()["code"]) == (503, "jobs_unavailable")


async def test_there_is_room_for_so_many_jobs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("service.api.app.MOST_JOBS", 1)
    async with serving(jobs_dir=tmp_path / "jobs") as client:
        assert (await client.post("/jobs", data=PAIR, files=file_of())).status_code == 202
        answer = await client.post("/jobs", data=PAIR, files=file_of())
    assert (answer.status_code, answer.json()["code"], answer.headers["retry-after"]) == (503, "jobs_full", "30")


async def test_formats_without_their_library_say_what_to_install(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("service.documents.format.importlib.util.find_spec", lambda _name: None)
    answer = await client.post("/translate_file", data=PAIR, files=file_of("a.docx", b"PK"))
    assert (answer.status_code, answer.json()["code"]) == (501, "format_not_installed")
    assert "pip install '.[documents]' in the clone" in answer.json()["error"]
    shown = (await client.get("/frontend/settings")).json()["supportedFilesFormat"]
    assert (".docx" in shown, ".txt" in shown) == (False, True)


@pytest.mark.parametrize("path", ["/translate_file", "/jobs"])
async def test_a_document_obeys_a_glossary(client: Client, registry: DummyRegistry, path: str) -> None:
    fields = {**PAIR, "glossary": '{"friend": ["ami", "amie"]}'}
    answer = await client.post(path, data=fields, files=file_of())
    assert answer.status_code in (200, 202), answer.json()
    if path == "/jobs":
        assert (await finished(client, answer.headers["location"]))["state"] == "done"
    options = registry["transformer-en-fr"].calls[0][1]
    assert isinstance(options, TranslationOptions)
    assert options.glossary is not None
    assert options.glossary.terms == (Term("friend", ("ami", "amie")),)


async def test_a_glossary_is_checked_again_once_the_language_is_known(client: Client) -> None:
    fields = {"source": "auto", "target": "fr", "glossary": "legal"}
    text = b"I have lost the keys of my house in the garden, and I cannot find them anywhere.\n"
    job = (await client.post("/jobs", data=fields, files=file_of(content=text))).json()
    found = await finished(client, f"/jobs/{job['id']}")
    assert (found["state"], found["error"]["code"]) == ("failed", "invalid_glossary")


PAGE = b'<html lang="en"><p>Words <img alt="a cat" src="x"></p></html>'


@pytest.mark.parametrize("path", ["/translate_file", "/jobs"])
@pytest.mark.parametrize(
    ("name", "content", "fields", "expected"),
    [
        ("a.csv", b"name,text\nx,I lost.\n", {}, b"name,text\nX,I LOST.\n"),
        ("a.csv", b"name,text\nx,I lost.\n", {"header": "true"}, b"NAME,TEXT\nX,I LOST.\n"),
        ("a.csv", b"name,text\nx,I lost.\n", {"header": "1", "columns": "text"}, b"name,TEXT\nx,I LOST.\n"),
        ("a.html", PAGE, {}, b'<html lang="fr"><p>WORDS <img alt="A CAT" src="x"></p></html>'),
        ("a.html", PAGE, {"metadata": "false"}, b'<html lang="fr"><p>WORDS <img alt="a cat" src="x"></p></html>'),
    ],
)
async def test_the_first_row_and_descriptions_are_translated_if_that_is_wanted(
    client: Client, path: str, name: str, content: bytes, fields: dict[str, str], expected: bytes
) -> None:
    answer = await client.post(path, data={**PAIR, **fields}, files=file_of(name, content))
    if path == "/jobs":
        address = (await finished(client, answer.headers["location"]))["file"]
    else:
        address = answer.json()["translatedFileUrl"]
    assert (await client.get(address)).content == expected


@pytest.mark.parametrize("field", ["header", "metadata"])
async def test_a_switch_is_on_or_off(client: Client, field: str) -> None:
    answer = await client.post("/jobs", data={**PAIR, field: "perhaps"}, files=file_of())
    assert (answer.status_code, field in answer.json()["error"]) == (400, True)
