"""``evaluate`` and ``align`` as a user types them, on a run folder with an untrained network."""

import inspect
import json
from pathlib import Path

import pytest
import torch
import yaml

from service.bundle.manifest import GoldRate
from tests.support.exported import recipe_of
from tests.support.tiny_networks import bahdanau, transformer
from tests.support.toy_runs import TOY
from tests.training.commands import call, lines
from training.cli.captions import captions
from training.data.subwords import train_tokenizer
from training.export.card_inputs import read_alignment, read_scores
from training.export.manifest import next_version
from training.networks.build import build_network
from training.recipe import BahdanauConfig, TransformerConfig, VocabularyConfig
from training.runs.folder import RunFolder

PAIRS = [
    ("I lost.", "J'ai perdu."),
    ("The house is big.", "La maison est grande."),
    ("w " * 40 + "end.", "v " * 38 + "fin."),
]


def folder(path: Path, network: TransformerConfig | BahdanauConfig) -> Path:
    """Return a run folder as after ``prepare`` and ``train``, with random parameters."""
    run = RunFolder(path)
    path.mkdir()
    recipe = recipe_of(network, path.name).model_copy(update={"max_tokens": 128})
    run.recipe.write_text(yaml.safe_dump(recipe.model_dump(mode="json")))
    tokenizer = train_tokenizer((text for pair in PAIRS for text in pair), VocabularyConfig(size=320, min_frequency=1))
    tokenizer.save(str(run.tokenizer))
    torch.manual_seed(0)
    torch.save(build_network(network, tokenizer.get_vocab_size()).state_dict(), run.averaged)
    rows = [("tatoeba", *PAIRS[0]), ("tatoeba", *PAIRS[1]), ("tldr", *PAIRS[2])]
    lines(run.development, map("\t".join, rows))
    return path


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("runs")
    folder(path / "transformer", transformer())
    folder(path / "rnn", bahdanau())
    return path


def test_evaluate_scores_a_test_set_and_writes_json(runs: Path, tmp_path: Path) -> None:
    test = lines(tmp_path / "set.tsv", map("\t".join, PAIRS))
    output, translations = tmp_path / "new" / "scores.json", tmp_path / "lines.txt"
    options = ["--beam-size", 2, "--edges", "10,30", "--translations", translations, "--family", "tokenised"]
    shown = call("evaluate", runs / "rnn", "--test", test, "--output", output, *options)
    assert "set: 3 sentences" in shown
    assert "case:lc" in shown
    assert "bigram BLEU" in shown
    content = json.loads(output.read_text())
    assert content["weights"] == "averaged.pt"
    (result,) = content["results"]
    assert (result["sentences"], result["beam_size"]) == (3, 2)
    assert [figure["metric"] for figure in result["scores"]] == ["BLEU", "chrF"]
    assert [bucket["sentences"] for bucket in result["by_length"]] == [2, 0, 1]
    assert [row["source"] for row in content["teaching"]] == ["Go.", "I lost.", "He's calm.", "I'm home."]
    assert len(translations.read_text().splitlines()) == 3
    figures = [(each.test_set, each.metric, each.precision, each.beam_size) for each in read_scores(output)]
    assert figures == [("set", "BLEU", "pytorch", 2), ("set", "chrF", "pytorch", 2)]


def test_evaluate_without_a_test_set_looks_at_the_development_data(runs: Path) -> None:
    shown = call("evaluate", runs / "transformer", "--beam-size", 1)
    assert "development/tatoeba: 2 sentences" in shown
    assert "development/tldr: 1 sentences" in shown


def test_a_folder_without_a_network_is_named(tmp_path: Path, runs: Path) -> None:
    with pytest.raises(FileNotFoundError, match="is not a run folder"):
        call("evaluate", tmp_path)
    empty = folder(tmp_path / "empty", bahdanau())
    RunFolder(empty).averaged.unlink()
    with pytest.raises(FileNotFoundError, match="train first"):
        call("evaluate", empty)


@pytest.fixture
def aligned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Work where source, target and gold files are; one pair is empty on the target side."""
    monkeypatch.chdir(tmp_path)
    Path("a.en").write_text("I lost .\nHello\nThe house\n")
    Path("a.fr").write_text("J'ai perdu .\n\nLa maison\n")
    Path("a.gold").write_text("1-1 2-2 3-3\n\n1-1 2p2\n")


PLACES = ("--source", "a.en", "--target", "a.fr")


@pytest.mark.usefixtures("aligned")
def test_align_searches_the_best_reading(runs: Path) -> None:
    files = ["--gold", "a.gold", "--output", "aer.json", "--alignments", "links"]
    shown = call("align", runs / "transformer", *PLACES, *files)
    readings = json.loads(Path("aer.json").read_text())["readings"]
    assert len(readings) == 2 * 2 * 2  # layers, heads, steps
    assert 0 <= readings[0]["aer"] <= readings[-1]["aer"] <= 100
    assert f"AER {readings[0]['aer']:.1f}" in shown
    best = read_alignment(Path("aer.json"))
    assert (best.aer, best.step, best.measured_on) == (readings[0]["aer"], readings[0]["step"], "a.gold")
    assert (best.against, best.gold) == ("gold", GoldRate(aer=readings[0]["aer"], measured_on="a.gold"))
    first, second, _ = Path("links").read_text().splitlines()
    assert second == ""
    assert all("-" in entry for entry in first.split())


@pytest.mark.usefixtures("aligned")
def test_align_measures_one_given_reading(runs: Path) -> None:
    shown = call("align", runs / "rnn", *PLACES, "--gold", "a.gold", "--reading", "0,0,consume")
    assert shown.startswith("layer 0, head 0, read at the step that consumes it: AER ")
    call("align", runs / "rnn", *PLACES, "--reading", "0,0,produce,0.9", "--alignments", "links")
    assert Path("links").read_text() == "\n\n\n"  # an untrained network is sure of nothing


@pytest.mark.usefixtures("aligned")
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--reading", "best"), "must look like 1,0,consume"),
        (("--gold", "a.gold", "--reading", "3,0,produce"), "no layer 3, head 0"),
        ((), "needs --gold"),
        (("--target", "short", "--gold", "a.gold"), "3 source lines, but 1 target lines"),
    ],
)
def test_align_says_what_it_lacks(arguments: tuple[str, ...], message: str, runs: Path) -> None:
    Path("short").write_text("un\n")
    with pytest.raises(ValueError, match=message):
        call("align", runs / "rnn", *PLACES, *arguments)


@pytest.mark.parametrize("content", ["{", "[]", "{}", '{"readings": []}', '{"readings": [{"layer": 1}], "x": 0}'])
def test_export_names_a_report_it_cannot_read(tmp_path: Path, content: str) -> None:
    path = tmp_path / "odd.json"
    path.write_text(content)
    with pytest.raises(ValueError, match=r"odd\.json must be a report of `align --gold`"):
        read_alignment(path)
    path.write_text('{"results": [{}]}')
    with pytest.raises(ValueError, match=r"odd\.json must be a report of `evaluate`"):
        read_scores(path)


def test_the_export_holds_gold_beside_silver(tmp_path: Path) -> None:
    def report(name: str, against: str, aer: float, head: int = 3) -> Path:
        reading = {"layer": 0, "head": head, "step": "consume", "threshold": 0.5, "aer": aer}
        path = tmp_path / name
        path.write_text(json.dumps({"measured_on": name, "against": against, "readings": [reading]}))
        return path

    silver, gold = report("silver.json", "silver", 10.2), report("hansards.json", "gold", 13.9)
    found = read_alignment(silver, gold)
    assert (found.aer, found.against, found.gold) == (10.2, "silver", GoldRate(aer=13.9, measured_on="hansards.json"))
    assert read_alignment(silver).gold is None
    assert read_alignment(gold).gold == GoldRate(aer=13.9, measured_on="hansards.json")
    with pytest.raises(ValueError, match="measures another alignment head"):
        read_alignment(silver, report("other.json", "gold", 13.9, head=2))
    with pytest.raises(ValueError, match="was not measured against gold"):
        read_alignment(gold, silver)


def test_a_recipe_that_does_not_fit_its_run_is_refused_in_one_line(tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    with pytest.raises(ValueError, match="recipe toy holds no sentences out: give at least one corpus `development"):
        call("prepare", TOY, "--runs", runs, "--set", "corpora=[{name: toy, path: toy.tsv}]")
    assert not (runs / "toy").exists()

    call("prepare", TOY, "--runs", runs)
    before = (runs / "toy" / "recipe.yaml").read_bytes()
    more = "corpora=[{name: toy, path: toy.tsv, development: 60}, {name: distilled, path: toy.tsv}]"
    with pytest.raises(FileNotFoundError, match="was prepared without distilled"):
        call("train", TOY, "--runs", runs, "--set", more)
    assert (runs / "toy" / "recipe.yaml").read_bytes() == before


def test_versions_count(tmp_path: Path) -> None:
    assert next_version(tmp_path) == "1"
    manifest = tmp_path / "manifest.json"
    manifest.write_text('{"version": "9"}')
    assert next_version(tmp_path) == "10"
    manifest.write_text('{"version": "2026-b"}')
    with pytest.raises(ValueError, match="version '2026-b', which is not a whole number: give --version"):
        next_version(tmp_path)


def test_a_graph_that_is_shipped_is_not_replaced_by_default() -> None:
    assert inspect.signature(captions).parameters["output"].default.parts[0] == "runs"
