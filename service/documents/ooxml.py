"""Office Open XML packages (docx, pptx): their parts by content type, and what is refused."""

from __future__ import annotations

import re
from collections.abc import Mapping

from lxml import etree

from service.documents.errors import BrokenDocument, UnsafeDocument
from service.documents.limits import Limits
from service.documents.package import Package, unpack
from service.documents.safe_xml import parse_xml

CONTENT_TYPES = "[Content_Types].xml"
DOCTYPE = re.compile(rb"<\s*!\s*(?:DOCTYPE|ENTITY)", re.IGNORECASE)
ACTIVE_TYPES = ("macroenabled", "vbaproject", "activex")
ACTIVE_FILES = re.compile(r"vbaProject\.bin$|/activeX/|vbaData\.xml$", re.IGNORECASE)
# What an Office program would load by itself from somewhere else.
LOADED = ("attachedTemplate", "oleObject", "subDocument", "frame", "externalLink")
Element = etree._Element


def open_office(data: bytes, limits: Limits, main_type: str) -> tuple[Package, dict[str, str]]:
    """Return the files of a document, and the content type of each part; raise DocumentError.

    `main_type` is the content type that its main part must have.
    """
    package = unpack(data, limits)
    if CONTENT_TYPES not in package.contents:
        raise BrokenDocument("The document is not an Office document: it has no list of content types.")
    types = content_types(package.contents)
    _check_active(package.contents, types)
    check_markup(package.contents)
    if not any(kind == main_type for kind in types.values()):
        raise BrokenDocument("The document is not of the kind that its name says; save it again.")
    return package, types


def content_types(contents: Mapping[str, bytes]) -> dict[str, str]:
    """Return the content type of each part that is named with its own."""
    root = parse_xml(contents[CONTENT_TYPES], "The list of content types")
    return {
        str(child.get("PartName", "")).lstrip("/"): str(child.get("ContentType", "")).lower()
        for child in root
        if isinstance(child.tag, str) and child.tag.endswith("}Override")
    }


def parts_of(contents: Mapping[str, bytes], types: Mapping[str, str], kinds: tuple[str, ...]) -> dict[str, Element]:
    """Return the roots of the parts of some content types, in the order of the package."""
    return {
        name: parse_xml(content, "A part of the document")
        for name, content in contents.items()
        if types.get(name) in kinds
    }


def _check_active(contents: Mapping[str, bytes], types: Mapping[str, str]) -> None:
    kinds = contents[CONTENT_TYPES].decode("utf-8", "replace").lower()
    if any(word in kinds for word in ACTIVE_TYPES) or any(ACTIVE_FILES.search(name) for name in contents):
        raise UnsafeDocument("The document contains macros or controls, which are refused; save it without them.")
    if any(name.startswith("_xmlsignatures/") for name in contents):
        raise UnsafeDocument(
            "The document is signed, and a translation would break its signature; send an unsigned copy."
        )


def check_markup(contents: Mapping[str, bytes]) -> None:
    """Raise UnsafeDocument for entities in any part, and for what a program would load from elsewhere."""
    for name, content in contents.items():
        lowered = name.lower()
        if not lowered.endswith((".xml", ".rels", ".vml")):
            continue
        if DOCTYPE.search(content) or DOCTYPE.search(content.replace(b"\0", b"")):
            raise UnsafeDocument("The document has a file with a document type or entities, which are refused.")
        if lowered.endswith(".rels"):
            _check_relations(parse_xml(content, "A list of relations in the document"))


def _check_relations(root: Element) -> None:
    for relation in root:
        if not isinstance(relation.tag, str):
            continue
        kind = str(relation.get("Type", "")).rpartition("/")[2]
        if str(relation.get("TargetMode", "")).lower() == "external" and kind in LOADED:
            raise UnsafeDocument("The document would load a template or an object from elsewhere; remove that link.")
