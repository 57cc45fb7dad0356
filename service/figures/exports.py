"""The numbers of a map as files for other programs: CSV, npz, BertViz's JSON, Pharaoh's alignments."""

import csv
import io
import json
import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from service.engine import AttentionMap, InvalidOption, TokenOrWord, Word
from service.figures.figure import DIGITS
from service.figures.panels import column_tokens, row_tokens

COLUMNS = ("map", "layer", "head", "row", "row_token", "column", "column_token", "weight", "logprob", "rank", "step")
FORMULA = "=+-@\t\r"  # the first characters of formulas
Named = Sequence[tuple[str, AttentionMap]]


def as_csv(maps: Named) -> bytes:
    """Return one line for each weight in UTF-8; `row` and `column` count from 0; a target row has `logprob` and `rank`.

    An unknown weight is empty. With scores there is one more column, `score`, which is empty where a position is
    masked. `step` is the decoder step of a row; it is empty for rows of the encoder.
    """
    file = io.StringIO(newline="")
    writer = csv.writer(file, lineterminator="\r\n")
    writer.writerow(COLUMNS if all(attention.scores is None for _, attention in maps) else (*COLUMNS, "score"))
    for name, attention in maps:
        writer.writerows(_records(name, attention))
    return file.getvalue().encode("utf-8")


def _records(name: str, attention: AttentionMap) -> Iterator[tuple[Any, ...]]:
    rows, columns = row_tokens(attention), column_tokens(attention)
    scored = attention.kind != "encoder" and len(attention.token_logprobs) == len(rows)
    weights = np.round(attention.weights.astype(np.float64), DIGITS)
    layers = list(range(weights.shape[0])) if "layer" in attention.axes else [attention.layer]
    heads = list(range(weights.shape[-3])) if "head" in attention.axes else [attention.head]
    shape = (len(layers), len(heads), len(rows), len(columns))
    weights = weights.reshape(shape)
    scores = None if attention.scores is None else attention.scores.scores.reshape(shape).astype(np.float64)
    for in_layers, (layer, of_layer) in enumerate(zip(layers, weights.tolist(), strict=True)):
        for in_heads, (head, of_head) in enumerate(zip(heads, of_layer, strict=True)):
            for row, of_row in enumerate(of_head):
                score = (
                    (round(attention.token_logprobs[row], DIGITS), attention.token_ranks[row]) if scored else ("", "")
                )
                for column, weight in enumerate(of_row):
                    shown = "" if math.isnan(weight) else weight
                    place = (name, layer, head, row, _cell(rows[row]), column, _cell(columns[column]))
                    more = () if scores is None else (_finite(scores[in_layers, in_heads, row, column]),)
                    yield (*place, shown, *score, attention.step or "", *more)


def _finite(value: float) -> float | str:
    return round(float(value), DIGITS) if math.isfinite(value) else ""


def _name(token: TokenOrWord) -> str:
    return token.special or token.text or token.piece


def _cell(token: TokenOrWord) -> str:
    """Return a token's name that no spreadsheet reads as a formula: one of several characters gets an apostrophe."""
    name = _name(token)
    return f"'{name}" if len(name) > 1 and name[0] in FORMULA else name


def as_npz(maps: Named) -> bytes:
    """Return named arrays that `numpy.load` reads without pickle; with several maps, their names are prefixes.

    Unknown weights are NaN.
    """
    arrays: dict[str, npt.NDArray[Any]] = {}
    for name, attention in maps:
        prefix = "" if len(maps) == 1 else f"{name}."
        arrays |= {prefix + key: value for key, value in _arrays(attention).items()}
    file = io.BytesIO()
    np.savez_compressed(file, allow_pickle=False, **arrays)
    return file.getvalue()


def _arrays(attention: AttentionMap) -> dict[str, npt.NDArray[Any]]:
    texts = {"step": attention.step or "", "layer": str(attention.layer), "head": str(attention.head)}
    texts |= {name: getattr(attention, name) for name in ("source_text", "target_text", "kind", "model", "digest")}
    tokens = {
        "row_tokens": row_tokens(attention),
        "column_tokens": column_tokens(attention),
        "source_tokens": attention.source_tokens,
        "target_tokens": attention.target_tokens,
    }
    return {
        "weights": attention.weights.astype(np.float32),
        "axes": _texts(attention.axes),
        **{name: _texts([_name(token) for token in axis]) for name, axis in tokens.items()},
        "source_spans": _spans(attention.source_tokens),
        "target_spans": _spans(attention.target_tokens),
        "source_ids": _ids(attention.source_tokens),
        "target_ids": _ids(attention.target_tokens),
        "token_logprobs": np.asarray(attention.token_logprobs, np.float32),
        "token_ranks": np.asarray(attention.token_ranks, np.int64),
        "alignment": np.asarray(attention.alignment, np.int64).reshape(-1, 2),
        "score": np.asarray(attention.score, np.float32),
        **{name: np.asarray(text, np.str_) for name, text in texts.items()},
        **_score_arrays(attention),
    }


def _score_arrays(attention: AttentionMap) -> dict[str, npt.NDArray[Any]]:
    scores = attention.scores
    if scores is None:
        return {}
    parts = {"scores": scores.scores, "queries": scores.queries, "keys": scores.keys, "energy": scores.energy}
    return {
        **{name: array for name, array in parts.items() if array is not None},
        "scale": np.asarray(scores.scale, np.float32),
        "score_function": np.asarray(scores.function, np.str_),
    }


def _texts(values: Sequence[str]) -> npt.NDArray[np.str_]:
    return np.asarray(list(values), np.str_)


def _spans(tokens: Sequence[TokenOrWord]) -> npt.NDArray[np.int64]:
    return np.asarray([(token.start, token.end) for token in tokens], np.int64).reshape(-1, 2)


def _ids(tokens: Sequence[TokenOrWord]) -> npt.NDArray[np.int64]:
    """Return [tokens], the ids; of words [words, ids of the longest], with -1 behind those of shorter ones."""
    if not any(isinstance(token, Word) for token in tokens):
        return np.asarray([token.ids[0] for token in tokens], np.int64)
    longest = max(len(token.ids) for token in tokens)
    return np.asarray([(*token.ids, *[-1] * (longest - len(token.ids))) for token in tokens], np.int64)


def as_bertviz(attention: AttentionMap) -> bytes:
    """Return BertViz's input: `cross_attention[l][h][t][s]` (or encoder_, decoder_) and the tokens of both sides.

    A row of cross-attention has the token that the step writes, a row of the decoder the one that it reads. Raise
    InvalidOption unless the map has every layer and head.
    """
    if attention.axes[:2] != ("layer", "head"):
        raise InvalidOption("format=bertviz wants layer=all and head=all.")
    weights = np.round(attention.weights.astype(np.float64), DIGITS).tolist()
    content = {
        "encoder_tokens": [_name(token) for token in attention.source_tokens],
        "decoder_tokens": [
            _name(token)
            for token in (attention.target_tokens if attention.kind == "cross" else column_tokens(attention))
        ],
        "decoder_tokens_are": "output" if attention.kind == "cross" else "input",
        f"{attention.kind}_attention": weights,
        "model": attention.model,
        "digest": attention.digest,
    }
    if attention.kind == "encoder":
        del content["decoder_tokens"], content["decoder_tokens_are"]
    elif attention.kind == "decoder":
        del content["encoder_tokens"]
    return json.dumps(content, ensure_ascii=False, separators=(",", ":")).encode("utf-8")


def as_pharaoh(attention: AttentionMap) -> bytes:
    """Return the alignment as `source-target` pairs of positions in the two token lists, from 0, on one line."""
    return (" ".join(f"{source}-{target}" for source, target in sorted(attention.alignment)) + "\n").encode("ascii")
