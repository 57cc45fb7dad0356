"""The check of a machine with a GPU, as far as a CPU goes: the GPU's graphs and decoder state, and what is reported."""

import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.corpora import ROOT, load_corpus
from benchmarks.engine.engines import on_device
from benchmarks.gpu import __main__ as gpu_check
from benchmarks.gpu.base_model import write_base
from benchmarks.gpu.checks import (
    PRECISION,
    Check,
    differences,
    exactness,
    invariance,
    nodes_of,
    open_on,
    parity,
    placement,
    provider,
    translated,
)
from benchmarks.gpu.memory import gpu_megabytes, gpu_name
from benchmarks.gpu.steps import MOST_BYTES, step_cost
from benchmarks.gpu.whole import write_whole
from service.bundle.load import Bundle, load_bundle
from service.engine import SearchOptions, SentenceJob, SentenceResult
from service.engine.jobs import Hypothesis
from service.engine.model.device import CPU, ModelSettings, Placement
from service.engine.model.onnx_model import OnnxModel
from service.engine.text.tokenizer import load_tokenizers
from tests.support.decoding import run_batch

TEXTS = ("I lost.", "Where is the station?", "The meeting was moved to Thursday because the room is too small.")


@pytest.fixture(scope="module")
def bundle() -> Bundle:
    return load_bundle(ROOT / "models" / "transformer-en-fr")


@pytest.fixture(scope="module")
def results(bundle: Bundle) -> list[SentenceResult]:
    tokenizer = load_tokenizers(bundle).source
    model = open_on(bundle, "cpu")
    assert provider(model, "cpu").passed
    assert not provider(model, "cuda").passed
    sources = [tokenizer.encode(text) for text in TEXTS]
    together = translated(model, bundle, sources, 4)
    alone = translated(model, bundle, sources, 4, together=False)
    assert invariance(alone, together, bundle, 4).passed
    return together


def test_the_graphs_for_a_gpu_translate_with_scores(bundle: Bundle, results: list[SentenceResult]) -> None:
    tokenizer = load_tokenizers(bundle).target
    assert tokenizer.locate(results[0].hypotheses[0].ids).text.startswith("J'ai perdu")
    assert all(result.scores is not None for result in results)


@pytest.mark.parametrize("name", ["transformer-en-fr", "bahdanau-en-fr"])
def test_slots_give_what_the_state_of_the_cpu_gives_and_cost_a_step_little(name: str, tmp_path: Path) -> None:
    bundle = load_bundle(ROOT / "models" / name)
    tokenizer = load_tokenizers(bundle).source
    sources = [tokenizer.encode(text) for text in (*TEXTS, *load_corpus("tatoeba", "en-fr", 200).sources[-30:])]
    whole = write_whole(bundle, tmp_path / name)
    for beam in (1, 4):
        assert exactness(whole, sources, beam).passed
        cost = step_cost(open_on(bundle, "cpu"), sorted(sources, key=len)[-8:], beam)
        assert (cost.sessions, cost.bound) == (1, 0)
        assert cost.bytes_of_row <= MOST_BYTES


def test_a_sentence_joins_one_that_runs_in_arrays_too_short_for_it(bundle: Bundle, tmp_path: Path) -> None:
    whole = write_whole(bundle, tmp_path / "whole")
    placement = Placement("cpu", CPU, PRECISION, whole.manifest.graphs[PRECISION])
    host, slots = (OnnxModel(whole, placement, ModelSettings(), rehearsed=rehearsed) for rehearsed in (False, True))
    encode = load_tokenizers(whole).source.encode
    jobs = [SentenceJob(encode(text), SearchOptions(2, max_length=60)) for text in (TEXTS[0], " ".join(3 * TEXTS))]
    found, expected = (run_batch(model, jobs, arrivals=[0, 3]) for model in (slots, host))
    assert len(jobs[1].source_ids) > 32
    assert [one.hypotheses[0] for one in found] == [one.hypotheses[0] for one in expected]


@pytest.mark.parametrize("name", ["transformer-en-fr", "bahdanau-en-fr"])
def test_the_profile_says_where_every_node_ran(name: str) -> None:
    nodes = nodes_of(load_bundle(ROOT / "models" / name), "cpu")
    assert placement(nodes, "cpu", name).passed
    elsewhere = placement(nodes, "cuda", name)
    assert not elsewhere.passed
    assert "MatMul" in elsewhere.measured


def test_another_translation_or_log_probability_fails_the_checks(bundle: Bundle, results: list[SentenceResult]) -> None:
    assert parity(results, results, bundle, 4).passed
    assert differences(results, results, bundle) == (1.0, 0.0, 0.0)
    other = [changed(results[0], ids=(5, *results[0].hypotheses[0].ids[1:])), *results[1:]]
    assert not parity(other, results, bundle, 4).passed
    logprobs = results[1].hypotheses[0].logprobs
    other = [results[0], changed(results[1], logprobs=(logprobs[0] - 0.2, *logprobs[1:])), results[2]]
    assert not parity(other, results, bundle, 4).passed
    assert not invariance(other, results, bundle, 4).passed


def changed(result: SentenceResult, **fields: object) -> SentenceResult:
    best: Hypothesis = replace(result.hypotheses[0], **fields)  # type: ignore[arg-type]
    return replace(result, hypotheses=(best, *result.hypotheses[1:]))


def test_the_memory_is_that_of_the_server_or_of_all_where_numbers_differ() -> None:
    def answer(command: Sequence[str]) -> str:
        return "NVIDIA H100, 555.42\n" if "--query-gpu" in command[1] else "41, 900\n42, 1500\n43, [N/A]\n"

    assert gpu_megabytes([42, 43], answer) == 1500
    assert gpu_megabytes([7], answer) == 2400  # in a container
    assert gpu_name(answer) == "NVIDIA H100, 555.42"


def test_a_failed_check_is_easy_to_see_in_the_report() -> None:
    text = gpu_check.report([Check("memory", True, "1 MB", "2 MB"), Check("parity", False, "3", "1")])
    assert "| memory | yes | 1 MB | 2 MB |" in text
    assert "| parity | **no** | 3 | 1 |" in text


def test_a_precision_may_name_its_device() -> None:
    assert on_device("float16@cuda") == ("float16", "cuda")
    assert on_device("int8") == ("int8", "cpu")


def test_without_a_gpu_the_check_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["benchmarks.gpu"])
    monkeypatch.setattr(gpu_check, "own_providers", lambda: ("CPUExecutionProvider",))
    with pytest.raises(SystemExit, match=r"There is no GPU to check.*--device cpu"):
        gpu_check.main()


def test_the_base_model_reads_text_and_its_translations_end_at_the_limit(bundle: Bundle, tmp_path: Path) -> None:
    base = load_bundle(write_base(bundle, tmp_path / "base", "fp16", vocabulary=10_500, layers=1))
    tokenizer = load_tokenizers(base).source
    model = open_on(base, "cpu")
    [result] = translated(model, base, [tokenizer.encode(TEXTS[0])], 1)
    assert base.manifest.vocabulary_size == 10_500
    assert len(result.hypotheses[0].ids) > len(TEXTS[0])
