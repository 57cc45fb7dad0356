"""The errors of a bundle, and the root of all errors, whose tree is in `service.engine.errors`."""

from typing import ClassVar


class EngineError(Exception):
    """Root of all engine errors; `message` is for people, `code` is for programs."""

    code: ClassVar[str] = "engine_error"

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


class BundleError(EngineError):
    """A model folder that cannot be served."""

    code = "bundle_error"


class BundleMissing(BundleError):
    """The folder, or a file its manifest names, does not exist."""

    code = "bundle_missing"


class BundleCorrupt(BundleError):
    """A file of the bundle is unreadable or does not match its checksum."""

    code = "bundle_corrupt"


class BundleIncompatible(BundleError):
    """The bundle is well formed, but the engine does not read its format."""

    code = "bundle_incompatible"
