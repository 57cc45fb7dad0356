"""The fields of a translation, each declared once: type, limits, default, text and example.

The routes, the record of a document job, the command line and the engine's options inherit them, so that a new field is
a line here and one in `translucent_mt.backend`, whose types are written out for type checkers (ADR 32).
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Annotated, Any, Literal, get_type_hints

from annotated_types import Ge, Le

from service.engine.jobs import MAX_BEAM_SIZE

# localize: kept, and written as the target language does; keep: kept as they are; off: text as any other
ValueHandling = Literal["localize", "keep", "off"]
# as DeepL has them, but without those that promise a form: sentences that have none in the beam stay as they are
Formality = Literal["default", "prefer_more", "prefer_less"]
BelowMinQuality = Literal["mark", "keep_source"]
MAX_LENGTH_PENALTY = 5.0


@dataclass(frozen=True, slots=True)
class About:
    """The meaning of a field for people: in the OpenAPI document, on its page, and in `--help`."""

    text: str
    example: object = None

    def __get_pydantic_json_schema__(self, schema: Any, handler: Callable[[Any], dict[str, Any]]) -> dict[str, Any]:
        """Return the JSON schema of a field, with its text; pydantic calls this, and the engine does without it."""
        examples = {} if self.example is None else {"examples": [self.example]}
        return handler(schema) | {"description": self.text} | examples


@dataclass(frozen=True, kw_only=True)
class SearchFields:
    """How to search; every route, document and command that translates has these fields."""

    beam_size: Annotated[
        int | None,
        Ge(1),
        Le(MAX_BEAM_SIZE),
        About("Beam size; 1 is greedy search. Default: the model's own, 4 for the shipped ones", 1),
    ] = None
    length_penalty: Annotated[
        float | None,
        Ge(0),
        Le(MAX_LENGTH_PENALTY),
        About(
            "0 compares the sums of log-probabilities, 1 their means; higher values favour longer output. Default: the "
            "model's own, 1 for the shipped ones"
        ),
    ] = None
    max_length: Annotated[
        int | None, Ge(1), About("Most tokens of a translated sentence, including the end token")
    ] = None  # fmt: skip
    repetition_guard: Annotated[
        bool | None,
        About(
            "Whether the search stops endless repetition. Default: the model's own, true for the shipped ones, false "
            "for imported ones"
        ),
    ] = None
    values: Annotated[
        ValueHandling | None,
        About(
            "What becomes of numbers, dates, amounts, addresses, placeholders and other values. `localize`: each "
            "arrives exactly once, written as the target language writes it; `keep`: exactly once, as it is; `off`: "
            "text as any other. Default: `localize`",
            "keep",
        ),
    ] = None
    context: Annotated[
        bool,
        About(
            "Whether a sentence with a pronoun is read together with the one before it, so that the pronoun fits its "
            "noun; false reads each sentence by itself",
            False,
        ),
    ] = True


@dataclass(frozen=True, kw_only=True)
class DocumentFields(SearchFields):
    """The fields of a text or a document: those of a search, and what its sentences have in common."""

    formality: Annotated[
        Formality,
        About(
            "Polite forms (`prefer_more`: vous, Sie) or familiar ones (`prefer_less`: tu, du) where a sentence has a "
            "translation with them that is nearly as likely; a warning says how many have none. `default`: those of "
            "most sentences of the text",
            "prefer_more",
        ),
    ] = "default"


@dataclass(frozen=True, kw_only=True)
class TextFields(DocumentFields):
    """The fields of texts, or of a file of lines."""

    alternatives: Annotated[
        int, Ge(0), Le(MAX_BEAM_SIZE - 1), About("Number of further translations; there may be fewer", 2)
    ] = 0  # fmt: skip
    min_quality: Annotated[
        float | None,
        Ge(0),
        Le(1),
        About("Sentences whose quality is below it are listed, or not translated: see `below_min_quality`", 0.5),
    ] = None
    below_min_quality: Annotated[
        BelowMinQuality,
        About(
            "What happens to the sentences below `min_quality`: `mark` translates and lists them; `keep_source` lists "
            "them too, and leaves them in their own language"
        ),
    ] = "mark"


def limits_of(markers: Iterable[object]) -> tuple[Any, Any]:
    """Return the least and the largest number that a field takes; None: there is none."""
    lowest = next((marker.ge for marker in markers if isinstance(marker, Ge)), None)
    return lowest, next((marker.le for marker in markers if isinstance(marker, Le)), None)


def limits_of_fields(kind: type) -> list[tuple[str, float, float | None]]:
    """Return the name and the limits of each number among the fields of a data class."""
    hints = get_type_hints(kind, include_extras=True)
    limited = [(name, *limits_of(getattr(hint, "__metadata__", ()))) for name, hint in hints.items()]
    return [limits for limits in limited if limits[1] is not None]
