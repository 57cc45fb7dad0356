"""HTML in, HTML out: text is translated, and every tag is kept exactly as it was.

Tags that divide text (blocks) stay where they are. Tags inside a sentence (inline) are taken out before translation
and put back by the alignment of source and target tokens, always properly nested.
"""

from service.markup.batch import PreparedDocument, prepare, units_of, write_all
from service.markup.document import Node, Part, Unit, collapse_spaces, read
from service.markup.marked import mark, unmark
from service.markup.placing import write

__all__ = [
    "Node",
    "Part",
    "PreparedDocument",
    "Unit",
    "collapse_spaces",
    "mark",
    "prepare",
    "read",
    "units_of",
    "unmark",
    "write",
    "write_all",
]
