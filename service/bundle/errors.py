"""The errors of a bundle, and the roots of all errors, whose tree is in `service.engine.errors`.

The roots are here, so that a process that only reads documents need not load the engine.
"""

import re
from typing import Any, ClassVar


class EngineError(Exception):
    """Root of all engine errors; `message` is for people, `code` for programs: the name of the class, in small letters.

    Clients match on the code, so a class that is renamed keeps its old one.
    """

    code: ClassVar[str] = "engine_error"

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message

    def __init_subclass__(cls, **options: Any) -> None:
        """Set the code of a class that gives none."""
        super().__init_subclass__(**options)
        if "code" not in vars(cls):
            cls.code = re.sub(r"(?<!^)(?=[A-Z])", "_", cls.__name__).lower()


class InvalidInput(EngineError):
    """The request itself is wrong; repeating it will not help."""


class BundleError(EngineError):
    """A model folder that cannot be served."""


class BundleMissing(BundleError):
    """The folder, or a file its manifest names, does not exist."""


class BundleCorrupt(BundleError):
    """A file of the bundle is unreadable or does not match its checksum."""


class BundleIncompatible(BundleError):
    """The bundle is well formed, but the engine does not read its format."""
