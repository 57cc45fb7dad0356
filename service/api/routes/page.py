"""The page at / and its files, all from this package and none from another server."""

import asyncio
import gzip
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import NamedTuple

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from service.api import book
from service.api.book import LEARN
from service.api.direct_route import RendererDep
from service.api.etag import entity_tag, matches
from service.api.header import PLACES, page_around

router = APIRouter(include_in_schema=False)

FOLDER = Path(__file__).resolve().parents[2] / "web"
MEDIA_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
    ".json": "application/json",
}
INDEX = "index.html"
# The drawing library adds its style for tooltips to the page; scripts come only from files.
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; "
    "connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'self'"
)
SECURITY = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
}


class Asset(NamedTuple):
    """A file in the form that is sent."""

    content: bytes
    packed: bytes
    media_type: str
    tag: str


def asset_of(content: bytes, ending: str) -> Asset:
    """Return the asset of a content: compressed, with its entity tag."""
    return Asset(content, gzip.compress(content, 6, mtime=0), MEDIA_TYPES[ending], entity_tag(content))


@cache
def assets(folder: Path) -> dict[str, Asset]:
    """Return every file of a folder by its name, pages with their frame."""
    paths = [path for path in folder.iterdir() if path.suffix in MEDIA_TYPES]
    return {path.name: asset_of(_completed(path), path.suffix) for path in paths}


def _completed(path: Path) -> bytes:
    """Return a file as it is sent: a page gets the frame, before which stands what its head has of its own."""
    content = path.read_bytes()
    if path.suffix != ".html":
        return content
    place, root = ("", "./") if path == FOLDER / INDEX else (f"web/{path.name}", "../")
    current = place if place in PLACES else "learn/"  # what has no place of its own belongs to the book
    head, begin, main = content.decode().partition("<main")
    list_of_pages = ""
    if path.parent == LEARN and path.name != INDEX:
        main = main.replace("</main>", f"{book.turn(path.name)}</main>")
        list_of_pages = book.contents(path.name)
    return page_around(head, begin + main, current, root, list_of_pages).encode()


@router.get("/")
async def index(request: Request) -> Response:
    """Send the page."""
    return _send(request, assets(FOLDER)[INDEX])


@router.get("/web/vega.js")
async def library(request: Request, renderer: RendererDep) -> Response:
    """Send the drawing libraries, from the installed package."""
    asset: Asset | None = getattr(request.app.state, "library", None)
    if asset is None:
        note = f"/* From vl-convert-python {version('vl-convert-python')} */\n".encode()
        asset = await asyncio.to_thread(asset_of, note + await renderer.script(), ".js")
        request.app.state.library = asset
    return _send(request, asset)


@router.get("/learn/{name}")
async def lesson(request: Request, name: str) -> Response:
    """Send one page of the book."""
    return _send(request, assets(LEARN).get(name))


@router.get("/learn/")
@router.get("/learn")
async def learn(request: Request) -> Response:
    """Send the contents of the book; its links are relative to the folder."""
    if not request.url.path.endswith("/"):
        return Response(status_code=307, headers={"Location": "learn/", **SECURITY})
    return _send(request, assets(LEARN)[INDEX])


@router.get("/web/{name}")
async def file(request: Request, name: str) -> Response:
    """Send one file of the page."""
    return _send(request, assets(FOLDER).get(name))


def _send(request: Request, asset: Asset | None) -> Response:
    """Return a file, 304 if the browser has it already, or 404 if there is none."""
    if asset is None:
        return Response("There is no such file.\n", status_code=404, media_type="text/plain", headers=SECURITY)
    packed = "gzip" in request.headers.get("accept-encoding", "")
    headers = {"ETag": asset.tag, "Cache-Control": "no-cache", "Vary": "Accept-Encoding"}
    if asset.media_type == MEDIA_TYPES[".html"]:
        headers |= SECURITY  # scripts and styles have those of the page that loads them
    if matches(request.headers.get("if-none-match"), asset.tag):
        return Response(status_code=304, headers=headers)
    if packed:
        headers["Content-Encoding"] = "gzip"
    return Response(asset.packed if packed else asset.content, media_type=asset.media_type, headers=headers)
