"""What strangers send: zip files and XML, read within limits and without entities, network or document types.

The sizes in a zip file are claims; what counts here is what really comes out. Only files that change are packed anew
with new content; all others keep their bytes.
"""

import io
import re
import stat
import zipfile
import zlib
from collections.abc import Mapping

from lxml import etree

from service.documents.errors import BrokenDocument, DocumentTooLarge, UnsafeDocument
from service.documents.format import MIB, Limits

Element = etree._Element
OLD_OFFICE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"  # OLE: an old Office file, or a new one that is encrypted
RATIO = 200  # unpacked to packed; text rarely reaches 30
RATIO_FROM = 4 * MIB  # a smaller file may have any ratio
PIECE = 65_536
METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
MOST_BYTES = 32 * MIB  # in memory, the elements take ten times as much
DEEPEST = 200  # elements in elements; deeper ones would exhaust Python's stack in the code that walks them
DOCTYPE = re.compile(rb"<\s*!\s*(?:DOCTYPE|ENTITY)", re.IGNORECASE)
# What an Office program would load by itself from somewhere else.
LOADED = ("attachedTemplate", "oleObject", "subDocument", "frame")


class Package:
    """The files of a packed document, unpacked in memory."""

    def __init__(self, data: bytes, infos: list[zipfile.ZipInfo], contents: dict[str, bytes]) -> None:
        self._data = data
        self._infos = infos
        self.contents: Mapping[str, bytes] = contents

    def packed(self, changed: Mapping[str, bytes]) -> bytes:
        """Return the zip file with some files replaced; names, order, dates and methods stay."""
        if not changed:
            return self._data
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w") as archive:
            for info in self._infos:
                copy = zipfile.ZipInfo(info.filename, info.date_time)
                copy.compress_type = info.compress_type
                copy.external_attr = info.external_attr
                copy.create_system = info.create_system
                copy.comment = info.comment
                archive.writestr(copy, changed.get(info.filename, self.contents[info.filename]))
        return out.getvalue()


def unpack(data: bytes, limits: Limits) -> Package:
    """Return the files of a packed document; raise BrokenDocument, UnsafeDocument or DocumentTooLarge."""
    if data.startswith(OLD_OFFICE):
        raise UnsafeDocument("The document is encrypted, or in an old binary format; save it without a password.")
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            infos = archive.infolist()
            _check_names(infos, limits)
            contents: dict[str, bytes] = {}
            left = limits.unpacked_bytes
            for info in infos:
                contents[info.filename] = _unpacked(archive, info, left)
                left -= len(contents[info.filename])
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, ValueError, OSError, RuntimeError) as error:
        if isinstance(error, RecursionError):
            raise
        raise BrokenDocument("The document is damaged: it cannot be unpacked.") from None
    return Package(data, infos, contents)


def _check_names(infos: list[zipfile.ZipInfo], limits: Limits) -> None:
    if len(infos) > limits.entries:
        raise UnsafeDocument(f"The document has {len(infos)} files packed in it; the most are {limits.entries}.")
    names = [info.filename for info in infos]
    if len({name.lower() for name in names}) < len(names):
        raise UnsafeDocument("The document has two packed files of one name.")
    for info in infos:
        parts = info.filename.replace("\\", "/").split("/")
        if info.filename.startswith(("/", "\\")) or ".." in parts or ":" in parts[0] or "\0" in info.orig_filename:
            raise UnsafeDocument("The document has a packed file whose path leads out of it.")
        if stat.S_ISLNK(info.external_attr >> 16):
            raise UnsafeDocument("The document has a link among its packed files.")
        if info.flag_bits & 0x1:
            raise UnsafeDocument("The document is encrypted; save it without a password.")
        if info.compress_type not in METHODS:
            raise BrokenDocument("The document is packed by a method that such documents do not use.")


def _unpacked(archive: zipfile.ZipFile, info: zipfile.ZipInfo, left: int) -> bytes:
    """Return the content of one packed file, of at most `left` bytes."""
    out = bytearray()
    with archive.open(info) as file:
        while piece := file.read(PIECE):
            out += piece
            if len(out) > left:
                raise DocumentTooLarge(
                    "The document is too large when it is unpacked; split it, or remove pictures from it."
                )
            if len(out) > RATIO_FROM and len(out) > RATIO * max(info.compress_size, 1):
                raise UnsafeDocument("The document unpacks to an absurd size; it looks like a zip bomb.")
    return bytes(out)


def parse_xml(data: bytes, name: str, *, with_doctype: bool = False) -> Element:
    """Return the root of an XML file, which errors call `name`; raise BrokenDocument or UnsafeDocument.

    `with_doctype`: accept the name of a document type; it is never loaded, and may declare nothing itself.
    """
    if len(data) > MOST_BYTES:
        raise DocumentTooLarge(f"{name} has {len(data)} bytes of XML; the most are {MOST_BYTES}. Split the document.")
    parser = etree.XMLParser(
        resolve_entities=False,
        no_network=True,
        load_dtd=False,
        dtd_validation=False,
        huge_tree=False,
        remove_blank_text=False,
        strip_cdata=False,
    )
    try:
        root = etree.fromstring(data, parser)
    except etree.XMLSyntaxError as error:
        raise BrokenDocument(f"{name} is not well-formed XML: see line {error.lineno or 1}.") from None
    except ValueError:
        raise BrokenDocument(f"{name} is not well-formed XML.") from None
    doctype = root.getroottree().docinfo
    if doctype.internalDTD is not None and with_doctype:
        if any(True for _ in (*doctype.internalDTD.iterentities(), *doctype.internalDTD.iterelements())):
            raise UnsafeDocument(f"{name} declares entities or elements, which is refused; remove them.")
    elif doctype.doctype or doctype.internalDTD is not None:
        raise UnsafeDocument(f"{name} has a document type declaration, which is refused; remove it.")
    if depth_of(root) > DEEPEST:
        raise UnsafeDocument(f"{name} nests elements more than {DEEPEST} deep.")
    return root


def depth_of(root: Element) -> int:
    """Return how deeply elements are nested, without recursion."""
    deepest = depth = 0
    for event, _element in etree.iterwalk(root, events=("start", "end")):
        depth += 1 if event == "start" else -1
        deepest = max(deepest, depth)
    return deepest


def xml_bytes(root: Element) -> bytes:
    """Return a file as UTF-8 with an XML declaration, with what stands outside of the root."""
    tree = root.getroottree()
    return etree.tostring(tree, xml_declaration=True, encoding="UTF-8", standalone=tree.docinfo.standalone)


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
