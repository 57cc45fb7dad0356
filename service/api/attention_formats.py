"""Chooses and makes the representation of attention: pictures, files and data, in addition to JSON."""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import version
from typing import Any, Literal, cast

from starlette.responses import Response

from service.api.errors import ApiError, invalid
from service.api.rendering import REPRESENTATIONS, render_attention, render_cell, render_weights
from service.api.schemas.attention import AttentionRequest
from service.engine import AttentionMap, ModelInfo
from service.figures import exports
from service.figures.figure import compare, contrast, one, several
from service.figures.html import as_html
from service.figures.panels import Figure, Naming, ViewName
from service.figures.rasteriser import rasteriser_version
from service.figures.renderer import FigureRenderer
from service.figures.theme import ThemeName
from service.figures.vega_lite import specification
from service.figures.words import LanguageName, in_language

# By the name of the format; the first of a media type stands for it in an Accept header.
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
SEVERAL_MAPS = ("compare", "contrast", "models")  # views
LARGE = 1_000  # weights; larger pictures and files are made in a thread
REVISION = f"7 {version('vl-convert-python')} {rasteriser_version()}"  # of pictures: part of every entity tag
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


@dataclass(frozen=True, slots=True)
class Drawing:
    """A checked choice of representation."""

    form: str = "json"
    view: ViewName = "heatmap"
    theme: ThemeName = "light"
    language: LanguageName = "en"
    scale: float = 1.0
    other_text: str | None = None
    other_model: str | None = None
    models: tuple[str, ...] = ()
    digests: tuple[str, ...] = ()
    cell: tuple[int, int] | None = None

    @property
    def cache_key(self) -> tuple[object, ...]:
        """Return the values that determine the bytes of an answer, and no others."""
        scale = self.scale if self.form == "png" else 1.0
        look = (self.theme, self.language) if self.form in ("svg", "png", "html", "vega") else ()
        return (self.form, self.view, look, scale, self.other_text, self.cell, REVISION)


def drawing_of(fields: AttentionRequest, accept: str) -> Drawing:
    """Return the representation that the fields, or else the Accept header, request; raise ApiError."""
    form = fields.format if "format" in fields.model_fields_set else negotiated(accept)
    if form in ("bertviz", "pharaoh") and fields.view in SEVERAL_MAPS:
        raise invalid(f"format {form} holds one map; view must be heatmap or lines")
    if fields.view in SEVERAL_MAPS and (fields.stage == "scores" or fields.kind == "occlusion"):
        raise invalid(f"view={fields.view} compares attention weights; use stage=weights and a kind of attention")
    if form in ("bertviz", "pharaoh") and fields.kind == "occlusion":
        raise invalid(f"format {form} holds attention, and kind=occlusion is none; use json, csv or npz")
    if fields.view == "steps":
        check_steps(fields, form)
    if fields.source_ids and not fields.target_ids:
        raise invalid("source_ids belong to target_ids; send both, or neither", param="source_ids")
    if fields.target_ids and fields.view in SEVERAL_MAPS:
        raise invalid("target_ids are tokens of one model; use view=heatmap or lines", param="target_ids")
    if fields.cell is not None and (fields.stage != "scores" or form != "json"):
        raise invalid("cell explains one weight in JSON; use stage=scores and format=json", param="cell")
    return Drawing(
        form=form,
        view=fields.view,
        theme=fields.theme,
        language=fields.language,
        scale=fields.scale,
        other_text=fields.other_text,
        other_model=fields.other_model,
        models=tuple(fields.models.split(",")) if fields.models else (),
        digests=tuple(fields.digest.split(",")) if fields.digest else (),
        cell=None if fields.cell is None else cell_of(fields.cell),
    )


def check_steps(fields: AttentionRequest, form: str) -> None:
    """Raise ApiError if the steps of a search cannot be shown as requested."""
    if form != "json":
        raise invalid("view=steps is the search as data; use format=json", param="format")
    if fields.kind != "cross":
        raise invalid("view=steps shows what each step of the search looks at; use kind=cross", param="kind")
    if fields.tokens != "subword" or fields.specials != "keep":
        raise invalid("view=steps has a row for each step of the search; use tokens=subword and specials=keep")
    if fields.target_text is not None or fields.target_ids:
        name = "target_ids" if fields.target_ids else "target_text"
        raise invalid(f"a given translation has no search; leave out {name}", param=name)


def cell_of(value: str) -> tuple[int, int]:
    """Return row and column of a cell."""
    row, column = value.split(",")
    return int(row), int(column)


def negotiated(accept: str) -> str:
    """Return the preferred format of an Accept header; JSON if it has no preference. Raise ApiError (406)."""
    offers = {media_type: form for form, media_type in reversed(MEDIA_TYPES.items())}
    best: tuple[float, str] | None = None
    for part in filter(None, (part.strip().lower() for part in accept.split(","))):
        media_type, *parameters = (piece.strip() for piece in part.split(";"))
        form = "json" if media_type in ("*/*", "application/*") else offers.get(media_type)
        form = "svg" if media_type == "image/*" else form
        quality = _quality(parameters)
        if form is not None and quality > 0 and (best is None or quality > best[0]):
            best = (quality, form)
    if best is None and accept.strip():
        raise ApiError(
            "None of these media types is available; leave out the Accept header, or use one of "
            f"{', '.join(dict.fromkeys(MEDIA_TYPES.values()))}.",
            status=406,
            code="not_acceptable",
        )
    return best[1] if best else "json"


def _quality(parameters: Sequence[str]) -> float:
    for parameter in parameters:
        if parameter.startswith("q="):
            try:
                return float(parameter[2:])
            except ValueError:
                return 0.0
    return 1.0


def check_digests(drawing: Drawing, digests: Sequence[str]) -> None:
    """Raise ApiError (409) if an address was made for another model than the one that would answer."""
    for wanted, actual in zip(drawing.digests, digests, strict=False):
        if not actual.startswith(wanted):
            raise ApiError(
                "The model has changed since this address was made; leave out digest to use the current model.",
                status=409,
                code="model_changed",
            )


def names_of(maps: Sequence[AttentionMap], drawing: Drawing) -> Named:
    """Return each map with its name in files."""
    if drawing.view == "contrast":
        return list(zip(("first", "second"), maps, strict=True))
    return [(found.model, found) for found in maps]


def naming_of(infos: Sequence[ModelInfo], drawing: Drawing) -> Naming:
    """Return the names of translations, layers and heads in figures."""
    aligning: dict[str, tuple[int, int]] = {}
    for info in infos:
        align = info.attention.get("align") or {}
        if isinstance(align.get("layer"), int) and isinstance(align.get("head"), int):
            aligning[info.name] = (align["layer"], align["head"])
    naming = Naming(aligning=aligning)
    return naming if drawing.other_text is None else replace(naming, translations=("first", "second"))


def figure_of(maps: Sequence[AttentionMap], drawing: Drawing, naming: Naming) -> Figure:
    """Return the figure of a view; raise InvalidOption, TooLargeToDraw."""
    if drawing.view == "compare":
        return compare(maps[0], maps[1], naming)
    if drawing.view == "models":
        return several(maps, naming)
    if drawing.view == "contrast":
        return contrast(maps[0], maps[1], naming)
    return one(maps[0], drawing.view, naming)


async def represent(
    maps: Sequence[AttentionMap], drawing: Drawing, naming: Naming, renderer: FigureRenderer
) -> Response:
    """Return the answer in the requested form."""
    size = sum(found.weights.size for found in maps)

    async def made(work: Callable[[], Any]) -> Any:
        return await REPRESENTATIONS.run(work) if size > LARGE else work()

    if drawing.form in _FILES:
        content = await made(lambda: _FILES[drawing.form](maps, drawing))
    else:
        figure = await made(lambda: in_language(figure_of(maps, drawing, naming), drawing.language))
        spec = await made(lambda: specification(figure, drawing.theme))
        content = await drawn(figure, spec, drawing.form, (drawing.theme, drawing.scale), renderer)
    return answer(content, drawing.form, f"attention-{maps[0].model}-{drawing.view}")


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

    def as_json() -> bytes:
        return json.dumps(spec, ensure_ascii=False, separators=(",", ":")).encode("utf-8")

    if form == "vega":
        return await REPRESENTATIONS.run(as_json) if figure.cells > LARGE else as_json()
    if form == "html":
        script = await renderer.script()  # 0.9 MB, too much work for the event loop
        return await REPRESENTATIONS.run(lambda: as_html(figure, spec, script, theme))
    return await renderer.draw(spec, cast(Literal["svg", "png"], form), scale)


def _json(maps: Sequence[AttentionMap], drawing: Drawing) -> bytes:
    rendered = [render_attention(found) for found in maps]
    content: dict[str, Any] = rendered[0]
    if drawing.view in SEVERAL_MAPS:
        content = {"view": drawing.view, "maps": rendered}
    if drawing.cell is not None:
        content["cell"] = _explained(maps[0], *drawing.cell)
    if drawing.view == "compare":
        content["difference"] = render_weights(maps[0].weights - maps[1].weights)
    return json.dumps(content, ensure_ascii=False, separators=(",", ":")).encode("utf-8")


def _explained(found: AttentionMap, row: int, column: int) -> dict[str, Any]:
    if found.weights.ndim != 2:
        raise invalid("cell is one weight of one head; give layer and head a number, or align", param="cell")
    rows, columns = found.weights.shape
    if row >= rows or column >= columns:
        raise invalid(
            f"there is no cell {row},{column}: there are {rows} rows and {columns} columns, from 0", param="cell"
        )
    return render_cell(found, row, column)


_FILES: dict[str, Callable[[Sequence[AttentionMap], Drawing], bytes]] = {
    "json": _json,
    "csv": lambda maps, drawing: exports.as_csv(names_of(maps, drawing)),
    "npz": lambda maps, drawing: exports.as_npz(names_of(maps, drawing)),
    "bertviz": lambda maps, _drawing: exports.as_bertviz(maps[0]),
    "pharaoh": lambda maps, _drawing: exports.as_pharaoh(maps[0]),
}


def other_contents(examples: Mapping[str, str] = EXAMPLES) -> dict[str, Any]:
    """Return a figure route's contents other than JSON, by media type; ``examples`` has its forms of text."""
    binary = {MEDIA_TYPES[form]: {"schema": {"type": "string", "format": "binary"}} for form in ("png", "npz")}
    specification = {MEDIA_TYPES["vega"]: {"schema": {"type": "object"}, "example": {"mark": "rect"}}}
    texts = {MEDIA_TYPES[form]: {"schema": {"type": "string"}, "example": value} for form, value in examples.items()}
    return {**texts, **binary, **specification}
