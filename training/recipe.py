"""The recipe of a training run, read from YAML: every key with its meaning and its limits."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

import yaml
from pydantic import Field, ValidationError, model_validator

from service.bundle.manifest import Step
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
    "SearchConfig",
    "TransformerConfig",
    "ValidationConfig",
    "VocabularyConfig",
    "load_recipe",
    "parse_recipe",
    "transformer_config",
]


class RecipeError(ValueError):
    """A recipe cannot be used; the message has the key and the accepted values."""


class CorpusConfig(Section):
    """One source of sentence pairs: a named corpus, a local TSV, or a pair of line-aligned files."""

    name: str
    """Name in ``training.data.corpora``, or any label when ``path`` or ``corpus`` is given."""
    corpus: str | None = None
    """Name in ``training.data.corpora``, if it differs from ``name``; a corpus may have several language pairs."""
    source_language: str | None = None
    """The language of this corpus, if the recipe has several source languages."""
    path: Path | None = None
    """A local TSV (source, tab, target; optionally .gz), or the source half of a pair of files.

    Relative to the recipe.
    """
    target_path: Path | None = None
    """The target half of a pair of line-aligned files."""
    licence: str | None = None
    """The licence of the text at ``path``, for the model card; named corpora have their own."""
    credit: str | None = None
    """The credit for the text at ``path``, for the model card."""
    weight: float = Field(1.0, gt=0)
    """The uses of each pair in an epoch: 2 is twice, 0.25 is a random quarter, a new one in every epoch."""
    max_words: int = Field(80, ge=1)
    """Pairs with more white-space words than this on either side are left out."""
    max_pairs: int | None = Field(None, ge=1)
    """Keep at most this many pairs, chosen by hash so that the choice is stable."""
    first_pairs: int | None = Field(None, ge=1)
    """Read only the first pairs of the text, as d2l.ai does: its corpus begins with the shortest sentences."""
    variants_of: str | None = None
    """Makes ``max_pairs`` pairs from the training pairs of this corpus: as careless users type them, and with text to
    copy (``training.data.augmentation``). The vocabulary is not learnt from them."""
    number_templates: bool = False
    """Makes ``max_pairs`` pairs of our own sentences with random numbers, amounts, times, dates and codes
    (``training.data.number_templates``), in English, French and German. Digits repeat in two fifths of the values."""
    noun_templates: bool = False
    """Makes ``max_pairs`` pairs of our own sentences with random nouns (``training.data.noun_templates``), in English,
    French and German, for gender, case and agreement."""
    made_up_grammar: bool = False
    """Makes ``max_pairs`` English–French pairs of a small made-up grammar (``training.data.made_up_grammar``)."""
    same_pairs_as: str | None = None
    """Uses the training pairs of the corpus of this name once more, with another segmentation into subwords. The
    vocabulary is not learnt from them."""
    join: int = Field(1, ge=1)
    """Joins 1 to this many pairs in a row to one training pair of at most ``max_words`` words (2105.01691), so that a
    corpus of short sentences teaches long ones. Development pairs are not joined."""
    subword_dropout: float = Field(0.0, ge=0, lt=1)
    """The probability of leaving out each merge of the sources' byte-pair encoding (BPE-dropout, 1910.13267) when the
    pairs are encoded. The model then learns rare words in the pieces that unknown words consist of. 0.1 is usual."""
    development: int = Field(0, ge=0)
    """The number of distinct source sentences of this corpus that are held out as development data."""

    @model_validator(mode="after")
    def _variants_are_counted(self) -> CorpusConfig:
        if self.variants_of is not None and (self.max_pairs is None or self.path is not None or self.development):
            raise ValueError("a corpus of variants needs max_pairs, and neither path nor development")
        return self

    @model_validator(mode="after")
    def _templates_are_counted(self) -> CorpusConfig:
        for key in ("number_templates", "noun_templates", "made_up_grammar"):
            if getattr(self, key) and (self.max_pairs is None or self.path or self.corpus or self.variants_of):
                raise ValueError(f"a corpus with {key} needs max_pairs, and neither path, corpus nor variants_of")
        return self

    @model_validator(mode="after")
    def _borrowed_pairs_are_taken_whole(self) -> CorpusConfig:
        if self.same_pairs_as is not None and (self.path or self.max_pairs or self.development or self.variants_of):
            raise ValueError("a corpus with same_pairs_as has no path, max_pairs, development or variants_of")
        return self

    @model_validator(mode="after")
    def _own_text_is_joined(self) -> CorpusConfig:
        if self.join > 1 and self.origin is not None:
            raise ValueError(f"join is a key of the corpus with the text, here {self.origin}")
        return self

    @property
    def origin(self) -> str | None:
        """Return the name of the corpus that it is made from, if it has no text of its own."""
        return self.variants_of or self.same_pairs_as

    @model_validator(mode="after")
    def _terms_are_of_own_text(self) -> CorpusConfig:
        if self.path is None and (self.licence or self.credit):
            raise ValueError("licence and credit are for text with a path: named corpora have their own")
        return self


class CleaningConfig(Section):
    """The conditions for a pair to be used in training."""

    max_ratio: float = Field(3.0, ge=1)
    """Largest ratio of the two sides' lengths, in characters, if one of them has ``ratio_from`` characters."""
    ratio_from: int = Field(40, ge=1)
    """Short pairs such as "Go." / "Vas-y !" may have any ratio."""
    max_words: int | None = Field(None, ge=1)
    """The limit of ``max_words`` for all corpora; the limit of a corpus counts if it is lower."""

    def longest(self, max_words: int) -> int:
        """Return the most words of a pair of a corpus with its own limit."""
        return max_words if self.max_words is None else min(max_words, self.max_words)


class VocabularyConfig(Section):
    """The joint subword vocabulary (byte-pair encoding)."""

    size: int = Field(8000, ge=300, le=65_535)
    """Number of entries, including 3 special tokens and 256 bytes; ids have 16 bits."""
    min_frequency: int = Field(2, ge=1)
    """A merge is learnt only if its pair occurs this often."""
    lowercase: bool = False
    """Lower-case the text: only for benchmarks whose metric ignores case."""
    pretokenised: bool = False
    """The text is already tokenised by white space, so punctuation and digits are not split again."""
    same_as: Path | None = None
    """A run folder or bundle whose vocabulary is used instead of a new one. If ``start_from`` is the same folder, every
    parameter can be copied. The path is relative to the working directory, as for ``start_from``."""


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
    optimiser: Literal["adam", "muon"] = "adam"
    """``muon``: Muon for the matrices, Adam for embeddings, biases and layer norms."""
    max_updates: int = Field(100_000, ge=1)
    peak_rate: float = Field(1e-3, gt=0)
    """Learning rate at the end of the warm-up; afterwards it falls with the inverse square root of the update."""
    warmup_updates: int = Field(4000, ge=1)
    cooldown_updates: int = Field(0, ge=0)
    """The last updates, in which the rate falls linearly to zero."""
    beta2: float = Field(0.98, gt=0, lt=1)
    """Adam's second moment (section 5.3 of 1706.03762)."""
    weight_decay: float = Field(0.0, ge=0)
    """Weight decay of matrices, decoupled from the gradient (AdamW); not of biases, layer norms and embeddings."""
    label_smoothing: float = Field(0.1, ge=0, lt=1)
    sampled_pieces: int = Field(0, ge=0)
    """The softmax is over the batch's own target pieces and this many random ones, which stand for all others
    (importance sampling, Jean et al. 2015, 1412.2007); 0 is the whole vocabulary."""
    whole_softmax_updates: int | None = Field(None, ge=0)
    """The last updates, whose softmax is over the whole vocabulary; by default as many as ``cooldown_updates``."""
    guided_alignment: GuidedAlignmentConfig | None = None
    clip_norm: float = Field(1.0, gt=0)
    precision: Literal["fp32", "bf16", "fp16", "auto"] = "fp32"
    """``bf16`` and ``fp16`` are mixed precision: products in half precision, parameters in fp32; fp16 needs a GPU.
    ``auto`` measures some updates when a run begins and chooses the fastest, also for the run when it is resumed."""


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


class SearchConfig(Section):
    """The search with which the command ``grid`` measures a variant; training itself translates greedily."""

    beam_size: int = Field(1, ge=1, le=64)
    length_penalty: float = Field(1.0, ge=0, le=10)
    """α; it counts from a beam of 2 on."""
    length_rule: Literal["power", "gnmt"] = "power"
    """``power``: log-probabilities are divided by length^α. ``gnmt``: by ((5 + length) / 6)^α (1609.08144)."""


class Recipe(Section):
    """A whole run."""

    name: str = Field(pattern=r"^[a-z0-9][a-z0-9-]*$")
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
    search: SearchConfig = SearchConfig()
    max_tokens: int = Field(256, ge=8, le=512)
    """Longest sentence of either side in subwords, including the end token; also the limit of the served model."""
    start_from: Path | None = None
    """A run folder or bundle whose parameters the run begins with; embeddings are matched by piece."""

    @property
    def source_languages(self) -> tuple[str, ...]:
        """Return the source languages, one or several."""
        return (self.source_language,) if isinstance(self.source_language, str) else self.source_language

    def language_of(self, corpus: CorpusConfig) -> str:
        """Return the source language of a corpus of this recipe."""
        return corpus.source_language or self.source_languages[0]

    @model_validator(mode="after")
    def _corpora_name_their_language(self) -> Recipe:
        known = self.source_languages
        for corpus in self.corpora:
            if corpus.source_language is None and len(known) > 1 and corpus.origin is None:
                raise ValueError(f"corpus {corpus.name}: source_language must be one of {', '.join(known)}")
            if corpus.source_language is not None and corpus.source_language not in known:
                raise ValueError(
                    f"corpus {corpus.name}: source_language must be one of {', '.join(known)}, "
                    f"not {corpus.source_language}"
                )
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
                known = ", ".join(sorted(origins))
                raise ValueError(f"corpus {corpus.name}: {key} must be one of {known}, not {corpus.origin}")
        return self


def load_recipe(path: Path, overrides: list[str] | None = None) -> Recipe:
    """Read a YAML recipe and apply ``key.subkey=value`` overrides.

    Raises RecipeError if the file is missing or no YAML, or if it has unknown keys or wrong values.
    """
    return _resolve(parse_recipe(read_recipe(path, overrides), str(path)), path.parent)


def read_recipe(path: Path, overrides: list[str] | None = None) -> dict[str, Any]:
    """Return the keys of a YAML recipe with ``key.subkey=value`` overrides; raises RecipeError if it is no mapping."""
    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise RecipeError(f"no recipe at {path}; recipes are in training/recipes/") from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise RecipeError(f"{path} is not valid UTF-8 YAML: {error}") from error
    if not isinstance(content, dict):
        raise RecipeError(f"{path} must contain a mapping of keys, not {type(content).__name__}")
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
