"""The recipe of a sentence-embedding run: every key with its meaning and its limits."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, model_validator

from training.network_config import Section
from training.recipe import VocabularyConfig, read_recipe, validated


class SentenceCorpus(Section):
    """Sentence pairs of one domain in two languages."""

    corpus: str
    """Name in ``training.data.corpora``, or any label when ``path`` is given."""
    languages: tuple[str, str]
    """The languages of the two columns."""
    domain: str
    """The class that the domain classifier learns for these sentences."""
    path: Path | None = None
    """A local TSV (first language, tab, second language), relative to the recipe; .gz too."""
    weight: float = Field(1.0, gt=0)
    """The share of this corpus in a batch, relative to the other corpora."""
    max_words: int = Field(30, ge=1)
    """Pairs with more white-space words on either side are left out."""
    max_pairs: int | None = Field(None, ge=1)
    """Keep at most this many pairs, chosen by hash so that the choice is stable."""
    held_out: int = Field(0, ge=0)
    """The number of distinct sentences of the first language that are held out, with one translation each."""

    @property
    def name(self) -> str:
        """Return a name that is unique in the recipe."""
        return f"{self.corpus}-{'-'.join(self.languages)}"


class PrunedHidden(Section):
    """The paper's pruned hidden layer (appendix A): a unit reads one row or one column of M, not all of it."""

    rows: int = Field(16, ge=0)
    """p: units for each of the r rows of M; each reads the values of its row."""
    columns: int = Field(1, ge=0)
    """q: units for each of the columns of M; each reads the r values of its column."""

    @model_validator(mode="after")
    def _has_units(self) -> PrunedHidden:
        if not self.rows + self.columns:
            raise ValueError("rows and columns must not both be 0")
        return self


class SentenceNetworkConfig(Section):
    """arXiv 1703.03130, section 2.1."""

    embedding: int = Field(80, ge=4)
    """Width of the token embeddings."""
    hidden: int = Field(96, ge=4)
    """u: units of each direction of the recurrent layer."""
    embedding_states: bool = True
    """H holds the token embeddings beside the states of the recurrent layer (as in Lai et al. 2015, RCNN), so that a
    hop can also read what a token means alone. False is the paper's H."""
    attention_size: int = Field(64, ge=1)
    """d_a: rows of W1."""
    hops: int = Field(8, ge=1, le=64)
    """r: rows of A; each is one way to attend to the sentence."""
    head: int | PrunedHidden = 256
    """The hidden layer after M: the number of units of a full one, or the sizes of a pruned one."""
    width: int = Field(128, ge=2)
    """Width of the embedding that is compared and served."""
    dropout: float = Field(0.0, ge=0, lt=1)
    """On token embeddings and on the hidden layer."""

    @property
    def states(self) -> int:
        """Return the width of H (2u in the paper)."""
        return 2 * self.hidden + (self.embedding if self.embedding_states else 0)


class SentenceOptimisation(Section):
    """The loss and its optimisation."""

    pairs: int = Field(256, ge=2)
    """Pairs of a batch; the translations of the others are each pair's negatives."""
    max_tokens: int = Field(32, ge=2)
    """Pairs with more subwords on either side are not trained on; long sentences take most of the time."""
    max_updates: int = Field(2000, ge=1)
    peak_rate: float = Field(3e-3, gt=0)
    warmup_updates: int = Field(100, ge=1)
    clip_norm: float = Field(1.0, gt=0)
    scale: float = Field(20.0, gt=0)
    """Factor of the cosines in the softmax over translations (an inverse temperature)."""
    margin: float = Field(0.2, ge=0)
    """Subtracted from the cosine of a true pair: additive-margin softmax (LaBSE, 2007.01852; Yang et al. 2019,
    1902.08564)."""
    penalty: float = Field(0.1, ge=0)
    """Factor of ‖A Aᵀ − I‖²_F, the mean over sentences (equation 8 of the paper)."""
    language_weight: float = Field(0.3, ge=0)
    """Factor of the cross-entropy of the languages."""
    domain_weight: float = Field(0.3, ge=0)
    """Factor of the cross-entropy of the domains."""
    matching_weight: float = Field(1.0, ge=0)
    """Factor of the softmax over translations; 0 trains classifiers only."""
    evaluate_every: int = Field(200, ge=1)
    """Updates between two measurements on held-out pairs, which also write a checkpoint."""


class SentenceRecipe(Section):
    """A whole run."""

    name: str = Field(pattern=r"^[a-z0-9][a-z0-9-]*$")
    kind: Literal["sentence"]
    seed: int = 1
    max_tokens: int = Field(96, ge=8, le=512)
    """Longest sentence in subwords, including the end token; also the limit of the served model."""
    corpora: Annotated[tuple[SentenceCorpus, ...], Field(min_length=1)]
    vocabulary: VocabularyConfig = VocabularyConfig(size=4000, lowercase=True)
    network: SentenceNetworkConfig = SentenceNetworkConfig()
    optimisation: SentenceOptimisation = SentenceOptimisation()

    @property
    def languages(self) -> tuple[str, ...]:
        """Return the languages, in the order in which the corpora name them."""
        return tuple(dict.fromkeys(language for corpus in self.corpora for language in corpus.languages))

    @property
    def domains(self) -> tuple[str, ...]:
        """Return the domains, in the order in which the corpora name them."""
        return tuple(dict.fromkeys(corpus.domain for corpus in self.corpora))

    @model_validator(mode="after")
    def _corpora_differ(self) -> SentenceRecipe:
        names = [corpus.name for corpus in self.corpora]
        if len(set(names)) != len(names):
            raise ValueError("two corpora have the same name and languages; merge them")
        if not any(corpus.held_out for corpus in self.corpora):
            raise ValueError("no corpus holds sentences out: give at least one held_out")
        return self


def load_sentence_recipe(path: Path, overrides: list[str] | None = None) -> SentenceRecipe:
    """Read a YAML recipe and apply ``key.subkey=value`` overrides; raise RecipeError."""
    recipe = validated(SentenceRecipe, read_recipe(path, overrides), str(path))
    corpora = tuple(c.model_copy(update={"path": c.path and (path.parent / c.path).resolve()}) for c in recipe.corpora)
    return recipe.model_copy(update={"corpora": corpora})
