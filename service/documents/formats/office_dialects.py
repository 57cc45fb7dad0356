"""The dialects of Word and of drawings (slides, charts, diagrams), and what they show beside their paragraphs."""

import re
from collections.abc import Iterator

from service.documents.runs import Dialect
from service.documents.tree import Element, LoneText

W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
A = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
C = "{http://schemas.openxmlformats.org/drawingml/2006/chart}"
CODE_STYLE = re.compile(r"^(?:source|html|inline)?[ _-]?code|verbatim|preformatted|^plaintext", re.IGNORECASE)


def _w(*names: str) -> frozenset[str]:
    return frozenset(W + name for name in names)


def _is_code(element: Element) -> bool:
    """Return whether a run or a paragraph has a style of code."""
    styles = (element.find(f"{W}{kind}Pr/{W}{kind}Style") for kind in "rp")
    return any(style is not None and CODE_STYLE.search(str(style.get(f"{W}val", ""))) for style in styles)


def _is_raised(run: Element) -> bool:
    """Return whether a run of a Word document is in superscript."""
    position = run.find(f"{W}rPr/{W}vertAlign")
    return position is not None and position.get(f"{W}val") == "superscript"


def _is_raised_on_slide(run: Element) -> bool:
    """Return whether a run of a slide stands above its line: its baseline is a percentage such as 30000 or 30%."""
    properties = run.find(f"{A}rPr")
    return properties is not None and str(properties.get("baseline", "0")).strip("0%")[:1].isdigit()


WORDS = Dialect(
    paragraph=f"{W}p",
    run=f"{W}r",
    properties=f"{W}rPr",
    text=f"{W}t",
    characters={f"{W}noBreakHyphen": "\u2011", f"{W}softHyphen": "\u00ad"},
    dividers=_w("br", "cr", "tab", "ptab"),
    containers={
        **dict.fromkeys(_w("hyperlink", "ins", "moveTo", "smartTag", "customXml", "dir", "bdo")),
        f"{W}sdt": f"{W}sdtContent",
    },
    dropped=_w("proofErr", "lastRenderedPageBreak"),
    stays=_w("pPr", "sdtPr", "sdtEndPr", "smartTagPr", "customXmlPr"),
    ignored=_w("lang", "noProof", "rPrChange"),
    field=f"{W}fldChar",
    instruction=f"{W}instrText",
    is_code=_is_code,
    is_raised=_is_raised,
)
DRAWING = Dialect(
    paragraph=f"{A}p",
    run=f"{A}r",
    properties=f"{A}rPr",
    text=f"{A}t",
    dividers=frozenset({f"{A}br", f"{A}endParaRPr"}),
    stays=frozenset({f"{A}pPr"}),
    ignored=frozenset({"lang", "altLang", "dirty", "err", "noProof", "smtClean", "bmk"}),
    is_raised=_is_raised_on_slide,
)
FILE_NAME = re.compile(r"\S+\.\w{2,4}")


def alternatives(root: Element) -> Iterator[LoneText]:
    """Yield the texts in place of pictures and shapes."""
    for element in root.iter("{*}docPr", "{*}cNvPr"):
        for name in ("title", "descr"):
            if not FILE_NAME.fullmatch(str(element.get(name, ""))):
                yield LoneText(element, name)


def names_in_charts(root: Element) -> Iterator[LoneText]:
    """Yield the names of series and categories, as a chart keeps them beside its data."""
    for holder in root.iter(f"{C}tx", f"{C}cat"):
        for element in holder.iter(f"{C}v"):
            if not any(around.tag in (f"{C}numCache", f"{C}numLit") for around in element.iterancestors()):
                yield LoneText(element)
