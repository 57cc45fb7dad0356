"""HTML in, HTML out: text is translated, and every tag is kept exactly as it was.

Tags that divide text (blocks) stay where they are. Tags inside a sentence (inline) are taken out before translation
and put back by the alignment of source and target tokens, always properly nested.
"""

from service.markup.batch import PreparedDocument as PreparedDocument
from service.markup.batch import mark as mark
from service.markup.batch import prepare as prepare
from service.markup.batch import units_of as units_of
from service.markup.batch import unmark as unmark
from service.markup.batch import write_all as write_all
from service.markup.document import Unit as Unit
from service.markup.document import collapse_spaces as collapse_spaces
from service.markup.document import read as read
from service.markup.placing import write as write
