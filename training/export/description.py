"""The description of a model for export, without its parameters; it comes from a recipe or an import."""

from __future__ import annotations

from dataclasses import dataclass

from tokenizers import Tokenizer

from service.bundle.manifest import TargetLanguage
from training.export.architecture import NetworkConfig
from training.recipe import Recipe


@dataclass(frozen=True, slots=True)
class ModelDescription:
    """Names, languages and sizes of a model."""

    name: str
    source_languages: tuple[str, ...]
    targets: tuple[TargetLanguage, ...]
    network: NetworkConfig
    max_tokens: int


@dataclass(frozen=True, slots=True)
class Subwords:
    """The tokenizers of a model."""

    source: Tokenizer
    size: int
    """The size of the vocabulary."""
    target: Tokenizer | None = None
    """For the target's text; None: the source's."""
    unknown: int | None = None
    """The id for text without a subword; None: no text is unknown."""
    source_end: bool = True
    """Whether a source ends with </s>."""


def describe(recipe: Recipe) -> ModelDescription:
    """Return the description of a trained model."""
    targets = (TargetLanguage(recipe.target_language),)
    return ModelDescription(recipe.name, recipe.source_languages, targets, recipe.network, recipe.max_tokens)
