"""The report of a run: one self-contained HTML page with its recipe, curves, scores and attention."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from training.data.dataset import EncodedPairs
from training.decoding.beam_search import SearchOptions
from training.decoding.scoring import score_targets
from training.decoding.translate import translate
from training.evaluation.evaluate import evaluate_teaching
from training.evaluation.scores import TEACHING_SOURCES, TeachingResult
from training.evaluation.test_sets import load_development
from training.experiments.curves import loss_curves
from training.experiments.heatmap import heatmap
from training.experiments.history import History, read_history
from training.experiments.measure import parameters, quality, sample_of, training_speed
from training.export.card import recipe_text
from training.runs.folder import RunFolder
from training.runs.stages import load_stages
from training.trainer.checkpoints import Trained

DEVELOPMENT_SENTENCES = 500
HEATMAPS = 4
EDGES = (5, 10, 20)

STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 62rem; margin: 2rem auto; padding: 0 1rem; color: #1b1b1f; }
h1, h2 { line-height: 1.2; } h2 { margin-top: 2.2rem; }
table { border-collapse: collapse; } th, td { padding: .25rem .8rem .25rem 0; text-align: left; vertical-align: top; }
th { border-bottom: 1px solid #999; } td.number, th.number { text-align: right; }
figure { margin: 1rem 0; overflow-x: auto; } figcaption { color: #555; font-size: .9rem; }
svg { max-width: 100%; height: auto; } pre { background: #f4f4f6; padding: 1rem; overflow-x: auto; font-size: .85rem; }
.pair { display: flex; flex-wrap: wrap; gap: 1.5rem; }
@media (prefers-color-scheme: dark) { body { background: #fff; } }
"""


@dataclass(frozen=True, slots=True)
class Section:
    """A heading with what stands under it, as HTML."""

    title: str
    content: str


def report(trained: Trained, folder: RunFolder, options: SearchOptions) -> str:
    """Return the page of a run, in HTML that needs no other file and no network."""
    history = read_history(folder.log)
    sections = [_summary(trained, folder, history), *_curves(history), *_teaching(trained, options)]
    sections += [_attention(trained, folder, options), _lengths(trained, folder), _recipe(trained, folder)]
    title = f"{trained.recipe.name}: report of a run"
    body = "\n".join(f"<h2>{html.escape(each.title)}</h2>\n{each.content}" for each in sections)
    return (
        f'<!doctype html>\n<html lang="en">\n<head><meta charset="utf-8"><title>{html.escape(title)}</title>\n'
        f"<style>{STYLE}</style></head>\n<body>\n<h1>{html.escape(title)}</h1>\n{body}\n</body>\n</html>\n"
    )


def _summary(trained: Trained, folder: RunFolder, history: History) -> Section:
    found = {
        "languages": f"{', '.join(trained.recipe.source_languages)} → {trained.recipe.target_language}",
        "network": trained.recipe.network.kind,
        "parameters": f"{parameters(trained.network):,}",  # type: ignore[arg-type]
        "weights": trained.weights,
        "updates": f"{max((points[-1].update for points in history.values()), default=0):,}",
        "training speed": f"{training_speed(trained, folder):,.0f} target tokens per second of processor time",
    }
    for key, label in (("dev_loss", "development loss"), ("dev_bleu", "development BLEU (greedy)")):
        if key in history:
            found[label] = f"{history[key][-1].value:.4g} at update {history[key][-1].update:,}"
    stages = load_stages(folder.stages)
    if stages:
        found["code"] = str(stages[-1]["git_revision"])
    return Section("Summary", _table(("", ""), found.items()))


def _curves(history: History) -> list[Section]:
    curves = {
        label: [history[key]]
        for key, label in (("train_loss", "training"), ("dev_loss", "development"))
        if key in history
    }
    sections = [Section("Loss", _figure(loss_curves(curves, "nats a token"), "Cross-entropy without label smoothing."))]
    if "dev_bleu" in history:
        bleu = loss_curves({"development": [history["dev_bleu"]]}, "BLEU")
        sections.append(Section("BLEU", _figure(bleu, "Greedy search on development sentences.")))
    return sections


def _teaching(trained: Trained, options: SearchOptions) -> list[Section]:
    results = evaluate_teaching(trained, options)
    if not results:
        return []
    caption = "<p>BLEU of up to two words, as in the lesson: 1 is a translation like the label.</p>"
    return [
        Section(
            "The four sentences of the lesson",
            caption + _table(("English", "translation", "bigram BLEU"), map(_line, results)),
        )
    ]


def _line(result: TeachingResult) -> tuple[str, str, str]:
    return result.source, result.translation, f"{result.bigram_bleu:.3f}"


def _attention(trained: Trained, folder: RunFolder, options: SearchOptions) -> Section:
    """Draw the mean over layers and heads of attention over the source, for the lesson's sentences or others."""
    sources = list(TEACHING_SOURCES)
    if trained.recipe.source_languages != ("en",):
        sources = [source for _, source, _ in folder.load_development()[:HEATMAPS]]
    pictures = []
    for source, target in zip(sources, translate(trained.network, trained.tokenizer, sources, options), strict=True):
        ids = [trained.tokenizer.encode(text).ids for text in (source, target)]
        if not all(ids):
            continue
        weights = score_targets(trained.network, [ids[0]], [ids[1]])[0].attention.mean(axis=(0, 1))
        columns, rows = ([*_labels(trained, own), "</s>"] for own in ids)
        pictures.append(_figure(heatmap(np.asarray(weights), rows, columns), f"{source} → {target}"))
    note = "<p>Each row shows where the network looks when it writes that token: the mean over layers and heads.</p>"
    return Section("Attention", f'{note}<div class="pair">{"".join(pictures)}</div>')


def _labels(trained: Trained, ids: Sequence[int]) -> list[str]:
    return [(trained.tokenizer.id_to_token(token) or "").replace("▁", "") or "▁" for token in ids]


def _lengths(trained: Trained, folder: RunFolder) -> Section:
    rows = []
    for test in load_development(folder.path):
        found = quality(trained, sample_of(test, DEVELOPMENT_SENTENCES), EDGES)
        rows.append((test.name, "all", str(sum(b.sentences for b in found.by_length)), f"{found.bleu:.1f}"))
        rows += [
            (test.name, bucket.label, str(bucket.sentences), "–" if bucket.bleu is None else f"{bucket.bleu:.1f}")
            for bucket in found.by_length
        ]
    return Section("BLEU by sentence length", _table(("sentences", "words", "number", "BLEU (greedy)"), rows))


def _recipe(trained: Trained, folder: RunFolder) -> Section:
    pairs = sum(len(EncodedPairs.load(folder.corpus(corpus.name))) for corpus in trained.recipe.corpora)
    return Section("Recipe", f"<p>{pairs:,} training pairs.</p><pre>{html.escape(recipe_text(trained.recipe))}</pre>")


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    titles = "".join(f"<th>{html.escape(title)}</th>" for title in head)
    first = f"<thead><tr>{titles}</tr></thead>" if any(head) else ""
    body = "".join("<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>\n" for row in rows)
    return f"<table>{first}<tbody>\n{body}</tbody></table>"


def _figure(svg: str, caption: str) -> str:
    """Return a figure with an SVG inside the page."""
    start = svg.index("<svg")
    return f"<figure>{svg[start:]}<figcaption>{html.escape(caption)}</figcaption></figure>"
