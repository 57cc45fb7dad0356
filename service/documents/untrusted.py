"""What strangers send: zip files and XML, read within limits and without entities, network or document types.

The sizes in a zip file are claims; what counts here is what really comes out. Only files that change are packed anew
with new content; all others keep their bytes.
"""

import copy
import io
import re
import shutil
import stat
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from typing import IO

from lxml import etree

from service.documents.errors import BrokenDocument, DocumentTooLarge, UnsafeDocument
from service.documents.format import MIB, Limits

Element = etree._Element
OLD_OFFICE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"  # OLE: an old Office file, or a new one that is encrypted
RATIO = 200  # unpacked to packed; text rarely reaches 30
RATIO_FROM = 4 * MIB  # a smaller file may have any ratio
PIECE = 65_536
METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
MARKUP = (".xml", ".rels", ".vml", ".xhtml", ".html", ".htm", ".opf", ".ncx")
MOST_BYTES = 32 * MIB  # of one file of markup, which is read as a whole
MOST_TREE = 48 * MIB  # of the parsed parts of one document in memory: the most that a job may take is 100 MB
MOST_COPIES = 96 * MIB  # of the elements that are copied, such as the properties of a run for each of its parts
ELEMENT, ATTRIBUTE = 128, 240  # bytes in memory of libxml2's structures, besides their text
DEEPEST = 200  # elements in elements; deeper ones would exhaust Python's stack in the code that walks them
MOST_NAMESPACES = 1_000  # that one element is within; each is looked at when elements are moved there
DOCTYPE = re.compile(rb"<\s{0,100}!\s{0,100}(?:DOCTYPE|ENTITY)", re.IGNORECASE)
OVERLAP = 1024  # bytes; more than a match of DOCTYPE has in UTF-16
# What an Office program would load by itself from somewhere else.
LOADED = ("attachedTemplate", "oleObject", "subDocument", "frame")


class Contents(Mapping[str, bytes]):
    """The files of a zip file whose sizes are known to be harmless; each is unpacked when it is asked for."""

    def __init__(self, data: bytes) -> None:
        self._archive = zipfile.ZipFile(io.BytesIO(data))
        self._names = [info.filename for info in self._archive.infolist()]
        self._known = frozenset(self._names)

    def __getitem__(self, name: str) -> bytes:
        return self._archive.read(name)

    def __contains__(self, name: object) -> bool:
        return name in self._known

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def open(self, info: zipfile.ZipInfo) -> IO[bytes]:
        """Return one of the files for reading in pieces."""
        return self._archive.open(info)


class Package:
    """A packed document."""

    def __init__(self, data: bytes, infos: list[zipfile.ZipInfo]) -> None:
        self._data = data
        self._infos = infos
        self._tree_left = MOST_TREE
        self.contents = Contents(data)

    def parse(self, name: str, what: str) -> Element:
        """Return the root of a file, which errors call `what`; raise DocumentTooLarge for too many elements in all."""
        content = self.contents[name]
        self._tree_left -= tree_bytes(content)
        if self._tree_left < 0:
            raise too_many_elements("The document")
        return parse_xml(content, what)

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
                if info.filename in changed:
                    archive.writestr(copy, changed[info.filename])
                    continue
                with self.contents.open(info) as source, archive.open(copy, "w") as target:
                    shutil.copyfileobj(source, target, PIECE)
        return out.getvalue()


def unpack(data: bytes, limits: Limits) -> Package:
    """Return the files of a packed document; raise BrokenDocument, UnsafeDocument or DocumentTooLarge."""
    if data.startswith(OLD_OFFICE):
        raise UnsafeDocument("The document is encrypted, or in an old binary format; save it without a password.")
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            infos = archive.infolist()
            _check_names(infos, limits)
            left = limits.unpacked_bytes
            for info in infos:
                left -= _unpacked_size(archive, info, left)
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, ValueError, OSError, RuntimeError) as error:
        if isinstance(error, RecursionError):
            raise
        raise BrokenDocument("The document is damaged: it cannot be unpacked.") from None
    return Package(data, infos)


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


def _unpacked_size(archive: zipfile.ZipFile, info: zipfile.ZipInfo, left: int) -> int:
    """Return the size of one packed file, of at most `left` bytes."""
    size = 0
    is_markup = info.filename.lower().endswith(MARKUP)
    with archive.open(info) as file:
        while piece := file.read(PIECE):
            size += len(piece)
            if size > left:
                raise DocumentTooLarge(
                    "The document is too large when it is unpacked; split it, or remove pictures from it."
                )
            if size > RATIO_FROM and size > RATIO * max(info.compress_size, 1):
                raise UnsafeDocument("The document unpacks to an absurd size; it looks like a zip bomb.")
            if is_markup and size > MOST_BYTES:
                raise DocumentTooLarge(f"A part of the document has more than {MOST_BYTES} bytes of XML; split it.")
    return size


def tree_bytes(data: bytes) -> int:
    """Return about how many bytes an XML file takes in memory: itself, its texts, elements and attributes."""
    nodes = data.count(b"<") - data.count(b"</") + data.count(b">") - data.count(b"><")
    return 2 * len(data) + ELEMENT * nodes + ATTRIBUTE * data.count(b"=")


class Copies:
    """Copies of elements, until they take too much memory."""

    def __init__(self) -> None:
        self._left = MOST_COPIES

    def of(self, element: Element, count: int = 1) -> list[Element]:
        """Return copies without what follows the element; raise DocumentTooLarge."""
        nodes = list(element.iter())
        attributes = sum(len(node.attrib) for node in nodes)
        self._left -= count * (ELEMENT * len(nodes) + ATTRIBUTE * attributes)
        if self._left < 0:
            raise too_many_elements("The document")
        return [copy.deepcopy(element) for _ in range(count)]


def too_many_elements(name: str) -> DocumentTooLarge:
    """Return the error for a file that would take too much memory."""
    return DocumentTooLarge(f"{name} has too many elements and attributes to be read at once. Split the document.")


def parse_xml(data: bytes, name: str, *, with_doctype: bool = False) -> Element:
    """Return the root of an XML file, which errors call `name`; raise BrokenDocument or UnsafeDocument.

    `with_doctype`: accept the name of a document type; it is never loaded, and may declare nothing itself.
    """
    if len(data) > MOST_BYTES:
        raise DocumentTooLarge(f"{name} has {len(data)} bytes of XML; the most are {MOST_BYTES}. Split the document.")
    if tree_bytes(data) > MOST_TREE:
        raise too_many_elements(name)
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
    _check_nesting(root, name)
    return root


def _check_nesting(root: Element, name: str) -> None:
    """Raise UnsafeDocument for elements that are too deep, or too many namespaces in one place; without recursion."""
    depth = namespaces = 0
    for event, _element in etree.iterwalk(root, events=("start", "end", "start-ns", "end-ns")):
        if event == "start":
            depth += 1
        elif event == "end":
            depth -= 1
        else:
            namespaces += 1 if event == "start-ns" else -1
        if depth > DEEPEST:
            raise UnsafeDocument(f"{name} nests elements more than {DEEPEST} deep.")
        if namespaces > MOST_NAMESPACES:
            raise UnsafeDocument(f"{name} declares more than {MOST_NAMESPACES} namespaces in one place.")


def xml_bytes(root: Element) -> bytes:
    """Return a file as UTF-8 with an XML declaration, with what stands outside of the root."""
    tree = root.getroottree()
    return etree.tostring(tree, xml_declaration=True, encoding="UTF-8", standalone=tree.docinfo.standalone)


def check_markup(package: Package) -> None:
    """Raise UnsafeDocument for entities in any part, and for what a program would load from elsewhere."""
    for name in package.contents:
        if not name.lower().endswith((".xml", ".rels", ".vml")):
            continue
        content = package.contents[name]
        starts = range(0, len(content), PIECE)  # in pieces, because a search keeps other threads waiting
        if any(DOCTYPE.search(content[start : start + PIECE + OVERLAP].replace(b"\0", b"")) for start in starts):
            raise UnsafeDocument("The document has a file with a document type or entities, which are refused.")
        if name.lower().endswith(".rels"):
            _check_relations(package.parse(name, "A list of relations in the document"))


def _check_relations(root: Element) -> None:
    for relation in root:
        if not isinstance(relation.tag, str):
            continue
        kind = str(relation.get("Type", "")).rpartition("/")[2]
        if str(relation.get("TargetMode", "")).lower() == "external" and kind in LOADED:
            raise UnsafeDocument("The document would load a template or an object from elsewhere; remove that link.")
