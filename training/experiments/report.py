"""The report of a run: one self-contained HTML page with its recipe, curves, scores and attention."""

import html
import io
import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path

import matplotlib
from matplotlib.figure import Figure
from tokenizers import Tokenizer

from service.bundle.vocabulary import EOS
from training.decoding.beam_search import SearchOptions
from training.decoding.forced import cross_attention
from training.decoding.translate import search
from training.evaluation.evaluate import evaluate, evaluate_teaching
from training.evaluation.scores import TEACHING_SOURCES
from training.evaluation.test_sets import load_development
from training.experiments.grid import sample_of
from training.export.card import recipe_text
from training.networks.build import Network
from training.runs.folder import RunFolder
from training.trainer.checkpoints import Trained

DEVELOPMENT_SENTENCES = 500
HEATMAPS = 4
EDGES = (5, 10, 20)
PANELS = {"nats a token": ("train_loss", "dev_loss"), "BLEU": ("dev_bleu",)}
STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 62rem; margin: 2rem auto; padding: 0 1rem; }
th, td { padding: .25rem .8rem .25rem 0; text-align: left; } svg { max-width: 100%; height: auto; }
pre { background: #f4f4f6; padding: 1rem; overflow-x: auto; }
"""

History = dict[str, dict[int, float]]
"""The values of each name, such as ``train_loss`` and ``dev_bleu``, by update."""


def read_history(log: Path) -> History:
    """Return what a run's ``train.log`` recorded; of an update that was repeated after a kill, the last values."""
    by_metric: History = defaultdict(dict)
    for update, values in re.findall(r"update=(\d+) (.*)", log.read_text(encoding="utf-8")):
        for name, value in re.findall(r"([\w/.-]+)=(\S+)", values):
            by_metric[name][int(update)] = float(value)
    return by_metric


def report(trained: Trained, folder: RunFolder, options: SearchOptions) -> str:
    """Return the page of a run, in HTML that needs no other file and no network."""
    history, recipe = read_history(folder.log), trained.recipe
    name = html.escape(recipe.name)
    taught = evaluate_teaching(trained, options)
    english = recipe.source_languages == ("en",)
    shown = list(TEACHING_SOURCES) if english else [source for _, source, _ in folder.load_development()[:HEATMAPS]]
    sections = {
        "Summary": _table((), _summary(trained, history)),
        "Curves": _svg(_curves(history)),
        "The four sentences of d2l.ai's lesson": _table(
            ("English", "translation", "bigram BLEU"),
            [(example.source, example.translation, f"{example.bigram_bleu:.3f}") for example in taught],
        ),
        "Attention: the mean over layers and heads": "".join(
            _svg(_draw_attention(trained.network, trained.tokenizer, source)) for source in shown
        ),
        "BLEU by sentence length": _table(("sentences", "words", "number", "BLEU"), _lengths(trained, folder, options)),
        "Recipe": f"<pre>{html.escape(recipe_text(recipe))}</pre>",
    }
    body = "\n".join(f"<h2>{title}</h2>\n{content}" for title, content in sections.items() if content)
    return (
        f'<!doctype html>\n<html lang="en">\n<head><meta charset="utf-8"><title>{name}</title>\n'
        f"<style>{STYLE}</style></head>\n<body>\n<h1>{name}: report of a run</h1>\n{body}\n</body>\n</html>\n"
    )


def _summary(trained: Trained, history: History) -> list[tuple[str, str]]:
    recipe = trained.recipe
    last = {name: (max(values), values[max(values)]) for name, values in history.items()}
    return [
        ("languages", f"{', '.join(recipe.source_languages)} → {recipe.target_language}"),
        ("network", recipe.network.kind),
        ("parameters", f"{sum(parameter.numel() for parameter in trained.network.parameters()):,}"),
        ("weights", trained.weights),
        *((name, f"{value:.4g} at update {update:,}") for name, (update, value) in last.items()),
    ]


def _lengths(trained: Trained, folder: RunFolder, options: SearchOptions) -> Iterable[tuple[str, ...]]:
    for test in load_development(folder.path):
        measured, _ = evaluate(trained, sample_of(test, DEVELOPMENT_SENTENCES), options, "cased", EDGES)
        yield test.name, "all", str(measured.sentences), f"{measured.scores[0].score:.1f}"
        for bucket in measured.by_length:
            bleu = "–" if bucket.bleu is None else f"{bucket.bleu:.1f}"
            yield test.name, bucket.label, str(bucket.sentences), bleu


def _curves(history: History) -> Figure:
    figure = Figure(figsize=(9, 3.4), layout="constrained")
    for axes, (label, names) in zip(figure.subplots(1, len(PANELS)), PANELS.items(), strict=True):
        for name in names:
            axes.plot(list(history[name]), list(history[name].values()), marker=".", label=name)
        axes.set(xlabel="update", ylabel=label)
        axes.legend(frameon=False)
    return figure


def _draw_attention(network: Network, tokenizer: Tokenizer, source: str) -> Figure:
    """Return a heatmap with target tokens as rows and source tokens as columns, the mean over layers and heads."""
    ids = tokenizer.encode(source).ids
    translated = search(network, [ids], SearchOptions(beam_size=1, max_length=64))[0][0].ids
    rows, columns = ([tokenizer.id_to_token(i) or "" for i in (*side, EOS)] for side in (translated, ids))
    weights = cross_attention(network, [ids], [translated])[0].mean((0, 1))  # [T, S]
    figure = Figure(figsize=(0.4 * len(ids) + 2, 0.3 * len(translated) + 1.5))
    axes = figure.add_subplot()
    axes.imshow(weights, vmin=0, vmax=1, cmap="cividis")
    axes.set_xticks(range(len(ids) + 1), columns, rotation=90)
    axes.set_yticks(range(len(translated) + 1), rows)
    figure.tight_layout()
    return figure


def _svg(figure: Figure) -> str:
    """Return a figure as SVG inside the page; its text stays text."""
    file = io.StringIO()
    with matplotlib.rc_context({"svg.hashsalt": "translucent", "svg.fonttype": "none"}):
        figure.savefig(file, format="svg", metadata={"Date": None, "Creator": None})
    text = file.getvalue()
    return text[text.index("<svg") :]


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return an HTML table; nothing without rows."""
    lines = ["".join(f"<td>{html.escape(cell)}</td>" for cell in row) for row in rows]
    titles = "".join(f"<th>{html.escape(title)}</th>" for title in head)
    return "<table>" + "".join(f"<tr>{line}</tr>\n" for line in [titles, *lines]) + "</table>" if lines else ""
