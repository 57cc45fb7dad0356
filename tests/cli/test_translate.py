"""`translucent translate` writes one line for each line, whatever is in it, in order, and says what it cannot use."""

import io
import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from service.cli import open_models
from service.cli import translate as bulk
from service.cli.find_model import ModelQuery
from service.cli.open_models import BulkOptions
from service.cli.translate import run
from service.engine.errors import BundleMissing, InputTooLong, InvalidInput, InvalidOption, InvalidText
from service.engine.translation.translator import Translator
from service.glossaries.checks import InvalidGlossary
from tests.support.fake_worker import MirrorWorker, translator_of
from tests.support.manifests import write_bundle

WARM_UPS = 2
Translate = Callable[..., str]
MIRROR = ModelQuery("mirror")
LINES = "I lost.\n\n  He's calm.  Go!\r\n😀 12:30\nete\u0301 \u2028 中\n\t\n"


@pytest.fixture
def worker() -> MirrorWorker:
    return MirrorWorker()


@pytest.fixture
def translate(tmp_path: Path, worker: MirrorWorker, monkeypatch: pytest.MonkeyPatch) -> Translate:
    """Run over a file with this content and give what is written; `targets` go into a target file."""

    def open_mirror(*_: object) -> Translator:
        return translator_of(worker, limit=64)

    monkeypatch.setattr(open_models, "open_translator", open_mirror)
    folder = write_bundle(tmp_path / "models" / "mirror")

    def translate(content: str | bytes, targets: str | None = None, **changes: Any) -> str:
        (tmp_path / "in").write_bytes(content.encode() if isinstance(content, str) else content)
        options: dict[str, Any] = {"wanted": MIRROR, "models_dir": folder.parent, "input": tmp_path / "in"}
        if targets is None:
            options["output"] = tmp_path / "out"
        else:
            (tmp_path / "targets").write_bytes(targets.encode())
            options["target_file"] = tmp_path / "targets"
        run(BulkOptions(**(options | changes)))
        return "" if targets is not None else (tmp_path / "out").read_bytes().decode()

    return translate


def test_one_line_out_for_each_line_in(translate: Translate) -> None:
    expected = LINES.replace("e\u0301", "é").replace("calm.  Go", "calm. Go").replace(" \u2028 ", " ")
    assert translate(LINES, split_sentences=False) == expected
    assert translate(LINES) == LINES.replace("e\u0301", "é"), "all that lies between sentences is kept"
    assert [translate(content) for content in ("", "\n", "a", "\ufeffa\nb\n")] == ["", "\n", "a\n", "a\nb\n"]


def test_the_order_is_kept_over_many_windows(translate: Translate, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bulk, "WINDOW_LINES", 50)
    monkeypatch.setattr(bulk, "CHUNK_LINES", 7)
    content = "".join(f"{'go ' * (number * 7 % 11)}cat{number}\n" for number in range(333))
    assert translate(content) == content


def test_scores_and_alignments_have_a_line_for_each_line(translate: Translate, tmp_path: Path) -> None:
    files = {name: tmp_path / name for name in ("scores", "alignments", "words")}
    translate("I lost.\n\n- I'm  home. Go!\n😀\n", **files)
    assert files["alignments"].read_text() == "0-0 1-1 2-2\n\n0-0 1-1 2-2 3-3 4-4 5-5\n\n"
    assert files["words"].read_text() == "I lost . ||| I lost .\n\nI 'm home . Go ! ||| I 'm home . Go !\n\n"
    scores = [float(line) for line in files["scores"].read_text().splitlines()]
    assert scores == pytest.approx([-0.5, 0, -0.5, 0])


def test_alternatives_are_lines_after_a_tab_and_json_has_a_line_for_each_text(translate: Translate) -> None:
    assert translate("I lost it\n\n", alternatives=2) == "I lost it\n\tI lost\n\tI\n\n"
    first, empty = map(json.loads, translate("I lost « it »\n\n", alternatives=1, as_json=True).splitlines())
    assert first == {
        "source": "I lost « it »",
        "text": "I lost « it »",
        "alternatives": ["I lost « it"],
        "quality": first["quality"],
    }
    assert (empty["text"], empty["alternatives"], empty["quality"]) == ("", [], None)


def test_given_translations_are_scored_and_aligned_as_they_are(
    translate: Translate, worker: MirrorWorker, tmp_path: Path
) -> None:
    translate("I lost .\n\nGo.\n", "J'ai  perdu .\nx\nVa\n", scores=tmp_path / "s", alignments=tmp_path / "a")
    links = [line.split() for line in (tmp_path / "a").read_text().splitlines()]
    assert [sorted(link.split("-")[1] for link in line) for line in links] == [["0", "1", "2", "3"], [], ["0"]]
    scores = (tmp_path / "s").read_text().splitlines()
    assert (len(scores), scores[1]) == (3, "0.000000")
    assert len(worker.forced) == 2


def test_what_cannot_be_used_is_named(translate: Translate, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="the input goes beyond line 1 and the target file ends after line 1"):
        translate("a\nb\n", "a\n", scores=tmp_path / "s")
    with pytest.raises(InputTooLong, match=r"^Line 2: text has"):
        translate("a\n" + "word " * 80 + "\n", "a\nb\n", scores=tmp_path / "s")
    with pytest.raises(InvalidText, match=r"Line 2 of the input is not UTF-8 \(byte 3"):
        translate(b"good\nba\xff\n")
    with pytest.raises(InvalidInput, match=r"the input .*nowhere cannot be read: No such file"):
        translate("", input=tmp_path / "nowhere")
    with pytest.raises(InvalidInput, match=r"--output .* cannot be written"):
        translate("a", output=tmp_path / "no" / "folder")
    with pytest.raises(BundleMissing, match="there are no models in"):
        translate("a\n", wanted=ModelQuery("other"), models_dir=tmp_path / "none")


def test_standard_input_and_output_are_the_default_and_a_dash(
    translate: Translate, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    monkeypatch.chdir(tmp_path)
    file, dash = tmp_path / "file", Path("-")
    file.write_text("I lost.\n")
    cases: tuple[tuple[dict[str, Any], bytes], ...] = (
        ({}, rb"I lost\.\n"),
        ({"input": dash, "output": dash}, rb"I lost\.\n"),
        ({"input": dash, "output": tmp_path / "out", "alignments": dash}, rb"0-0 1-1 2-2\n"),
        ({"input": dash, "output": tmp_path / "out", "scores": dash}, rb"-0\.500000\n"),
        ({"input": file, "target_file": dash, "alignments": dash}, rb"\d-\d \d-\d \d-\d\n"),
    )
    for changes, expected in cases:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"I lost.\n")))
        run(BulkOptions(MIRROR, tmp_path / "models", **changes))
        assert re.fullmatch(expected, capfdbinary.readouterr().out), changes
    assert not dash.exists()


def test_texts_take_the_place_of_lines(
    translate: Translate, tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    texts = ("I lost. Go!", "one\n\ntwo")
    run(BulkOptions(MIRROR, tmp_path / "models", texts, scores=tmp_path / "s"))
    assert capfdbinary.readouterr().out == b"I lost. Go!\none\n\ntwo\n"
    assert len((tmp_path / "s").read_text().splitlines()) == 2


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"target_file": Path("t")}, "set --scores or --alignments"),
        ({"target_file": Path("t"), "scores": Path("s"), "output": Path("o")}, "translates nothing"),
        ({"texts": ("a",), "input": Path("f")}, "not both"),
        ({"target_file": Path("t"), "scores": Path("s"), "alternatives": 2}, "translates nothing"),
        ({"target_file": Path("t"), "scores": Path("s"), "as_json": True}, "translates nothing"),
        ({"alignments": Path("-")}, "Standard output can be used once"),
        ({"target_file": Path("-"), "scores": Path("s")}, "Standard input can be used once"),
        ({"input": Path("f"), "output": Path("./f")}, "named twice"),
        ({"scores": Path("f"), "alignments": Path("f")}, "named twice"),
    ],
)
def test_options_that_make_no_sense_together(tmp_path: Path, changes: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        run(BulkOptions(ModelQuery("m"), tmp_path, **changes))


def test_a_model_may_be_given_by_its_folder(translate: Translate, tmp_path: Path) -> None:
    folder = ModelQuery(str(tmp_path / "models" / "mirror"))
    assert translate("a\n", wanted=folder, models_dir=tmp_path / "none") == "a\n"


def test_the_beam_is_the_models_own_unless_given(translate: Translate, worker: MirrorWorker) -> None:
    for given, beam_size in ((None, 4), (2, 2)):
        translate("a\n", beam_size=given)
        assert worker.jobs[-1].search.beam_size == beam_size
    with pytest.raises(InvalidOption, match="beam_size is 9"):
        translate("a\n", beam_size=9)


@pytest.fixture
def two_legs(tmp_path: Path, translate: Translate) -> dict[str, Any]:
    """Write the bundles of both legs; their translations of a sentence are the sentence itself."""
    write_bundle(tmp_path / "two/first", name="first", source_languages=["de"], target_language="en")
    write_bundle(tmp_path / "two/second", name="second", source_languages=["en"], target_language="it")
    return {"wanted": ModelQuery(None, "de", "it", pivot="en"), "models_dir": tmp_path / "two"}


def test_two_legs_write_the_lines_the_scores_and_the_alignments_of_both(
    translate: Translate,
    two_legs: dict[str, Any],
    worker: MirrorWorker,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    content = "I lost. He went\n\nGo!\n"
    files = {name: tmp_path / f"{name}.alone" for name in ("alignments", "scores")}
    translate(content, **files)
    links = files["alignments"].read_text().splitlines()
    once = len(worker.jobs)
    files = {name: tmp_path / f"{name}.two" for name in files}
    assert translate(content, **two_legs, **files) == content
    assert len(worker.jobs) - once == 2 * once  # both legs warm up and translate
    assert "translucent: de → en → it, by first and second" in capsys.readouterr().err
    assert files["alignments"].read_text().splitlines() == links == ["0-0 1-1 2-2 3-3 4-4", "", "0-0 1-1"]
    assert files["scores"].read_text().splitlines()[1] == "0.000000"


def test_given_translations_and_glossaries_do_not_go_through_two_legs(
    translate: Translate, two_legs: dict[str, Any], tmp_path: Path
) -> None:
    with pytest.raises(InvalidOption, match="de → it itself"):
        translate("I lost.\n", "I lost.\n", **two_legs, scores=tmp_path / "scores")
    terms = tmp_path / "terms.tsv"
    terms.write_text("Haus\tcasa\n", encoding="utf-8")
    with pytest.raises(InvalidGlossary, match="Translate in two calls"):
        translate("Hallo.\n", **two_legs, glossary=terms)


def test_a_glossary_of_a_file_reaches_the_search(translate: Translate, tmp_path: Path, worker: MirrorWorker) -> None:
    terms = tmp_path / "terms.tsv"
    terms.write_text("calm\tcalme\n", encoding="utf-8")
    translate("I lost.\nHe's calm.\n", glossary=terms)
    constrained = [job.source_ids for job in worker.jobs[WARM_UPS:] if job.values is not None]
    free = [job.source_ids for job in worker.jobs[WARM_UPS:] if job.values is None]
    assert constrained
    assert free, "only the sentence with the term is constrained"
    assert not {*constrained} & {*free}
    terms.write_text("calm\n", encoding="utf-8")
    with pytest.raises(InvalidGlossary, match=r"terms\.tsv"):
        translate("He's calm.\n", glossary=terms)
