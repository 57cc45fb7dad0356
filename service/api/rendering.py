"""The engine's results as JSON values."""

import math
from collections.abc import Container, Iterable, Sequence
from datetime import UTC, datetime
from typing import Any

import numpy as np

from service.engine import (
    AttentionMap,
    BoundedPool,
    FloatArray,
    PivotText,
    Search,
    SentenceDetail,
    TokenOrWord,
    Translation,
    Word,
)

DIGITS = 6
REPRESENTATIONS = BoundedPool("large answers", 2, 32)  # CSV, JSON, pages: megabytes each, so few are made at a time


def finite(value: float) -> float:
    """Return a number that JSON can hold: six digits, and a very small number for a probability of zero."""
    return round(value, DIGITS) if math.isfinite(value) else -1e9


def timestamp(seconds: float) -> str:
    """Return seconds since 1970 as in RFC 3339."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


def render_token(token: TokenOrWord) -> dict[str, Any]:
    """Return a token with its id, or a word with the ids of its tokens; `special` only for special tokens."""
    ids: dict[str, Any] = {"ids": list(token.ids)} if isinstance(token, Word) else {"id": token.id}
    rendered = {**ids, "text": token.text, "piece": token.piece, "start": token.start, "end": token.end}
    return rendered if token.special is None else {**rendered, "special": token.special}


def render_side(text: str, tokens: Iterable[TokenOrWord]) -> dict[str, Any]:
    """Return one side of a sentence pair."""
    return {"text": text, "tokens": [render_token(token) for token in tokens]}


def render_weights(weights: FloatArray) -> list[Any]:
    """Return weights as nested lists of numbers with six digits, null for unknown ones."""
    rounded = np.round(weights.astype(np.float64), DIGITS)
    unknown = ~np.isfinite(rounded)
    return (np.where(unknown, None, rounded) if unknown.any() else rounded).tolist()  # type: ignore[call-overload,no-any-return]


def render_pairs(pairs: Iterable[Sequence[int]]) -> list[list[int]]:
    """Return alignment points."""
    return [[int(source), int(target)] for source, target in pairs]


def render_sentence(sentence: SentenceDetail) -> dict[str, Any]:
    """Return one translated sentence; token positions are in the caller's own text and in the whole translation."""
    rendered: dict[str, Any] = {
        "source": render_side(sentence.source_text, sentence.source_tokens) | {"words": list(sentence.source_words)},
        "target": render_side(sentence.target_text, sentence.target_tokens) | {"words": list(sentence.target_words)},
        "score": finite(sentence.score),
        "token_logprobs": [finite(value) for value in sentence.token_logprobs],
        "alignment": render_pairs(sentence.alignment),
        "word_alignment": render_pairs(sentence.word_alignment),
        "finish_reason": sentence.finish_reason,
        "coverage": {
            side: _covered(words, {link[number] for link in sentence.word_alignment})
            for number, (side, words) in enumerate(
                (("source", sentence.source_words), ("target", sentence.target_words))
            )
        },
        "quality": None if sentence.quality is None else finite(sentence.quality),
    }
    if sentence.kept_source:
        rendered["kept_source"] = True
    rendered |= {name: list(parts) for name, parts in (("lost", sentence.lost), ("added", sentence.added)) if parts}
    return rendered if sentence.values is None else {**rendered, "values": sentence.values}


def _covered(words: Sequence[str], linked: Container[int]) -> float:
    """Return the share of words, without punctuation, that are linked to a word of the other side."""
    counted = [number in linked for number, word in enumerate(words) if any(map(str.isalnum, word))]
    return round(sum(counted) / len(counted), DIGITS) if counted else 1.0


def render_details(translation: Translation) -> dict[str, Any]:
    """Return all sentences of a text; with a pivot language those of the second leg, and `pivot` is the first."""
    rendered: dict[str, Any] = {"sentences": [render_sentence(sentence) for sentence in translation.sentences]}
    if translation.pivot is not None:
        rendered["pivot"] = render_pivot(translation.pivot) | {
            "sentences": [render_sentence(sentence) for sentence in translation.pivot.sentences]
        }
    return rendered


def render_low_quality(translation: Translation) -> list[dict[str, Any]]:
    """Return the sentences of a text that are below the minimal quality."""
    return [
        {
            "source": each.source_text,
            "target": each.target_text,
            "start": each.start,
            "quality": finite(each.quality),
            "kept_source": each.kept_source,
        }
        for each in translation.qualities
        if each.low and each.quality is not None
    ]


def render_pivot(pivot: PivotText) -> dict[str, Any]:
    """Return the text between two legs, and the model of the first."""
    return {"language": pivot.language, "text": pivot.text, "model": pivot.model, "digest": pivot.digest}


def render_attention(attention: AttentionMap) -> dict[str, Any]:
    """Return attention weights, their axes and their tokens."""
    rendered = {
        "model": attention.model,
        "digest": attention.digest,
        "kind": attention.kind,
        "layer": attention.layer,
        "head": attention.head,
        "step": attention.step,
        "source": render_side(attention.source_text, attention.source_tokens),
        "target": render_side(attention.target_text, attention.target_tokens),
        "axes": list(attention.axes),
        "weights": render_weights(attention.weights),
        "path": attention.path,
        "score": finite(attention.score),
        "token_logprobs": [finite(value) for value in attention.token_logprobs],
        "token_ranks": [int(rank) for rank in attention.token_ranks],
        "alignment": render_pairs(attention.alignment),
        "quality": None if attention.quality is None else finite(attention.quality),
    }
    if attention.ensemble is not None:
        rendered["ensemble"] = attention.ensemble
    if attention.kind in ("decoder", "occlusion"):
        rendered["columns"] = [render_token(token) for token in attention.column_tokens]
    if attention.scores is not None:
        rendered |= {
            "stage": "scores",
            "scores": render_weights(attention.scores.scores),
            "score_function": attention.scores.function,
            "normalisation": attention.scores.normalisation,
            "scale": attention.scores.scale,
        }
    if attention.search is not None:
        rendered["search"] = render_search(attention.search)
    return rendered


def render_search(search: Search) -> dict[str, Any]:
    """Return a beam search: every hypothesis that it considered, in this order, and the way to the best one."""
    hypotheses: list[dict[str, Any]] = []
    lengths: list[int] = []
    for found in search.trace.hypotheses:
        begins = found.parent < 0
        lengths.append(0 if begins else lengths[found.parent] + 1)
        rendered: dict[str, Any] = {
            "parent": None if begins else found.parent,
            "step": None if begins else lengths[-1] - 1,
            "id": found.token,
            "piece": search.pieces[found.token],
            "logprob": finite(found.logprob),
            "total": finite(found.total),
            "outcome": found.outcome,
        }
        if found.outcome == "finished":
            rendered["score"] = finite(found.total / max(lengths[-1], 1) ** search.length_penalty)
        if found.following:
            rendered["next"] = [
                {"id": token, "piece": search.pieces[token], "logprob": finite(logprob)}
                for token, logprob in found.following
            ]
        hypotheses.append(rendered)
    return {
        "beam_size": search.beam_size,
        "length_penalty": search.length_penalty,
        "shortlist": search.shortlist,
        "hypotheses": hypotheses,
        "best": list(search.trace.best),
    }


def render_cell(attention: AttentionMap, row: int, column: int) -> dict[str, Any]:
    """Return one weight with every number that it is made of."""
    found = attention.scores
    assert found is not None
    assert found.scores.ndim == 2
    score, terms = float(found.scores[row, column]), found.terms(row, column)
    rendered: dict[str, Any] = {
        "row": row,
        "column": column,
        "masked": score == -math.inf,
        "score": round(score, DIGITS) if math.isfinite(score) else None,
        "weight": render_weights(attention.weights[row, column].reshape(1))[0],
    }
    if terms is None or found.queries is None or found.keys is None:
        return rendered
    parts = {"query": found.queries[row], "key": found.keys[column], "terms": terms}
    if found.energy is not None:
        parts["energy"] = found.energy
    return {
        **rendered,
        "sum": finite(float(terms.sum())),
        **{name: render_weights(part) for name, part in parts.items()},
    }
