"""The shapes of /attention."""

from typing import Annotated, ClassVar, Literal

from pydantic import BeforeValidator, Field

from service.answers.attention import MOST_MODELS
from service.api.schemas.common import (
    Accepts,
    Decoding,
    FigureRequest,
    Text,
    Trimmed,
    as_whole,
)

Format = Literal["json", "svg", "png", "html", "csv", "npz", "vega", "bertviz", "pharaoh"]
CELL = r"^[0-9]{1,4},[0-9]{1,4}$"
SEVERAL_MAPS = ("compare", "contrast", "models")  # views
DIGESTS = rf"^sha256:[0-9a-f]{{12,64}}(,sha256:[0-9a-f]{{12,64}}){{0,{MOST_MODELS - 1}}}$"
MODELS = rf"^[^,]{{1,64}}(,[^,]{{1,64}}){{0,{MOST_MODELS - 1}}}$"
IDS = r"^[0-9]{1,7}(,[0-9]{1,7}){0,4095}$"


def selector(value: object) -> object:
    """Return a layer or a head as a word in lower case or as a number."""
    number = as_whole(value)
    return number if number is not None else value.lower() if isinstance(value, str) else value


Choice = Annotated[
    Literal["align", "mean", "all"] | Annotated[int, Field(strict=True, ge=0, le=9_999)],
    BeforeValidator(selector),
    Accepts("align, mean, all or a whole number from 0"),
]
Digests = Annotated[
    str | None,
    Field(pattern=DIGESTS),
    Trimmed,
    Accepts("sha256: and at least 12 of its digits, for each model"),
]
Models = Annotated[
    str | None,
    Field(pattern=MODELS),
    Trimmed,
    Accepts(f"names of models with commas between them, at most {MOST_MODELS}"),
]
Ids = Annotated[str | None, Field(pattern=IDS), Trimmed, Accepts("ids of tokens with commas between them")]
Kind = Literal["cross", "encoder", "decoder", "occlusion"]


class AttentionRequest(FigureRequest, Decoding):
    """The attention to show, and its form."""

    kept_if_empty: ClassVar[frozenset[str]] = frozenset({"text"})

    text: Text = Field(description="One sentence, or several: the model sees none from another")
    source: Text = Field(description="Code of the language of the text")
    target: Text = Field(description="Code of the language of the translation")
    target_text: str | None = Field(
        None,
        description="Your own translation of `text` as one sentence, which is scored (forced decoding) in its "
        "canonical segmentation: the subwords that the tokenizer makes of it. A search may have chosen others; "
        "`target_ids` forces those",
    )
    target_ids: Ids = Field(
        None, description="The ids of the target's tokens, as the details of /translate have them. Exactly this path "
        "is scored, so the score is that of the search; `target_text`, if it is sent too, must be what they write"
    )  # fmt: skip
    source_ids: Ids = Field(
        None, description="With `target_ids`: the ids of the source's tokens in the same answer. If the model would "
        "read this text otherwise, the answer is 400"
    )  # fmt: skip
    leg: int | None = Field(
        None, ge=1, le=2, description="Only for a pair that is translated through a pivot language, and required "
        "there: 1 is the translation into the pivot language, 2 the translation of that text into the target language"
    )  # fmt: skip
    kind: Kind = Field(
        "cross", description="Which attention; `occlusion` is no attention but what each target token loses in "
        "log-probability if a part of the source is removed"
    )  # fmt: skip
    stage: Literal["weights", "scores"] = Field(
        "weights", description="`scores`: also the numbers before the softmax, which pictures then show. For one head "
        "or `all`, of subwords"
    )  # fmt: skip
    cell: Annotated[str, Field(pattern=CELL)] | None = Field(
        None, description="Only with `stage=scores` and one head, in JSON: row and column with a comma between them, "
        "from 0. `cell` of the answer has the query, the key and their product by dimension"
    )  # fmt: skip
    layer: Choice = Field(
        "align", description="`align` (the one with the best measured alignment), `mean`, `all`, or a number from 0. "
        "`mean` is the default for `encoder` and `decoder`"
    )  # fmt: skip
    head: Choice = Field("align", description="As for `layer`")
    tokens: Literal["subword", "word"] = Field("subword", description="What a row and a column mean")
    specials: Literal["keep", "drop", "renormalise"] = Field("keep", description="How the end token is shown")
    format: Format = Field(
        "json", description="Format of the answer. `vega` is the picture's "
        "Vega-Lite specification, `bertviz` is the input of BertViz, `pharaoh` the alignment"
    )  # fmt: skip
    view: Literal["heatmap", "lines", "compare", "contrast", "models", "steps"] = Field(
        "heatmap", description="`heatmap`: one map, or small multiples with `all`; `lines` between tokens; `compare`: "
        "two models on the same texts and their difference; `contrast`: two translations by one model; `models`: any "
        "models on the same texts; `steps`: in JSON, the beam search that found the translation, step by step"
    )  # fmt: skip
    models: Models = Field(
        None, description="For `models`, and required there: the names, with commas between them. The translation is "
        "`target_text`, or that of the first one"
    )  # fmt: skip
    other_model: str | None = Field(
        None, description="For `compare`; default: the other architecture of the pair, or of an ensemble its members"
    )  # fmt: skip
    member: str | None = Field(
        None, description="Of an ensemble: the member whose weights are wanted, for the translation of all of them. "
        "Default: the first"
    )  # fmt: skip
    other_text: str | None = Field(
        None, description="For `contrast`: compared with `target_text`, instead of the model's own translation"
    )
    language: Literal["en", "de", "fr"] = Field("en", description="Of the words of pictures")
    digest: Digests = Field(
        None, description="Digest of the model (of all, with commas, for `compare` and `models`), or its beginning: "
        "the address is then answered by this model only, may be cached for ever, and is answered 409 by any other"
    )  # fmt: skip

    @property
    def digests(self) -> tuple[str, ...]:
        """Return the digests of the wanted models."""
        return tuple(self.digest.split(",")) if self.digest else ()
