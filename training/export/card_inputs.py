"""Inputs of the model card and of the manifest: reports of ``evaluate`` and ``align``, credits of corpora."""

import json
from dataclasses import replace
from pathlib import Path

from service.bundle.manifest import AlignmentHead, GoldRate
from training.data.corpora import find_corpus
from training.export.card import CardScore, DataCredit
from training.recipe import CorpusConfig, Recipe


def read_scores(path: Path) -> tuple[CardScore, ...]:
    """Return the scores of a report of ``evaluate``, or of a list of scores measured elsewhere.

    Raises ValueError with the name of a file that is neither.
    """
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        if isinstance(content, list):
            return tuple(CardScore(**entry) for entry in content)
        return tuple(
            CardScore(
                result["test_set"],
                figure["metric"],
                round(figure["score"], 2),
                figure["signature"],
                content["precision"],
                result["beam_size"],
            )
            for result in content["results"]
            for figure in result["scores"]
        )
    except (KeyError, TypeError, json.JSONDecodeError) as error:
        raise ValueError(f"{path} must be a report of `evaluate` or a JSON list of scores: {error!r}") from error


def read_alignment(path: Path, gold_path: Path | None = None) -> AlignmentHead:
    """Return the best alignment head that ``align`` found, with its error against gold if that was measured.

    Raises ValueError with the name of a file that is no such report, or of a gold report for another head.
    """
    stated = _read_alignment(path)
    gold = stated if gold_path is None else _read_alignment(gold_path)
    same = (gold.layer, gold.head, gold.step, gold.threshold) == (
        stated.layer,
        stated.head,
        stated.step,
        stated.threshold,
    )
    if not same:
        raise ValueError(
            f"{gold_path} measures another alignment head than {path}: pass that head to `align` as --reading"
        )
    if gold.against != "gold" or gold.aer is None or gold.measured_on is None:
        if gold_path is not None:
            raise ValueError(
                f"{gold_path} was not measured against gold links: pass links from people to `align` as --gold"
            )
        return stated
    return replace(stated, gold=GoldRate(aer=gold.aer, measured_on=gold.measured_on))


def _read_alignment(path: Path) -> AlignmentHead:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        best = content["readings"][0]
        return AlignmentHead(**best | {"measured_on": content["measured_on"], "against": content.get("against")})
    except (IndexError, KeyError, TypeError, json.JSONDecodeError) as error:
        raise ValueError(f"{path} must be a report of `align --gold`: {error!r}") from error


def data_credit(recipe: Recipe, corpus: CorpusConfig, pairs: int) -> DataCredit:
    """Return the credit and licence of a corpus of a recipe; a derived corpus has those of its origin."""
    if corpus.origin is not None:
        origin = next(candidate for candidate in recipe.corpora if candidate.name == corpus.origin)
        credit = data_credit(recipe, origin, pairs)
        return replace(credit, name=corpus.name, credit=f"made from {origin.name}: {credit.credit}")
    if corpus.number_templates:
        return DataCredit(corpus.name, pairs, "Apache-2.0", "Translucent's own sentences with random numbers")
    if corpus.noun_templates:
        return DataCredit(corpus.name, pairs, "Apache-2.0", "Translucent's own sentences with random nouns")
    if corpus.made_up_grammar:
        return DataCredit(corpus.name, pairs, "Apache-2.0", "Translucent's made-up grammar")
    if corpus.path is not None:
        whom = corpus.credit or f"local file {corpus.path.name}"
        return DataCredit(corpus.name, pairs, corpus.licence or "not stated", whom)
    listed = find_corpus(corpus.corpus or corpus.name)
    return DataCredit(corpus.name, pairs, listed.licence, listed.credit)
