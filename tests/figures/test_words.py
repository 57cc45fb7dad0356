"""The words of figures are in the language of the page, and what users wrote stays as it is."""

import re
from dataclasses import replace

import numpy as np
import pytest

from service.engine.types import AttentionMap
from service.figures.figure import compare, contrast, several, single_figure
from service.figures.panels import Figure, Naming
from service.figures.vega_lite import specification
from service.figures.words import LanguageName, in_language
from tests.figures.maps import make_map

# Words that are the same as in English.
SAME = {
    "de": {"minus"},
    "fr": {"occlusion", "score", "scores", "softmax", "source", "token"},
}


def maps() -> list[AttentionMap]:
    """Return maps of every kind and selection that a figure describes."""
    aligned = [make_map(step=step, layer=layer, head=head) for step, layer, head in (
        ("produce", "align", "align"), ("consume", "align", "align"), ("produce", 1, 2), ("produce", "mean", "mean"),
        ("produce", "mean", 1), ("produce", 1, "mean"))]  # fmt: skip
    grids = [make_map(shape=(2, 3)), make_map(shape=(3,), layer=1)]
    return [*aligned, *grids, make_map(kind="encoder"), make_map(kind="decoder"), replace(make_map(), kind="occlusion")]


def figures() -> list[Figure]:
    first, second = make_map(seed=1), make_map(seed=2, model="bahdanau-en-fr")
    naming = Naming(aligning={"transformer-en-fr": (1, 0)})
    several_models = [compare(first, second), contrast(first, second), several([first, second])]
    return [single_figure(found, naming=names) for found in maps() for names in (naming, Naming())] + several_models


def words_of(figure: Figure) -> set[str]:
    """Return the lower-case words of everything that a figure says; names of models have hyphens."""
    panels = (
        (panel.title, panel.row_title, panel.column_title, panel.quantity, panel.layer, panel.head)
        for panel in figure.panels
    )
    texts = [*figure.notes, *(text for panel in panels for text in panel)]
    return set(re.findall(r"(?<![\w-])[a-z’]{3,}(?![\w-])", " ".join(texts)))


@pytest.mark.parametrize("language", ["de", "fr"])
def test_nothing_that_a_figure_says_stays_english(language: LanguageName) -> None:
    english = {word for figure in figures() for word in words_of(figure)}
    assert {"layer", "outlined", "yours", "weight", "later", "minus"} <= english
    translated = {word for figure in figures() for word in words_of(in_language(figure, language))}
    assert english & translated <= SAME[language]


def test_texts_of_users_are_not_translated() -> None:
    found = make_map(["layer", "head"], ["weight", "score"], model="two-head-weight")
    figure = in_language(single_figure(found), "de")
    assert figure.title == single_figure(found).title
    assert (figure.panels[0].rows, figure.panels[0].columns) == (("weight", "score", "</s>"), ("layer", "head", "</s>"))
    assert figure.notes[0].startswith("two-head-weight")
    spec = specification(figure)
    assert spec["layer"][0]["encoding"]["tooltip"][0]["title"] == "Ziel"
    assert np.isclose(spec["layer"][0]["data"]["values"][0]["w"], float(found.weights[0, 0]), atol=1e-6)
