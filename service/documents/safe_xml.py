"""XML from strangers: no entities, no network, no document type, and a limit of depth and size by libxml2."""

from __future__ import annotations

from lxml import etree

from service.documents.errors import BrokenDocument, DocumentTooLarge, UnsafeDocument
from service.documents.limits import MIB

MOST_BYTES = 32 * MIB  # in memory, the elements take ten times as much
DEEPEST = 200  # elements in elements; deeper ones would exhaust Python's stack in the code that walks them


def parse_xml(data: bytes, name: str, *, with_doctype: bool = False) -> etree._Element:
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


def depth_of(root: etree._Element) -> int:
    """Return how deeply elements are nested, without recursion."""
    deepest = depth = 0
    for event, _element in etree.iterwalk(root, events=("start", "end")):
        depth += 1 if event == "start" else -1
        deepest = max(deepest, depth)
    return deepest


def xml_bytes(root: etree._Element) -> bytes:
    """Return a file as UTF-8 with an XML declaration, with what stands outside of the root."""
    tree = root.getroottree()
    return etree.tostring(tree, xml_declaration=True, encoding="UTF-8", standalone=tree.docinfo.standalone)
