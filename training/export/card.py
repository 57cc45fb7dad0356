"""The model card: the origin, the quality and the intended use of a model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import PurePath
from typing import Any, Protocol

import yaml

from training.export.check_table import check_table
from training.recipe import Recipe
from training.tables import markdown


@dataclass(frozen=True, slots=True)
class DataCredit:
    """One corpus that a model was trained on."""

    name: str
    pairs: int
    licence: str
    credit: str


@dataclass(frozen=True, slots=True)
class Score:
    """One result on one test set."""

    test_set: str
    metric: str
    score: float
    signature: str | None = None
    precision: str | None = None
    beam_size: int | None = None


@dataclass(frozen=True, slots=True)
class ModelCard:
    """The content of the manifest's ``card`` and the bundle's README.md."""

    data: tuple[DataCredit, ...]
    seed: int
    git_revision: str
    """Of the code that trained it."""
    scores: tuple[Score, ...] = ()
    notes: str | None = None
    stages: Sequence[Mapping[str, Any]] = ()
    """Each start of `train`: updates, code, precision, changes of the recipe."""
    exported_with: str | None = None
    """The revision of the code that exported it."""
    recipe: str = ""
    """As YAML."""

    def with_recipe(self, recipe: Recipe) -> ModelCard:
        """Return the card with the text of its recipe."""
        return replace(self, recipe=recipe_text(recipe))

    def document(self, parameters: int) -> dict[str, Any]:
        """Return the manifest's ``card`` section."""
        return {
            "data": [asdict(corpus) for corpus in self.data],
            "recipe": self.recipe,
            "seed": self.seed,
            "git_revision": self.git_revision,
            "parameters": parameters,
            "scores": [asdict(score) for score in self.scores],
            "notes": self.notes,
            **({"legs": list(self.stages)} if self.stages else {}),
            **({"exported_with": self.exported_with} if self.exported_with else {}),
        }


@dataclass(frozen=True, slots=True)
class ImportedCard:
    """The card of a model that was trained elsewhere."""

    data: tuple[DataCredit, ...]
    imported: Mapping[str, Any]
    """``format``, ``name``, ``files`` with their SHA-256, ``network``, and further entries of the reader."""
    exported_with: str | None = None
    """The revision of the code that imported it."""
    notes: str | None = None

    def document(self, parameters: int) -> dict[str, Any]:
        """Return the manifest's ``card`` section."""
        return {
            "data": [asdict(corpus) for corpus in self.data],
            "parameters": parameters,
            "scores": [],
            "notes": self.notes,
            "imported": dict(self.imported),
            "exported_with": self.exported_with,
        }


class Card(Protocol):
    """The section of a manifest about the origin of a model."""

    def document(self, parameters: int) -> dict[str, Any]:
        """Return the manifest's ``card`` section."""


def recipe_text(recipe: Recipe) -> str:
    """Return the recipe as YAML for a card, without empty keys, and with only the names of files and folders.

    Full paths would reveal the layout of the training machine.
    """
    return yaml.safe_dump(_published(recipe.model_dump(exclude_none=True)), sort_keys=False, allow_unicode=True)


def _published(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _published(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_published(item) for item in value]
    return value.name if isinstance(value, PurePath) else value


_ARCHITECTURES = {
    "transformer": "Transformer (Vaswani et al. 2017, arXiv 1706.03762)",
    "bahdanau": "RNN encoder–decoder with attention (Bahdanau et al. 2015, arXiv 1409.0473)",
}

_INTENDED = """\
## Intended use

This model translates sentences of everyday text from {source} to {target} and shows its attention. It is a small
model: read its translations before you rely on them, and do not use it where a wrong translation can do harm
(medicine, law, safety).

## Limits

- At most {source_tokens} source and {target_tokens} target tokens in a sentence; longer sentences are cut in two first.
- Each sentence is translated by itself, so a pronoun cannot refer to the sentence before.
- Names, numbers and rare words can be wrong. Text unlike the training data, such as long news sentences, is
  translated much worse than the scores below.
- It repeats the biases of its training data, such as the gender it assumes for a profession.
- Attention shows where the model looked, which is not always why it chose a word.
"""


_INTENDED_FOR_TEACHING = """\
## Intended use

This model is for looking at attention. It was trained for seconds on sentences of a made-up grammar of a hundred words
({source} to {target}) and knows no others, so it must not translate text of your own.

## Limits

- At most {source_tokens} source and {target_tokens} target tokens in a sentence; longer sentences are cut in two first.
- Each sentence is translated by itself.
- Attention shows where the model looked, which is not always why it chose a word.
"""


_INTENDED_OF_IMPORTS = """\
## Intended use

Translating from {source} to {target}, and looking at how attention does it. The model was trained by others and
imported: its quality is theirs, and `python -m training import check` compares it with the original.

## Limits

- At most {source_tokens} source and {target_tokens} target tokens a sentence; longer ones are cut in two first.
- Each sentence is translated by itself: what a pronoun in the next one refers to is lost.
- It repeats the biases of its training data.
- Attention shows where the model looked, which is not always why it chose a word.
"""


def readme(manifest: dict[str, Any]) -> str:
    """Return the bundle's README.md, from its manifest."""
    card, limits = manifest["card"], manifest["limits"]
    sources = manifest.get("source_languages") or [manifest["source_language"]]
    targets = [target["language"] for target in manifest.get("targets", ())] or [manifest["target_language"]]
    source, target = " and ".join(sources), " and ".join(targets)
    parts = [
        f"# {manifest['name']}, version {manifest['version']}\n",
        f"{_ARCHITECTURES[manifest['architecture']]}, {source} → {target}, {card['parameters']:,} parameters, "
        f"{manifest['vocabulary_size']:,} subwords. Precisions: {', '.join(manifest['graphs'])}.\n",
        "This file is generated from `manifest.json`.\n",
        _intended(card, source, target, limits),
        "## Scores\n",
        _table(card["scores"], ("test_set", "metric", "score", "precision", "beam_size", "signature")),
        _alignment(manifest["attention"]["align"]),
        "## Training data\n",
        _table(card["data"], ("name", "pairs", "licence", "credit")),
        _imported(card["imported"]) if "imported" in card else _training(card),
    ]
    if card["notes"]:
        parts.append(f"## Notes\n\n{card['notes']}\n")
    return "\n".join(part for part in parts if part)


def _intended(card: dict[str, Any], source: str, target: str, limits: dict[str, int]) -> str:
    template = _INTENDED
    if "imported" in card:
        template = _INTENDED_OF_IMPORTS
    elif _is_made_up(card["recipe"]):
        template = _INTENDED_FOR_TEACHING
    return template.format(source=source, target=target, **limits)


def _is_made_up(recipe: str) -> bool:
    """Return whether all sentences of a recipe, as YAML, are those of a made-up grammar."""
    content = yaml.safe_load(recipe)
    corpora = content.get("corpora", []) if isinstance(content, dict) else []
    return bool(corpora) and all(corpus.get("made_up_grammar", False) for corpus in corpora)


def _training(card: dict[str, Any]) -> str:
    return (
        f"## Training\n\nSeed {card['seed']}, revision `{card['git_revision']}`, recipe:\n\n"
        f"```yaml\n{card['recipe'].strip()}\n```\n\n" + _stages(card.get("legs", []))
    ).rstrip("\n") + "\n"


def _imported(imported: dict[str, Any]) -> str:
    files = "\n".join(f"- `{name}`: `{checksum}`" for name, checksum in imported["files"].items())
    from_where = f"## Import\n\nFrom {imported['name']} ({imported['format']}); the files that were read:\n\n{files}\n"
    return _checked(imported.get("checked")) + from_where


def _checked(checked: dict[str, Any] | None) -> str:
    """Return what ``import check`` found, as a table with a verdict."""
    if checked is None:
        return "## Check\n\nNot compared with the original yet: `python -m training import check`.\n\n"
    verdict = "does" if checked["passed"] else "does NOT do"
    into = f" into {checked['target']}" if "target" in checked else ""
    return (
        f"## Check\n\nCompared with {checked['with']} over {checked['sentences']:,} sentences{into}: this bundle "
        f"{verdict} what the original does.\n\n{check_table(checked['figures'])}\n\n"
    )


def _stages(stages: list[dict[str, Any]]) -> str:
    """Return the stages of training as a list; nothing if the recipe above is complete."""
    began = stages[0].get("began_from") if stages else None
    if len(stages) < 2 and began is None:
        return ""
    lines = ["The model was trained in stages; the recipe is that of the last stage.\n"]
    if began is not None:
        what = f"bundle {began['bundle']}, version {began['version']}" if "bundle" in began else f"run {began['run']}"
        lines.append(f"- Training began with the parameters of {what}.")
    for stage in stages:
        changed = "; ".join(f"{key}: {value}" for key, value in stage["changed"].items())
        lines.append(
            f"- Updates {stage['from_update']:,} to {stage['to_update'] or 0:,}, {stage['precision']}, revision "
            f"`{stage['git_revision']}`" + (f", changed: {changed}" if changed else "")
        )
    return "\n".join(lines) + "\n"


def _table(rows: list[dict[str, Any]], columns: tuple[str, ...]) -> str:
    if not rows:
        return "None recorded.\n"
    head = [column.replace("_", " ") for column in columns]
    return markdown(head, ([_cell(row.get(column)) for column in columns] for row in rows)) + "\n"


def _cell(value: Any) -> str:
    if value is None:
        return "–"
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:.2f}" if isinstance(value, float) else str(value).replace("|", "\\|").replace("\n", " ")


def _alignment(align: dict[str, Any]) -> str:
    where = f"Words are aligned by cross-attention layer {align['layer']}, head {align['head']}, read at the step that "
    where += f"{align['step']}s a token"
    if align["aer"] is not None:
        where += f": alignment error rate {align['aer']:.1f} on {align['measured_on']}"
        if align.get("against") == "silver":
            where += " (silver: how well the head imitates a statistical aligner)"
    if align.get("gold") and align.get("against") != "gold":
        where += f"; {align['gold']['aer']:.1f} against links from people, {align['gold']['measured_on']}"
    return where + ".\n"
