"""`translucent models get`: from an empty folder and a mirror on loopback to a model that is served."""

import socket
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest

from service.bundle.load import load_bundle
from tests.docs.commands import commands
from tests.support.server import running
from tests.training.imports.firefox_models import student_folder
from tests.training.imports.mirror import Answer, Mirror, mirror, sha256
from tests.training.imports.serving_environment import done, variables
from training.imports.add import AddOptions
from training.imports.catalogue import Address
from training.imports.download import FAILURES, Downloader
from training.imports.files import ImportRefused
from training.imports.get import DOWNLOADS, Offer, Wanted, choose, get_model, is_installed, offers
from training.imports.published import ListedFile

CONTENT, TOKEN = bytes(range(256)) * 2000, "let-me-in-please-1"


@pytest.fixture
def served() -> Iterator[Mirror]:
    with mirror() as server:
        yield server


@pytest.fixture(scope="module")
def student(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("student")
    student_folder(folder, soft=True)
    return folder


def listed(served: Mirror, **answer: Any) -> ListedFile:
    """Serve a file and return its entry of a list."""
    served.answers["/files/x.bin"] = Answer(CONTENT, **answer)
    return ListedFile("model", "x.bin", f"{served.url}/files/", len(CONTENT), sha256(CONTENT))


def fetched(served: Mirror, file: ListedFile, folder: Path) -> list[float]:
    """Fetch a file, check it, and return how long the downloader would have waited."""
    waits: list[float] = []
    Downloader(served.url, waits.append).fetch(file, folder / "x.bin")
    assert (folder / "x.bin").read_bytes() == CONTENT
    assert [path.name for path in folder.iterdir()] == ["x.bin"]
    return waits


def refused(served: Mirror, file: ListedFile, folder: Path, said: str) -> None:
    with pytest.raises(ImportRefused, match=said):
        Downloader(served.url, lambda _seconds: None).fetch(file, folder / "x.bin")
    assert not (folder / "x.bin").exists()


def test_a_connection_that_breaks_is_continued(served: Mirror, tmp_path: Path) -> None:
    waits = fetched(served, listed(served, cuts=[1000, 5000]), tmp_path)
    assert [asked for _, asked in served.asked] == ["", "bytes=1000-", "bytes=6000-"]
    assert waits == [2, 4]


def test_the_next_run_goes_on_where_the_last_one_stopped(served: Mirror, tmp_path: Path) -> None:
    file = listed(served, cuts=[100] * FAILURES)
    refused(
        served, file, tmp_path, r"could not be fetched \(.*\); run the command again, which goes on where it stopped"
    )
    assert (tmp_path / "x.bin.part").read_bytes() == CONTENT[: 100 * FAILURES]
    fetched(served, file, tmp_path)
    assert served.asked[-1][1] == f"bytes={100 * FAILURES}-"


def test_what_was_left_of_another_file_is_fetched_anew(served: Mirror, tmp_path: Path) -> None:
    (tmp_path / "x.bin.part").write_bytes(b"other")
    fetched(served, listed(served), tmp_path)


@pytest.mark.parametrize("changed", [{"cuts": [1000]}, {"cuts": [1000], "headers": {"ETag": '"a"'}}])
def test_a_file_without_a_checksum_is_continued_only_if_the_server_says_that_it_is_the_same(
    changed: dict[str, Any], served: Mirror, tmp_path: Path
) -> None:
    file = replace(listed(served, **changed), size=None, sha256=None)
    (tmp_path / "x.bin.part").write_bytes(b"of another version")
    fetched(served, file, tmp_path)
    assert [asked for _, asked in served.asked] == ["", "bytes=1000-" if "headers" in changed else ""]


HOSTILE = {
    "another file": ({"content": CONTENT[::-1]}, "its SHA-256 or size is not the one of the list; nothing was"),
    "more than stated": ({"content": CONTENT + b"x"}, "the server sends more than the 512000 bytes that fit"),
    "less than stated": ({"content": CONTENT[:-1]}, "511999 of 512000 bytes"),
    "not found": ({"status": 404}, "the server answers 404 Not Found"),
    "always busy": ({"status": 503}, r"could not be fetched \(the server answers 503\)"),
    "to the local network": (
        {"status": 302, "headers": {"Location": "https://127.0.0.1:1/x"}}, "an address of the local network"),
    "to the cloud's metadata": (
        {"status": 302, "headers": {"Location": "https://169.254.169.254/x"}}, "an address of the local network"),
    "to a local name": ({"status": 307, "headers": {"Location": "https://localhost/x"}}, "of the local network"),
    "to another port": ({"status": 302, "headers": {"Location": "http://127.0.0.1:1/x"}}, "it is no HTTPS"),
    "to a file": ({"status": 302, "headers": {"Location": "file:///etc/passwd"}}, "it is no HTTPS"),
    "in a circle": ({"status": 302, "headers": {"Location": "/files/x.bin"}}, "it redirects more than 5 times"),
}  # fmt: skip


@pytest.mark.parametrize(("answer", "said"), HOSTILE.values(), ids=HOSTILE)
def test_a_hostile_answer_is_refused_and_leaves_no_file(
    answer: dict[str, Any], said: str, served: Mirror, tmp_path: Path
) -> None:
    file = listed(served)
    served.answers["/files/x.bin"] = Answer(**({"content": CONTENT} | answer))
    refused(served, file, tmp_path, said)


def test_ten_gigabytes_are_refused_before_anything_is_asked(served: Mirror, tmp_path: Path) -> None:
    refused(served, replace(listed(served), size=10_000_000_000), tmp_path, "the list says 10.0 GB; at most 2.1 fit")
    assert not served.asked


def test_a_list_cannot_lead_into_the_local_network(served: Mirror, tmp_path: Path) -> None:
    file = replace(listed(served), base="https://10.0.0.1/")
    refused(served, file, tmp_path, "https://10.0.0.1/x.bin: it is not fetched, because it is an address of the local")


def test_a_slow_server_is_given_up_for_another_connection(
    served: Mirror, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = iter(range(0, 10**6, 100))
    monkeypatch.setattr("training.imports.download.time.monotonic", lambda: next(clock))
    monkeypatch.setattr("training.imports.download.SLOWEST", 10**9)
    refused(served, listed(served), tmp_path, r"could not be fetched \(\d+ bytes in \d+ seconds\)")
    assert len(served.asked) == FAILURES


def offer_of(served: Mirror, student: Path, **more: Any) -> Offer:
    index = served.list({"data": served.add_firefox(student, **more)})
    return choose(offers([Address(index)], pytest.fail), "en", "fr", Wanted(), "en")[0]


@pytest.mark.slow
def test_a_model_is_fetched_added_and_known_again(served: Mirror, student: Path, tmp_path: Path) -> None:
    offer = offer_of(served, student)
    assert str(offer).startswith("en → fr: firefox tiny 3.0, 0 MB, MPL-2.0")
    assert not is_installed(offer, tmp_path)
    folder, _ = get_model(offer, tmp_path, AddOptions())
    imported = load_bundle(folder).manifest.card["imported"]
    assert imported["published"]["version"] == "3.0"
    assert is_installed(offer, tmp_path)
    assert not is_installed(offer_of(served, student, version="3.1"), tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["firefox-en-fr"]
    before = load_bundle(folder).digest
    damaged = offer_of(served, student, version="3.1")
    for path, answer in served.answers.items():
        if path.endswith("vocab.zst"):
            answer.content = answer.content[:-5] + b"wrong"
    with pytest.raises(ImportRefused, match="SHA-256"):
        get_model(damaged, tmp_path, AddOptions())
    assert load_bundle(folder).digest == before
    asked = len(served.asked)
    served.add_firefox(student)  # whole again
    get_model(damaged, tmp_path, AddOptions())
    assert load_bundle(folder).manifest.version == "2"
    assert sum("model.zst" in path for path, _ in served.asked[asked:]) == 0  # it was there, whole
    assert not (tmp_path / DOWNLOADS).exists()


def test_without_a_network_one_sentence_says_what_to_do(tmp_path: Path) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{closed.getsockname()[1]}/list.json"
    with pytest.raises(ImportRefused, match=r"it cannot be reached .*TRANSLUCENT_MODELS_INDEX names another address"):
        offers([Address(url)], pytest.fail)


@pytest.mark.slow
def test_the_three_commands_of_the_docs_lead_from_nothing_to_a_translation_with_its_attention(
    served: Mirror, student: Path, tmp_path: Path
) -> None:
    """Without PyTorch, from a mirror instead of Mozilla's address; the operator's page adds one more model."""
    index = got_as_the_docs_say(served, student, tmp_path)
    operated = {"TRANSLUCENT_ADMIN_TOKEN": TOKEN, "TRANSLUCENT_MODELS_INDEX": index}
    serve = ("-m", "service", "serve", "--models-dir", str(tmp_path / "models"), "--device", "cpu")
    with running(*serve, **operated) as server:
        body = {"q": "The dog sees the house.", "source": "en", "target": "es"}
        assert httpx.post(f"{server.url}/translate", json=body).json()["translatedText"]
        asked_for = {"text": body["q"], "source": "en", "target": "es"}
        assert httpx.post(f"{server.url}/attention", json=asked_for).json()["weights"]
        model = httpx.get(f"{server.url}/models").json()["models"][0]
        assert model["pairs"] == [{"source": "en", "target": "es", "default": True, "reason": "as the only model"}]
        assert "firefox-fr-es is the default" in added_by_the_operator(server.url)
        assert httpx.post(f"{server.url}/translate", json=body | {"source": "fr"}).json()["translatedText"]


def got_as_the_docs_say(served: Mirror, student: Path, tmp_path: Path) -> str:
    """Type the command of the docs, and others like it; return the address of a list with one more pair."""
    typed = [command.text for command in commands("docs/import.md")]
    get = next(text for text in typed if text.startswith("translucent models get"))
    german, italian, french = (served.add_firefox(student, (source, "es")) for source in ("de", "it", "fr"))
    for record in german:
        record["attachment"]["hash"] = record["decompressedHash"] = "0" * 64
    index = served.list({"data": [*served.add_firefox(student, ("en", "es")), *german, *italian]})
    environment = variables(tmp_path, TRANSLUCENT_MODELS_INDEX=index, TRANSLUCENT_MODELS_DIR="models")
    asked = done(tmp_path, environment, *get.split())
    assert (asked.returncode, asked.stdout) == (2, "en → es: firefox tiny 3.0, 0 MB, MPL-2.0\n")
    assert "--yes" in asked.stderr
    got = done(tmp_path, environment, *get.split(), "--yes")
    assert got.returncode == 0, got.stderr
    assert "en → es: firefox-en-es is the default, as the only model." in got.stdout
    again = done(tmp_path, environment, *get.split())
    assert (again.returncode, again.stdout) == (0, "en → es: is there already\n")
    away = environment | {"TRANSLUCENT_MODELS_INDEX": "http://127.0.0.1:1/list.json"}
    kept = done(tmp_path, away, "translucent", "models", "get", "en-es", "--yes", "--if-missing")
    assert (kept.returncode, kept.stdout + kept.stderr) == (0, "")  # as `make serve MODELS=en-es` without a network
    missing = done(tmp_path, away, "translucent", "models", "get", "es-en", "--yes", "--if-missing")
    assert missing.returncode == 1
    assert "cannot be reached" in missing.stderr
    assert "Traceback" not in missing.stderr
    everything = done(tmp_path, environment, "translucent", "models", "available", "--to", "es")
    assert everything.stdout == "".join(f"{source} → es: firefox tiny 3.0 (1 MB)\n" for source in ("de", "en", "it"))
    all_to = done(tmp_path, environment, "translucent", "models", "get", "--all-to", "es", "--yes")
    assert all_to.returncode == 1
    assert "its SHA-256 or size is not the one of the list" in all_to.stderr
    assert "en → es: is there already" in all_to.stdout
    assert "it → es: firefox-it-es is the default" in all_to.stdout
    return served.list({"data": [*served.add_firefox(student, ("en", "es")), *italian, *french]})


def added_by_the_operator(url: str) -> str:
    """Add the one model that a server offers as its page does; return what the server says then."""
    headers = {"Authorization": f"Bearer {TOKEN}"}
    with httpx.Client(base_url=f"{url}/v2/repository", headers=headers, timeout=60) as client:
        (offered,) = client.get("/published").json()["models"]
        assert (offered["source_name"], offered["model"]) == ("French", "firefox tiny 3.0")
        state = client.post("/published", json={"source": "fr", "target": "es"}).json()
        while state["state"] == "running":
            time.sleep(0.2)
            state = client.get("/published/state").json()
    return str(state["message"])
