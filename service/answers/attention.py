"""The answers of /attention: weights, one weight explained, a recorded search."""

import math
from typing import Any, Literal, Self

import numpy as np
from pydantic import ConfigDict, Field

from service.answers.answer import Answer, Points, Real, SideSchema, TokenSchema, finite, nested
from service.engine import (
    AttentionMap,
    RecordedSearch,
    SearchTrace,
    Selector,
    TargetPath,
    TracedHypothesis,
    ViewKind,
)

MOST_MODELS = 12


class ExplainedCell(Answer):
    """One weight with every number that it is made of."""

    row: int
    column: int
    masked: bool
    score: float | None = Field(description="`scale` times `sum`; null where the position is masked")
    weight: float | None
    sum: float | None = Field(None, description="The sum of `terms`")
    query: list[float] | None = None
    key: list[float] | None = None
    terms: list[float] | None = Field(
        None, description="By dimension: query times key, or with `additive` energy times tanh(query + key); absent "
        "for a score without dimensions"
    )  # fmt: skip
    energy: list[float] | None = Field(None, description="v of the additive score vᵀ tanh(query + key)")

    @classmethod
    def of(cls, attention: AttentionMap, row: int, column: int) -> Self:
        """Return one weight of a map of one head that was requested with its scores."""
        scores = attention.scores
        assert scores is not None
        score, terms = float(scores.scores[row, column]), scores.terms(row, column)
        parts: dict[str, Any] = {}
        if terms is not None and scores.queries is not None and scores.keys is not None:
            numbers = {
                "query": scores.queries[row],
                "key": scores.keys[column],
                "terms": terms,
                "energy": scores.energy,
            }
            parts = {name: nested(part) for name, part in numbers.items() if part is not None}
            parts["sum"] = finite(float(terms.sum()))
        return cls(
            row=row,
            column=column,
            masked=score == -math.inf,
            score=finite(score) if math.isfinite(score) else None,
            weight=nested(attention.weights[row, column].reshape(1))[0],
            **parts,
        )


class NextToken(Answer):
    """A token that may follow, as the search saw it before its rules (repetition, least length, values)."""

    id: int
    piece: str = Field(description="Spelling in the vocabulary")
    logprob: Real


class ConsideredHypothesis(Answer):
    """A hypothesis that the search considered: another one and one more token."""

    parent: int | None = Field(description="Index of the hypothesis that it continues; null for the first, empty one")
    step: int | None = Field(description="The step that considered it, from 0; a row of `weights`")
    id: int
    piece: str = Field(description="Spelling of its last token in the vocabulary")
    logprob: Real = Field(description="Of its last token, as the search saw it")
    total: Real = Field(description="The sum of its log-probabilities")
    outcome: Literal["live", "finished", "pruned"] = Field(
        description="`live`: it stayed in the beam; `finished`: a complete translation; `pruned`: it left the beam"
    )
    score: Real | None = Field(None, description="Of a finished one: `total` / tokens ** length_penalty")
    next: tuple[NextToken, ...] = Field((), description="The five likeliest next tokens of a live one")


class SearchSchema(Answer):
    """A whole beam search."""

    beam_size: int
    length_penalty: float
    shortlist: bool = Field(
        description="Whether the probabilities are over the words of a shortlist instead of the whole vocabulary, so "
        "that they are a little larger than those of `token_logprobs`"
    )
    hypotheses: tuple[ConsideredHypothesis, ...]
    best: tuple[int, ...] = Field(description="The way to the translation: indices of hypotheses, the empty one first")

    @classmethod
    def of(cls, search: RecordedSearch) -> Self:
        """Return every hypothesis that a search considered, in this order, and the way to the best one."""
        hypotheses: list[ConsideredHypothesis] = []
        lengths: list[int] = []
        for hypothesis in search.trace.hypotheses:
            begins = hypothesis.parent < 0
            length = 0 if begins else lengths[hypothesis.parent] + 1
            lengths.append(length)
            ended = hypothesis.outcome == "finished"
            following = [
                NextToken(id=token, piece=search.pieces[token], logprob=p) for token, p in hypothesis.following
            ]
            hypotheses.append(
                ConsideredHypothesis(
                    parent=None if begins else hypothesis.parent,
                    step=None if begins else length - 1,
                    id=hypothesis.token,
                    piece=search.pieces[hypothesis.token],
                    logprob=hypothesis.logprob,
                    total=hypothesis.total,
                    outcome=hypothesis.outcome,
                    score=hypothesis.total / max(length, 1) ** search.length_penalty if ended else None,
                    next=tuple(following),
                )
            )
        return cls(hypotheses=tuple(hypotheses), best=search.trace.best, **cls.shared(RecordedSearch, search))

    def value(self) -> RecordedSearch:
        """Return the search as the engine has it."""
        hypotheses = tuple(
            TracedHypothesis(
                -1 if one.parent is None else one.parent,
                one.id,
                one.logprob,
                one.total,
                one.outcome,
                tuple((token.id, token.logprob) for token in one.next),
            )
            for one in self.hypotheses
        )
        pieces = {one.id: one.piece for one in self.hypotheses}
        pieces |= {token.id: token.piece for one in self.hypotheses for token in one.next}
        return RecordedSearch(SearchTrace(hypotheses, self.best), pieces, **self.shared(RecordedSearch, self))


class AttentionResponse(Answer):
    """Attention weights with their axes named."""

    model: str = Field(description="The model whose weights these are")
    digest: str = Field(description="SHA-256 of the model's manifest")
    kind: ViewKind
    layer: Selector
    head: Selector
    step: Literal["produce", "consume"] | None = Field(
        description="The step of the decoder that a row belongs to: `produce`, the one that writes the row's token, or "
        "`consume`, the next one, which reads it (`layer=head=align` of a model that aligns there); null for "
        "`kind=encoder`"
    )  # fmt: skip
    source: SideSchema
    target: SideSchema
    axes: tuple[str, ...] = Field(
        description='Names of the axes of `weights`; for `all`, `"layer"` and `"head"` come first'
    )
    weights: list[Any] = Field(
        description="Nested in the order of `axes`; `step` says which step a row belongs to. With `consume` the "
        "row of the last token is null in every column: no step reads that token"
    )
    path: TargetPath = Field(
        description="Where the tokens of the target come from: the `search`, the `canonical` segmentation of a given "
        "text (also of a text in which nothing is translated), or the given `ids`",
    )
    score: Real
    token_logprobs: tuple[Real, ...]
    token_ranks: tuple[int, ...] = Field(description="1: the model's own first choice at that step")
    alignment: Points
    quality: Real | None = Field(
        description="Probability that a reader would call the model's own translation usable; null for a given one, "
        "and if the model gives none",
    )
    ensemble: str | None = Field(
        None, description="The ensemble that the model is a member of; translation, scores and digest are those of it"
    )  # fmt: skip
    columns: tuple[TokenSchema, ...] | None = Field(
        None, description="Only for `kind=decoder`: the tokens that were read, which begin with `<s>`; and for "
        "`kind=occlusion`: the parts of the source that were removed"
    )  # fmt: skip
    stage: Literal["scores"] | None = None
    scores: list[Any] | None = Field(
        None, description="With `stage=scores`, nested like `weights`, which are their softmax in each row; null where "
        "a position is masked"
    )  # fmt: skip
    score_function: Literal["dot", "scaled_dot", "additive", "other"] | None = None
    normalisation: Literal["softmax", "local", "hard"] | None = Field(
        None, description="What makes weights of scores: a softmax, one in a window, or the choice of the largest"
    )
    scale: float | None = Field(None, description="A score of a product is `scale` times the sum of its terms")
    search: SearchSchema | None = Field(None, description="With `view=steps`")
    cell: ExplainedCell | None = None

    @classmethod
    def of(cls, attention: AttentionMap) -> Self:
        """Return attention weights, their axes and their tokens."""
        more: dict[str, Any] = {}
        if attention.kind in ("decoder", "occlusion"):
            more["columns"] = tuple(map(TokenSchema.of, attention.column_tokens))
        if (scores := attention.scores) is not None:
            more |= {"stage": "scores", "score_function": scores.function}
            more |= {"normalisation": scores.normalisation, "scale": scores.scale}
        return cls(
            source=SideSchema.of(attention.source_text, attention.source_tokens),
            target=SideSchema.of(attention.target_text, attention.target_tokens),
            **cls.shared(AttentionMap, attention)
            | more
            | {
                "weights": nested(attention.weights),
                "scores": None if scores is None else nested(scores.scores),
                "search": None if attention.search is None else SearchSchema.of(attention.search),
            },
        )

    def value(self) -> AttentionMap:
        """Return the map as the engine has it, without the scores."""
        return AttentionMap(
            source_text=self.source.text,
            target_text=self.target.text,
            source_tokens=self.source.values,
            target_tokens=self.target.values,
            column_tokens=tuple(token.value() for token in self.columns or ()),
            **self.shared(AttentionMap, self)
            | {
                "weights": np.array(self.weights, np.float32),  # null, an unknown weight, becomes NaN
                "scores": None,
                "search": self.search and self.search.value(),
            },
        )


class AttentionMaps(Answer):
    """Several maps of the same text: two, or for `view=models` any number of models."""

    view: Literal["compare", "contrast", "models"]
    maps: list[AttentionResponse] = Field(min_length=1, max_length=MOST_MODELS)
    difference: list[Any] | None = Field(
        None, description="For `compare`: the weights of the first map minus those of the second"
    )


class BertvizAttention(Answer):
    """For `format=bertviz`: every layer and head, under BertViz's names."""

    model_config = ConfigDict(protected_namespaces=(), extra="forbid")

    model: str
    digest: str
    encoder_tokens: list[str] | None = None
    decoder_tokens: list[str] | None = None
    decoder_tokens_are: Literal["output", "input"] | None = Field(
        None, description="Whether a row has the token that its step writes (cross-attention) or reads (decoder)"
    )
    cross_attention: list[Any] | None = None
    encoder_attention: list[Any] | None = None
    decoder_attention: list[Any] | None = None
