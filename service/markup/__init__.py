"""HTML in, HTML out: text is translated, and every tag is kept exactly as it was.

Tags that divide text (blocks) stay where they are. Tags inside a sentence (inline) are taken out before translation
and put back by the alignment of source and target tokens, always properly nested.

What is exported here needs no engine; `service.markup.batch` prepares documents for it.
"""

from service.markup.document import Unit as Unit
from service.markup.document import collapse_spaces as collapse_spaces
from service.markup.document import parts_of as parts_of
from service.markup.document import read as read
from service.markup.placing import write as write
