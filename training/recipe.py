"""The recipe of a training run, read from YAML: every key with its meaning and its limits."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

import yaml
from pydantic import Field, ValidationError, model_validator

from service.bundle.limits import WRAP_TOKENS
from service.bundle.manifest import Step
from training.corpus_config import CleaningConfig, CorpusConfig, VocabularyConfig
from training.git_folder import Place
from training.network_config import BahdanauConfig, Section, TransformerConfig

Kind = TypeVar("Kind", bound=Section)

__all__ = [
    "BahdanauConfig",
    "CleaningConfig",
    "CorpusConfig",
    "GuidedAlignmentConfig",
    "GuidedHead",
    "NetworkConfig",
    "OptimisationConfig",
    "Recipe",
    "RecipeError",
    "TransformerConfig",
    "ValidationConfig",
    "VocabularyConfig",
    "load_recipe",
    "parse_recipe",
    "transformer_config",
]


class RecipeError(ValueError):
    """A recipe cannot be used; the message has the key and the accepted values."""


TrainingPrecision = Literal["fp32", "bf16", "fp16"]
NetworkConfig = Annotated[TransformerConfig | BahdanauConfig, Field(discriminator="kind")]


class GuidedHead(Section):
    """One cross-attention head that is trained with given links."""

    layer: int = Field(ge=0)
    head: int = Field(ge=0)
    step: Step = "produce"
    """``produce``: the head attends to a token's source at the step that predicts the token. ``consume``: at the step
    that reads the token, which is easier to learn and gives better alignments."""


class GuidedAlignmentConfig(Section):
    """Guided alignment (Garg et al. 2019, 1909.02074; Chen et al. 2016); the command `links` makes its links."""

    weight: float = Field(0.05, gt=0)
    """The factor of the heads' cross-entropy per linked target token in the loss."""
    heads: tuple[GuidedHead, ...] = Field(min_length=1)


class OptimisationConfig(Section):
    """The optimisation of the parameters."""

    batch_tokens: int = Field(4096, ge=8)
    """Most tokens of each side of a batch, including padding, in each process."""
    accumulate: int = Field(1, ge=1)
    """Batches that are accumulated for one update; each batch and each process has the same weight."""
    max_updates: int = Field(100_000, ge=1)
    peak_rate: float = Field(1e-3, gt=0)
    """Learning rate at the end of the warm-up."""
    warmup_updates: int = Field(4000, ge=1)
    constant_rate: bool = False
    """The rate stays at its peak until the cooldown (warm-up, stable, decay: 2405.18392); otherwise it falls with the
    inverse square root of the update, and a short warm-up makes it fall fast: to a seventh at fifty warm-ups."""
    cooldown_updates: int = Field(0, ge=0)
    """The last updates, in which the rate falls linearly to zero."""
    start_share: float = Field(0.0, ge=0, lt=1)
    """The share in the result of the parameters that the run began with: what it learnt is kept, and less of what it
    knew is lost (Wortsman et al. 2022, 2109.01903)."""
    beta2: float = Field(0.98, gt=0, lt=1)
    """Adam's second moment (section 5.3 of 1706.03762)."""
    weight_decay: float = Field(0.0, ge=0)
    """Weight decay of matrices, decoupled from the gradient (AdamW); not of biases, layer norms and embeddings."""
    label_smoothing: float = Field(0.1, ge=0, lt=1)
    consistency: float = Field(0.0, ge=0)
    """Every batch passes twice, with different dropout, and this much of the divergence between the two predictions is
    added to the loss (R-Drop, Liang et al. 2021, 2106.14448); 0 is one pass. An update costs twice as much."""
    sampled_pieces: int = Field(0, ge=0)
    """The softmax is over the batch's own target pieces and this many random ones, which stand for all others
    (importance sampling, Jean et al. 2015, 1412.2007); 0 is the whole vocabulary."""
    whole_softmax_updates: int | None = Field(None, ge=0)
    """The last updates, whose softmax is over the whole vocabulary; by default as many as ``cooldown_updates``."""
    guided_alignment: GuidedAlignmentConfig | None = None
    clip_norm: float = Field(1.0, gt=0)
    precision: TrainingPrecision = "fp32"
    """``bf16`` and ``fp16`` are mixed precision: products in half precision, parameters in fp32; fp16 needs a GPU."""


class ValidationConfig(Section):
    """The validation of the model during training."""

    every_updates: int = Field(1000, ge=1)
    sentences: int = Field(500, ge=1)
    """Development sentences that are translated greedily for BLEU, a share of each corpus; the loss uses all."""
    patience: int = Field(10, ge=1)
    """After so many validations without a better development BLEU the cooldown begins, or the run ends."""
    keep_checkpoints: int = Field(5, ge=1)
    """The number of last checkpoints that are kept, and averaged at the end. The one with the best development BLEU is
    kept, too."""


class Recipe(Section):
    """A whole run."""

    name: str = Field(pattern=r"^[a-z0-9][a-z0-9-]*$")
    """The name of the model."""
    stage: str | None = Field(None, pattern=r"^[a-z0-9-]+$")
    """The stage of a recipe in stages (``training.recipe_stages``)."""
    source_language: str | tuple[str, ...]
    """One language, or several for a model that translates all of them; each corpus then has its own."""
    target_language: str
    seed: int = 1
    corpora: tuple[CorpusConfig, ...] = Field(min_length=1)
    cleaning: CleaningConfig = CleaningConfig()
    vocabulary: VocabularyConfig = VocabularyConfig()
    network: NetworkConfig
    optimisation: OptimisationConfig = OptimisationConfig()
    validation: ValidationConfig = ValidationConfig()
    max_tokens: int = Field(256, ge=8, le=512)
    """Longest sentence of either side in subwords, including the end token; also the limit of the served model."""
    wrap_tokens: int = Field(WRAP_TOKENS, ge=8)
    """Sentences with more source subwords are translated in parts; fewer are better for models of short sentences."""
    start_from: Place | None = None
    """A run folder or bundle whose parameters the run begins with; embeddings are matched by piece. ``{revision: …,
    path: …}`` is a bundle of an earlier revision of the repository."""

    @property
    def run(self) -> str:
        """Return the name of the run folder."""
        return self.name if self.stage is None else f"{self.name}-{self.stage}"

    @property
    def source_languages(self) -> tuple[str, ...]:
        """Return the source languages, one or several."""
        return (self.source_language,) if isinstance(self.source_language, str) else self.source_language

    def language_of(self, corpus: CorpusConfig) -> str:
        """Return the source language of a corpus of this recipe."""
        return corpus.source_language or self.source_languages[0]

    @model_validator(mode="after")
    def _corpora_name_their_language(self) -> Recipe:
        sources = self.source_languages
        for corpus in self.corpora:
            if corpus.source_language is None and len(sources) > 1 and corpus.origin is None:
                raise ValueError(f"corpus {corpus.name}: source_language must be one of {', '.join(sources)}")
            if corpus.source_language is not None and corpus.source_language not in sources:
                raise ValueError(
                    f"corpus {corpus.name}: source_language must be one of {', '.join(sources)}, "
                    f"not {corpus.source_language}"
                )
        return self

    @model_validator(mode="after")
    def _passes_differ(self) -> Recipe:
        if self.optimisation.consistency and not self.network.dropout:
            raise ValueError("optimisation.consistency compares two passes with dropout: give network.dropout, too")
        return self

    @model_validator(mode="after")
    def _guided_heads_exist(self) -> Recipe:
        guided = self.optimisation.guided_alignment
        if guided is None:
            return self
        network, layers, heads = self.network, 1, 1
        if isinstance(network, TransformerConfig):
            layers, heads = network.decoder_layers, network.heads
        elif network.attention != "global":
            raise ValueError(
                f"guided_alignment needs attention global: with {network.attention} a position with weight 0 learns "
                f"nothing"
            )
        for head in guided.heads:
            if head.layer >= layers or head.head >= heads:
                raise ValueError(
                    f"guided_alignment: no layer {head.layer}, head {head.head}: attention over the source has "
                    f"{layers} layers of {heads} heads, counted from 0"
                )
        return self

    @model_validator(mode="after")
    def _origins_have_text(self) -> Recipe:
        origins = {corpus.name for corpus in self.corpora if corpus.origin is None}
        for corpus in self.corpora:
            if corpus.origin is not None and corpus.origin not in origins:
                key = "variants_of" if corpus.variants_of is not None else "same_pairs_as"
                choices = ", ".join(sorted(origins))
                raise ValueError(f"corpus {corpus.name}: {key} must be one of {choices}, not {corpus.origin}")
        return self


def load_recipe(path: Path, overrides: list[str] | None = None) -> Recipe:
    """Read a YAML recipe and apply ``key.subkey=value`` overrides.

    Raises RecipeError if the file is missing or no YAML, or if it has unknown keys or wrong values.
    """
    content = read_recipe(path)
    if "stages" in content:
        raise RecipeError(f"{path} is a recipe in stages: `python -m training stages {path}` runs them in order")
    return checked_recipe(apply_overrides(content, overrides), path)


def checked_recipe(content: dict[str, Any], path: Path) -> Recipe:
    """Check the recipe of a file; the paths of its own text become absolute, as they are relative to the file."""
    return _resolve(parse_recipe(content, str(path)), path.parent)


def read_recipe(path: Path) -> dict[str, Any]:
    """Return the keys of a YAML recipe; raises RecipeError if it is no mapping."""
    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise RecipeError(f"no recipe at {path}; recipes are in training/recipes/") from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise RecipeError(f"{path} is not valid UTF-8 YAML: {error}") from error
    if not isinstance(content, dict):
        raise RecipeError(f"{path} must contain a mapping of keys, not {type(content).__name__}")
    return content


def apply_overrides(content: dict[str, Any], overrides: list[str] | None) -> dict[str, Any]:
    """Change keys of a recipe, each as ``key.subkey=value``; return it."""
    for override in overrides or []:
        _apply(content, override)
    return content


def _resolve(recipe: Recipe, folder: Path) -> Recipe:
    """Make the paths of local corpora absolute; in a recipe they are relative to it."""

    def absolute(path: Path | None) -> Path | None:
        return path and (folder / path).resolve()

    corpora = [
        c.model_copy(update={"path": absolute(c.path), "target_path": absolute(c.target_path)}) for c in recipe.corpora
    ]
    return recipe.model_copy(update={"corpora": tuple(corpora)})


def parse_recipe(content: dict[str, Any], where: str) -> Recipe:
    """Check a recipe given as plain data; ``where`` names it in errors."""
    return validated(Recipe, content, where)


def validated(kind: type[Kind], content: dict[str, Any], where: str) -> Kind:
    """Return a recipe of a kind from plain data; raises RecipeError with every wrong value."""
    try:
        return kind.model_validate(content)
    except ValidationError as error:
        lines = [f"  {'.'.join(str(p) for p in e['loc']) or '(recipe)'}: {e['msg']}" for e in error.errors()]
        raise RecipeError(f"{where}:\n" + "\n".join(lines)) from error


def transformer_config(values: Mapping[str, Any], where: str) -> TransformerConfig:
    """Return a network's configuration from plain data; raises RecipeError for the first wrong value."""
    try:
        return TransformerConfig.model_validate({"kind": "transformer", **values})
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"])) or "the sizes"
        raise RecipeError(f"{where}: {place}: {first['msg']} (found {first.get('input')!r})") from error


def _apply(content: dict[str, Any], override: str) -> None:
    key, separator, value = override.partition("=")
    if not separator:
        raise RecipeError(f"override {override!r} must look like optimisation.max_updates=1000")
    *parents, last = key.split(".")
    for parent in parents:
        content = content.setdefault(parent, {})
        if not isinstance(content, dict):
            raise RecipeError(f"override {override!r}: {parent} is not a section")
    content[last] = yaml.safe_load(value)
