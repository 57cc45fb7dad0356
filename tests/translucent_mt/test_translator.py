"""The Python face with a real model in this process and with a real server: the same calls, the same results."""

import asyncio
import json
import math
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.support.paths import MODELS, ROOT
from tests.support.polling import PATIENCE
from tests.support.server import free_port, running
from translucent_mt import AsyncTranslator, EngineError, InvalidInput, ServerError, Translation, Translator

NAME = "transformer-en-de"
TEXT, GERMAN = "A man is sleeping.", "Ein Mann schläft."
TWO = "A man is sleeping. A dog runs."


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with running("-m", "service", "serve", "--models-dir", str(MODELS), "--device", "cpu") as server:
        yield server.url


@pytest.fixture(scope="module")
def local() -> Iterator[Translator]:
    with Translator.load(str(MODELS / NAME)) as translator:
        yield translator


@pytest.fixture(scope="module")
def remote(url: str) -> Iterator[Translator]:
    with Translator.connect(url, source="en", target="de", model=NAME) as translator:
        yield translator


@pytest.fixture(params=["local", "remote"])
def translator(request: pytest.FixtureRequest) -> Translator:
    found: Translator = request.getfixturevalue(request.param)
    return found


def test_a_result_has_text_tokens_scores_and_alignment(translator: Translator) -> None:
    result = translator(TEXT)
    assert str(result) == result.text
    assert "schläft" in result.text
    assert [token.text for token in result.tokens if not token.special]
    assert "".join(result.text[token.start : token.end] for token in result.tokens) == result.text.replace(" ", "")
    assert len(result.token_logprobs) == len(result.tokens)
    assert result.score == pytest.approx(sum(result.token_logprobs) / len(result.tokens), abs=1e-4)
    assert (0, 0) in result.sentences[0].word_alignment
    assert result.language == "en"


def test_both_say_the_same(local: Translator, remote: Translator) -> None:
    for text in (TEXT, TWO, ""):
        ours, theirs = local(text, alternatives=1), remote(text, alternatives=1)
        assert (ours.text, ours.alternatives) == (theirs.text, theirs.alternatives)
        assert ours.tokens == theirs.tokens
        np.testing.assert_allclose(ours.token_logprobs, theirs.token_logprobs, atol=1e-6)
        assert ours.quality == pytest.approx(theirs.quality, abs=1e-6)  # an answer has six digits
    ours_map, theirs_map = local.attention(TEXT), remote.attention(TEXT)
    np.testing.assert_allclose(ours_map.weights, theirs_map.weights, atol=1e-6)
    assert ours_map.plot().svg == theirs_map.plot().svg
    assert local.model == remote.model


def test_the_attention_is_that_of_the_translation(translator: Translator) -> None:
    result = translator(TEXT)
    attention = result.attention
    assert attention.axes == ("target", "source")
    assert attention.weights.shape == (len(result.tokens), len(result.sentences[0].source_tokens))
    assert attention.target == result.text
    assert result.attention is attention  # computed once
    every = translator.attention(result, layer="all", head="all", tokens="word", kind="encoder")
    assert every.axes == ("layer", "head", "source", "source")
    np.testing.assert_allclose(every.weights.sum(-1), 1, atol=1e-3)


def test_a_text_of_two_sentences_has_two_attentions(translator: Translator) -> None:
    result = translator(TWO)
    assert len(result.sentences) == 2
    with pytest.raises(InvalidInput, match=r"2 sentences.*\.sentences\[0\]\.attention"):
        _ = result.attention
    assert result.sentences[1].attention.source == "A dog runs."


def test_a_given_translation_is_scored(translator: Translator) -> None:
    own = translator(TEXT)
    good, bad = translator.score([TEXT, TEXT], [own.text, "Zwei Hunde."])
    assert float(good) > float(bad)
    assert good.score == pytest.approx(own.score, abs=1e-4)
    assert min(good.token_ranks) == 1
    assert max(bad.token_ranks) > max(good.token_ranks)
    assert translator.score(TEXT, "Zwei Hunde.").score == pytest.approx(bad.score)
    with pytest.raises(InvalidInput, match="two lists of the same length"):
        translator.score([TEXT, TEXT], [GERMAN])


def test_a_batch_is_the_texts_one_by_one_and_many_texts_are_several_requests(translator: Translator) -> None:
    texts = [TEXT, "", "A dog runs."] * 15
    batch = translator(text for text in texts)
    assert [each.text for each in batch] == [translator(text).text for text in texts[:3]] * 15
    table = batch.to_pandas()
    assert list(table.columns) == ["source", "text", "score", "quality"]
    assert table.shape == (45, 4)
    assert math.isnan(batch[1].score)


def test_options_of_a_call_are_obeyed(translator: Translator) -> None:
    result = translator(TEXT, details=False)
    assert (result.text, result.sentences) == (translator(TEXT).text, ())
    with pytest.raises(InvalidInput, match="details=False"):
        _ = result.attention
    assert "Kerl" in translator(TEXT, glossary={"man": "Kerl"}).text
    with pytest.raises(InvalidInput, match="term"):
        translator(TEXT, glossary={"": "Kerl"})


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda one: one(TEXT, beams=4), "There is no option 'beams'; did you mean beam_size?"),
        (lambda one: one(TEXT, values="kept"), "values cannot be 'kept'; did you mean keep?"),
        (lambda one: one.attention(TEXT, kind="cros"), "kind cannot be 'cros'; did you mean cross?"),
        (lambda one: one.attention(TEXT, tokens="letters"), "tokens cannot be 'letters'; it must be one of subword"),
        (lambda one: one.attention(TEXT, alternatives=2), "There is no option 'alternatives'"),
        (lambda one: one.attention(TEXT).plot(view="heads"), "view cannot be 'heads'; it must be one of heatmap"),
        (lambda one: one.attention(TEXT).plot(theme="drak"), "theme cannot be 'drak'; did you mean dark?"),
        (lambda one: one.attention(TEXT, TEXT).search, "view='steps'"),
        (lambda one: one(TEXT, beam_size=99), "beam_size"),
        (lambda one: one.attention("word " * 2000), "tokens"),
        *((lambda one, wrong=wrong: one(wrong), "text") for wrong in (None, 7, [TEXT, 7])),
    ],
)
def test_errors_are_the_same_classes_and_a_misspelt_option_is_named_with_the_nearest_one(
    translator: Translator, call: Callable[[Any], object], message: str
) -> None:
    with pytest.raises(InvalidInput, match=re.escape(message)):
        call(translator)


def test_the_search_is_recorded_with_the_view_of_steps(local: Translator, remote: Translator) -> None:
    shown = local.attention(TEXT, view="steps", beam_size=2)
    here, there = shown.search, remote.attention(TEXT, view="steps", beam_size=2).search
    assert here.beam_size == there.beam_size == 2
    assert [step.token for step in here.trace.hypotheses] == [step.token for step in there.trace.hypotheses]
    assert (here.trace.best, dict(here.pieces)) == (there.trace.best, there.pieces)
    assert {"live", "finished", "pruned"} >= {step.outcome for step in here.trace.hypotheses}
    written = [here.pieces[here.trace.hypotheses[place].token] for place in here.trace.best[1:]]
    assert "".join(written).replace("▁", " ").removesuffix("</s>").strip() == shown.target


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"model": "Helsinki-NLP/opus-mt-en-fr"}, "python -m training import Helsinki-NLP/opus-mt-en-fr"),
        ({"model": NAME, "devise": "cpu"}, r"There is no option 'devise'; did you mean device\?"),
        ({"model": "no-such-model"}, "neither a bundle's folder nor"),
        ({"model": NAME, "device": "cpu", "precision": "fp32"}, "no fp32 graphs"),
    ],
)
def test_what_cannot_be_loaded_is_said(arguments: dict[str, str], message: str) -> None:
    with pytest.raises(EngineError, match=message):
        Translator.load(models_dir=str(MODELS), **arguments)  # type: ignore[arg-type]


def test_a_model_of_several_source_languages_asks_for_one(tmp_path: Path) -> None:
    shutil.copytree(MODELS / "transformer-de-en", tmp_path / "several")
    manifest = json.loads((tmp_path / "several/manifest.json").read_text("utf-8"))
    manifest |= {"name": "several", "source_languages": ["de", "fr"]}
    (tmp_path / "several/manifest.json").write_text(json.dumps(manifest), "utf-8")
    with pytest.raises(EngineError, match="translates from de, fr: choose with source="):
        Translator.load("several", models_dir=str(tmp_path))


@pytest.mark.parametrize(
    ("missing", "code"),
    [
        ("httpx", "from translucent_mt import Translator; Translator.connect('http://localhost:1')"),
        ("pandas", "from translucent_mt.results import Translations; Translations().to_pandas()"),
        ("torch", "import runpy; runpy.run_module('training', run_name='__main__')"),
    ],
)
def test_what_is_not_installed_is_named_with_the_command_that_installs_it(missing: str, code: str) -> None:
    found = subprocess.run(
        [sys.executable, "-c", f"import sys; sys.modules[{missing!r}] = None; {code}"],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert found.returncode != 0
    last = found.stderr.strip().splitlines()[-1]
    assert missing in last
    assert f"{sys.executable} -m pip install" in last


def test_tables_and_pictures(translator: Translator, tmp_path: Path) -> None:
    result = translator(TEXT)
    table = result.to_pandas()
    assert list(table["token"]) == [token.special or token.text for token in result.tokens]
    weights = result.attention.to_pandas()
    assert weights.shape == result.attention.weights.shape
    long = translator.attention(result, layer="all", head="all").to_pandas()
    assert long.index.names == ["layer", "head", "token"]
    picture = result.attention.plot(view="lines")
    assert picture.spec["$schema"].endswith("v6.json")
    for name, start in (("a.svg", b"<svg"), ("a.png", b"\x89PNG"), ("a.html", b"<!doctype"), ("a.json", b"{")):
        assert picture.save(tmp_path / name).read_bytes().startswith(start)
    assert result.attention.save(tmp_path / "a.csv").read_text("utf-8").startswith("map,layer")
    assert np.load(result.attention.save(tmp_path / "a.npz"))
    with pytest.raises(InvalidInput, match=r"\.svg"):
        picture.save(tmp_path / "a.gif")


def test_two_translations_and_two_models_are_compared(local: Translator) -> None:
    first = local.attention(TEXT, GERMAN, tokens="word")
    second = local.attention(TEXT, "Ein Kerl schläft.", tokens="word")
    assert "<svg" in first.contrast(second).svg
    with Translator.load("bahdanau-en-de", models_dir=str(MODELS)) as other:
        compared = first.compare(other.attention(TEXT, GERMAN, tokens="word"))
    assert "difference" in compared.svg
    with pytest.raises(InvalidInput, match="two translations of one text"):
        first.contrast(local.attention("A dog runs.", tokens="word"))


def test_a_notebook_shows_escaped_html_and_pictures(translator: Translator) -> None:
    shown = translator("<b>A man</b> & a dog.")._repr_html_() + translator([TEXT, "<i>"])._repr_html_()
    assert "&lt;b&gt;" in shown
    assert not any(tag in shown for tag in ("<b>A man", "<script"))
    result = translator(TEXT)
    card = result._repr_html_()
    assert card.count("<span title=") == len([token for token in result.tokens if not token.special])
    assert all(words in card for words in ("score", "aligned with man"))
    assert translator(TEXT).attention._repr_svg_().startswith("<svg")
    assert NAME in repr(translator)


async def test_threads_may_share_a_translator_also_beside_a_running_loop(local: Translator) -> None:
    found: list[Translation] = []
    threads = [threading.Thread(target=lambda: found.append(local(TEXT))) for _ in range(8)]
    for thread in threads:
        thread.start()
    own = local(TEXT).text
    for thread in threads:
        thread.join(PATIENCE)
    assert [each.text for each in found] == [own] * 8


@pytest.mark.parametrize("place", ["local", "remote"])
async def test_the_awaited_translator(place: str, url: str) -> None:
    if place == "local":
        opened = AsyncTranslator.load(str(MODELS / NAME))
    else:
        opened = AsyncTranslator.connect(url, source="en", target="de", model=NAME)
    async with await opened as translator:
        result, batch = await asyncio.gather(translator(TEXT), translator([TEXT, TWO]))
        assert (batch[0].text, len(batch)) == (result.text, 2)
        with pytest.raises(InvalidInput, match=r"await translator\.attention"):
            _ = result.attention
        attention = await translator.attention(result)
        assert attention.target == result.text
        assert (await translator.score(TEXT, result.text)).score == pytest.approx(result.score, abs=1e-4)


def test_a_server_with_several_models_needs_a_choice_and_auto_is_one(url: str) -> None:
    with Translator.connect(url, source="auto", target="de") as translator:
        result = translator("The men are sleeping in the street.")
        assert result.language == "en"
        assert result.attention.source == result.source
    with pytest.raises(InvalidInput, match=r"More than one model .* en → de"):
        Translator.connect(url)
    with pytest.raises(InvalidInput, match=r"No model .* en → de"):
        Translator.connect(url, target="it")


def test_a_server_that_is_not_there_and_a_closed_translator_are_said() -> None:
    with pytest.raises(ServerError, match="cannot be reached"):
        Translator.connect(f"http://127.0.0.1:{free_port()}")
    closed = Translator.load(NAME, models_dir=str(MODELS), precision="int8")
    assert closed.model.precision == "int8"
    closed.close()
    closed.close()
    with pytest.raises(InvalidInput, match="closed"):
        closed(TEXT)


def test_importing_the_package_loads_nothing_and_a_forgotten_close_does_not_hold_the_process(local: Translator) -> None:
    program = (
        "import sys, translucent_mt\n"
        "assert not {'numpy', 'onnxruntime', 'service', 'httpx'} & set(sys.modules)\n"
        "assert 'Translator' in dir(translucent_mt)\n"
        f"translator = translucent_mt.Translator.load({str(MODELS / NAME)!r})\n"
        f"print(translator({TEXT!r}))\n"
        "assert not {'fastapi', 'uvicorn', 'torch', 'httpx', 'pandas'} & set(sys.modules)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stdout.strip(), done.stderr) == (0, local(TEXT).text, "")
