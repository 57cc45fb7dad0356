"""The errors of documents, each with a sentence that says what to do; none quotes a document.

DocumentError
├── UnsupportedDocument   a format that is not read here, or a kind of file that is refused
├── FormatNotInstalled    the libraries of the format are not installed
├── BrokenDocument        not a file of its format, or damaged
├── UnsafeDocument        content that is refused: macros, entities, paths that climb, encryption, bombs
├── DocumentEncoding      bytes that are not in the encoding of the file
└── DocumentTooLarge      more bytes, characters or segments than the limits allow
"""

from service.bundle.errors import InvalidInput


class DocumentError(InvalidInput):
    """A document that cannot be translated."""

    code = "invalid_document"


class UnsupportedDocument(DocumentError):
    """No format of this server reads the file."""

    code = "unsupported_document"


class FormatNotInstalled(DocumentError):
    """The libraries that the format needs are not installed."""

    code = "format_not_installed"


class BrokenDocument(DocumentError):
    """The file is damaged, or is not of the format that its name says."""

    code = "broken_document"


class UnsafeDocument(DocumentError):
    """The file has content that is refused."""

    code = "unsafe_document"


class DocumentEncoding(DocumentError):
    """The bytes are not in the encoding that the file names, or that its format has."""

    code = "document_encoding"


class DocumentTooLarge(DocumentError):
    """The document exceeds a limit."""

    code = "document_too_large"
