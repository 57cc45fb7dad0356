"""Chooses and makes the representation of attention: pictures, files and data, in addition to JSON."""

import re
from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import version
from typing import Any, Literal, cast

from pydantic_core import to_json
from starlette.responses import Response

from service.answers.answer import nested
from service.answers.attention import AttentionMaps, AttentionResponse, ExplainedCell
from service.api.errors import ApiError, invalid
from service.api.rendering import REPRESENTATIONS
from service.api.schemas.attention import SEVERAL_MAPS, AttentionRequest
from service.engine import AttentionMap, ModelInfo
from service.figures import exports
from service.figures.figure import compare, contrast, several, single_figure
from service.figures.html import as_html
from service.figures.panels import Figure, Naming, ViewName
from service.figures.renderer import FigureRenderer
from service.figures.theme import ThemeName
from service.figures.vega_lite import specification
from service.figures.words import in_language

# By the name of the format.
MEDIA_TYPES = {
    "json": "application/json",
    "svg": "image/svg+xml",
    "png": "image/png",
    "html": "text/html",
    "csv": "text/csv",
    "npz": "application/x-npz",
    "vega": "application/vnd.vegalite.v6+json",
    "bertviz": "application/json",
    "pharaoh": "text/plain",
}
LARGE = 1_000  # weights; larger pictures and files are made in a thread
REVISION = f"9 {version('vl-convert-python')}"  # of what is answered: part of every entity tag
# Pictures and data run no scripts. An HTML figure runs its own scripts, which its policy names by their digests, in an
# origin of its own, so it has no access to the page, whose storage may hold an API key.
STILL = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; sandbox; frame-ancestors 'self'"
SCRIPTED = (
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:; "
    "sandbox allow-scripts; frame-ancestors 'self'"
)

EXAMPLES = {
    "svg": '<svg xmlns="http://www.w3.org/2000/svg">…</svg>',
    "html": "<!doctype html>…",
    "csv": "map,layer,head,row,row_token,column,column_token,weight,logprob,rank,step\n",
    "pharaoh": "0-0 1-1\n",
}

Named = Sequence[tuple[str, AttentionMap]]


def cache_key(fields: AttentionRequest) -> tuple[object, ...]:
    """Return the values that determine the bytes of an answer about the same maps, and no others."""
    form = fields.format
    scale = fields.scale if form == "png" else 1.0
    look = (fields.theme, fields.language) if form in ("svg", "png", "html", "vega") else ()
    return (form, fields.view, look, scale, fields.other_text, fields.cell, REVISION)


def check_digests(required: Sequence[str], digests: Sequence[str]) -> None:
    """Raise ApiError (409) if an address was made for another model than the one that would answer."""
    if not all(actual.startswith(prefix) for prefix, actual in zip(required, digests, strict=False)):
        raise ApiError(
            "The model has changed since this address was made; leave out digest to use the current model.",
            status=409,
            code="model_changed",
        )


def names_of(maps: Sequence[AttentionMap], fields: AttentionRequest) -> Named:
    """Return each map with its name in files."""
    names = ("first", "second") if fields.view == "contrast" else (attention.model for attention in maps)
    return list(zip(names, maps, strict=True))


def naming_of(infos: Sequence[ModelInfo], other_text: str | None) -> Naming:
    """Return the names of translations, layers and heads in figures."""
    aligning: dict[str, tuple[int, int]] = {}
    heads = {member.name: member.attention for info in infos for member in info.members}
    for name, attention in (heads | {info.name: info.attention for info in infos}).items():
        align = attention.get("align") or {}
        if isinstance(align.get("layer"), int) and isinstance(align.get("head"), int):
            aligning[name] = (align["layer"], align["head"])
    return Naming(aligning=aligning) if other_text is None else Naming(("first", "second"), aligning)


def figure_of(maps: Sequence[AttentionMap], view: ViewName, naming: Naming) -> Figure:
    """Return the figure of a view; raise InvalidOption, TooLargeToDraw."""
    if view == "compare":
        return compare(maps[0], maps[1], naming)
    if view == "models":
        return several(maps, naming)
    if view == "contrast":
        return contrast(maps[0], maps[1], naming)
    return single_figure(maps[0], view, naming)


async def represent(
    maps: Sequence[AttentionMap], fields: AttentionRequest, naming: Naming, renderer: FigureRenderer
) -> Response:
    """Return the answer in the requested form."""
    form = fields.format
    size = sum(attention.weights.size for attention in maps)

    async def made(work: Callable[[], Any]) -> Any:
        return await REPRESENTATIONS.run(work) if size > LARGE else work()

    if form in _FILES:
        content = await made(lambda: _FILES[form](maps, fields))
    else:
        figure = await made(lambda: in_language(figure_of(maps, fields.view, naming), fields.language))
        spec = await made(lambda: specification(figure, fields.theme))
        content = await drawn(figure, spec, form, (fields.theme, fields.scale), renderer)
    return answer(content, form, f"attention-{maps[0].model}-{fields.view}")


def answer(content: bytes, form: str, name: str) -> Response:
    """Return content in one of the forms of MEDIA_TYPES, under a file name without its ending."""
    media_type = MEDIA_TYPES[form]
    if media_type.startswith("text/"):
        media_type += "; charset=utf-8"
    file = f"{name}.{'txt' if form == 'pharaoh' else form}"
    headers = {
        "Content-Disposition": f'inline; filename="{re.sub(r"[^A-Za-z0-9._-]", "_", file)}"',
        "Content-Security-Policy": SCRIPTED if form == "html" else STILL,
    }
    return Response(content, media_type=media_type, headers=headers)


async def drawn(
    figure: Figure, spec: dict[str, Any], form: str, look: tuple[ThemeName, float], renderer: FigureRenderer
) -> bytes:
    """Return a specification as vega, html, svg or png; `look` is the theme and the scale of a PNG.

    The figure's numbers are the table of an HTML file.
    """
    theme, scale = look

    if form == "vega":
        return await REPRESENTATIONS.run(lambda: to_json(spec)) if figure.cells > LARGE else to_json(spec)
    if form == "html":
        script = await renderer.script()  # 0.9 MB, too much work for the event loop
        return await REPRESENTATIONS.run(lambda: as_html(figure, spec, script, theme))
    return await renderer.draw(spec, cast(Literal["svg", "png"], form), scale)


def _json(maps: Sequence[AttentionMap], fields: AttentionRequest) -> bytes:
    shown = [AttentionResponse.of(attention) for attention in maps]
    if fields.view in SEVERAL_MAPS:
        view: Any = fields.view
        difference = nested(maps[0].weights - maps[1].weights) if fields.view == "compare" else None
        return AttentionMaps.model_construct(view=view, maps=shown, difference=difference).json_bytes()
    if fields.cell is not None:
        shown[0].cell = _explained(maps[0], *map(int, fields.cell.split(",")))
    return shown[0].json_bytes()


def _explained(attention: AttentionMap, row: int, column: int) -> ExplainedCell:
    if attention.weights.ndim != 2:
        raise invalid("cell is one weight of one head; give layer and head a number, or align", param="cell")
    rows, columns = attention.weights.shape
    if row >= rows or column >= columns:
        raise invalid(
            f"there is no cell {row},{column}: there are {rows} rows and {columns} columns, from 0", param="cell"
        )
    return ExplainedCell.of(attention, row, column)


_FILES: dict[str, Callable[[Sequence[AttentionMap], AttentionRequest], bytes]] = {
    "json": _json,
    "csv": lambda maps, fields: exports.as_csv(names_of(maps, fields)),
    "npz": lambda maps, fields: exports.as_npz(names_of(maps, fields)),
    "bertviz": lambda maps, _fields: exports.as_bertviz(maps[0]),
    "pharaoh": lambda maps, _fields: exports.as_pharaoh(maps[0]),
}


def other_contents(examples: Mapping[str, str] = EXAMPLES) -> dict[str, Any]:
    """Return a figure route's contents other than JSON, by media type; ``examples`` has its forms of text."""
    binary = {MEDIA_TYPES[form]: {"schema": {"type": "string", "format": "binary"}} for form in ("png", "npz")}
    specification = {MEDIA_TYPES["vega"]: {"schema": {"type": "object"}, "example": {"mark": "rect"}}}
    texts = {MEDIA_TYPES[form]: {"schema": {"type": "string"}, "example": value} for form, value in examples.items()}
    return {**texts, **binary, **specification}
