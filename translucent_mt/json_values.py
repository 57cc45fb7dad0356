"""The server's JSON as the values that the engine has in this process: the inverse of service.api.rendering."""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from service.engine import (
    AttentionMap,
    PivotText,
    Search,
    SearchTrace,
    SentenceDetail,
    Token,
    TokenOrWord,
    TracedHypothesis,
    Word,
    mean_quality,
)
from translucent_mt.backend import Model, Pair, Translated

Json = Mapping[str, Any]


def token_of(value: Json) -> Token:
    """Return one token."""
    return Token(value["id"], *_place(value))


def shown_of(value: Json) -> TokenOrWord:
    """Return one token or word."""
    return Word(tuple(value["ids"]), *_place(value)) if "ids" in value else token_of(value)


def sentence_of(value: Json) -> SentenceDetail:
    """Return one sentence of `details`; its places are those of its tokens."""
    source, target = value["source"], value["target"]
    return SentenceDetail(
        source_text=source["text"],
        target_text=target["text"],
        source_start=_start(source["tokens"]),
        target_start=_start(target["tokens"]),
        source_tokens=_tokens(source),
        target_tokens=_tokens(target),
        score=value["score"],
        token_logprobs=tuple(value["token_logprobs"]),
        alignment=_points(value["alignment"]),
        finish_reason=value["finish_reason"],
        source_words=tuple(source["words"]),
        target_words=tuple(target["words"]),
        word_alignment=_points(value["word_alignment"]),
        values=value.get("values"),
        quality=value["quality"],
        kept_source=value.get("kept_source", False),
        lost=tuple(value.get("lost") or ()),
        added=tuple(value.get("added") or ()),
    )


def translated_of(answer: Json, number: int, asked: Pair) -> Translated:
    """Return one text of the answer to a list of texts."""
    detected = answer.get("detectedLanguage")
    details = answer["details"][number] if "details" in answer else {"sentences": []}
    sentences = tuple(map(sentence_of, details["sentences"]))
    pivot = details.get("pivot")
    return Translated(
        text=answer["translatedText"][number],
        pair=Pair(detected[number]["language"] if detected else asked.source, asked.target),
        alternatives=tuple(answer["alternatives"][number]) if "alternatives" in answer else (),
        sentences=sentences,
        quality=mean_quality((each.quality, len(each.source_text)) for each in sentences),
        pivot=None
        if pivot is None
        else PivotText(**pivot | {"sentences": tuple(map(sentence_of, pivot["sentences"]))}),
        warnings=tuple(each["message"] for each in answer["warnings"][number]) if "warnings" in answer else (),
    )


def attention_of(value: Json) -> AttentionMap:
    """Return the answer of /attention."""
    source, target = value["source"], value["target"]
    return AttentionMap(
        kind=value["kind"],
        layer=value["layer"],
        head=value["head"],
        axes=tuple(value["axes"]),
        weights=np.array(value["weights"], np.float32),  # null, an unknown weight, becomes NaN
        source_text=source["text"],
        target_text=target["text"],
        source_tokens=tuple(map(shown_of, source["tokens"])),
        target_tokens=tuple(map(shown_of, target["tokens"])),
        score=value["score"],
        token_logprobs=tuple(value["token_logprobs"]),
        token_ranks=tuple(value["token_ranks"]),
        alignment=_points(value["alignment"]),
        digest=value["digest"],
        model=value["model"],
        column_tokens=tuple(map(shown_of, value["columns"])) if value.get("columns") else (),
        step=value["step"],
        path=value.get("path", "search"),
        search=search_of(value["search"]) if value.get("search") else None,
    )


def search_of(value: Json) -> Search:
    """Return the search of an answer with `view=steps`."""
    found = value["hypotheses"]
    hypotheses = tuple(
        TracedHypothesis(
            parent=-1 if each["parent"] is None else each["parent"],
            token=each["id"],
            logprob=each["logprob"],
            total=each["total"],
            outcome=each["outcome"],
            following=tuple((token["id"], token["logprob"]) for token in each.get("next") or ()),
        )
        for each in found
    )
    pieces = {token["id"]: token["piece"] for each in found for token in (each, *(each.get("next") or ()))}
    trace = SearchTrace(hypotheses, tuple(value["best"]))
    return Search(trace, pieces, value["beam_size"], value["length_penalty"], value["shortlist"])


def model_of(value: Json, pair: Pair) -> Model:
    """Return one model of /models, for one of its pairs."""
    return Model(
        name=value["name"],
        architecture=value["architecture"],
        source=pair.source,
        target=pair.target,
        digest=value["digest"],
        precision=value["precision"],
        attention=value["attention"],
        card=value["card"],
    )


def _place(value: Json) -> tuple[str, str, int, int, str | None]:
    return value["piece"], value["text"], value["start"], value["end"], value.get("special")


def _tokens(side: Json) -> tuple[Token, ...]:
    return tuple(map(token_of, side["tokens"]))


def _start(tokens: Iterable[Json]) -> int:
    return next((token["start"] for token in tokens), 0)


def _points(pairs: Iterable[Iterable[int]]) -> tuple[tuple[int, int], ...]:
    return tuple((source, target) for source, target in pairs)
