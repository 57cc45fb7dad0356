"""The model card: the origin, the quality and the intended use of a model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import PurePath
from typing import Any

import jinja2
import yaml

from service.bundle.manifest import named
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
class CardScore:
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
    scores: tuple[CardScore, ...] = ()
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
    scores: tuple[CardScore, ...] = ()
    """Stated by its authors, so without a signature: nobody measured them here."""
    exported_with: str | None = None
    """The revision of the code that imported it."""
    notes: str | None = None

    def document(self, parameters: int) -> dict[str, Any]:
        """Return the manifest's ``card`` section."""
        return {
            "data": [asdict(corpus) for corpus in self.data],
            "parameters": parameters,
            "scores": [asdict(score) for score in self.scores],
            "notes": self.notes,
            "imported": dict(self.imported),
            "exported_with": self.exported_with,
        }


Card = ModelCard | ImportedCard
"""Where a model comes from, for its manifest."""


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
_TEMPLATES = jinja2.Environment(
    loader=jinja2.PackageLoader(__package__, "."), trim_blocks=True, keep_trailing_newline=True,
    undefined=jinja2.ChainableUndefined,
)  # fmt: skip


def readme(manifest: dict[str, Any]) -> str:
    """Return the bundle's README.md, from its manifest."""
    card = manifest["card"]
    sources = manifest["source_languages"]
    targets = [target["language"] for target in manifest.get("targets", ())] or [manifest["target_language"]]
    imported, stages = card.get("imported"), card.get("legs", [])
    began = stages[0].get("began_from") if stages else None
    return _TEMPLATES.get_template("readme.md.j2").render(
        manifest,
        architectures=_ARCHITECTURES,
        source=named(sources, " and "),
        target=named(targets, " and "),
        made_up=imported is None and _is_made_up(card["recipe"]),
        align=manifest["attention"]["align"],
        imported=imported,
        checked=imported and imported.get("checked"),
        stages=stages if len(stages) > 1 or began else [],  # otherwise the recipe says it all
        began=began,
        number="{:,}".format,
        table=_table,
        check_table=check_table,
    )


def _is_made_up(recipe: str) -> bool:
    """Return whether all sentences of a recipe, as YAML, are those of a made-up grammar."""
    content = yaml.safe_load(recipe)
    corpora = content.get("corpora", []) if isinstance(content, dict) else []
    return bool(corpora) and all(corpus.get("made_up_grammar", False) for corpus in corpora)


def _table(rows: list[dict[str, Any]], columns: tuple[str, ...]) -> str:
    if not rows:
        return "None recorded."
    head = [column.replace("_", " ") for column in columns]
    return markdown(head, ([_cell(row.get(column)) for column in columns] for row in rows))


def _cell(value: Any) -> str:
    if value is None:
        return "–"
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:.2f}" if isinstance(value, float) else str(value).replace("|", "\\|").replace("\n", " ")


Entry = Mapping[str, Any]
"""A comparison as the manifest has it: ``what``, ``value``, optionally ``precision``, ``at_most`` or ``at_least``."""


def check_table(figures: Sequence[Entry]) -> str:
    """Return a Markdown table with a row for each comparison and a column for each precision.

    A comparison without a precision concerns all of them, and has the same value in every column.
    """
    precisions = list(dict.fromkeys(entry["precision"] for entry in figures if "precision" in entry)) or ["value"]
    cells = {(entry["what"], entry.get("precision")): _limited(entry) for entry in figures}
    rows = [
        [what, *(cells.get((what, precision), cells.get((what, None), "–")) for precision in precisions)]
        for what in dict.fromkeys(entry["what"] for entry in figures)
    ]
    return markdown(["what", *precisions], rows, aligned=True)


def _limited(entry: Entry) -> str:
    """Return a value with its limit, if it has one, and whether it keeps the limit."""
    value = f"{entry['value']:.4g}"
    for key, sign in (("at_most", "≤"), ("at_least", "≥")):
        if key in entry:
            kept = entry["value"] <= entry[key] if key == "at_most" else entry["value"] >= entry[key]
            return f"{value} ({'ok' if kept else 'FAIL'}: {sign} {entry[key]:g})"
    return value
