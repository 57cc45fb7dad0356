"""Translation models that show their attention, from Python: load a model, or connect to a server.

>>> from translucent_mt import Translator
>>> translator = Translator.load("models/transformer-en-fr")
>>> translator("I lost.").text
"J'ai perdu."

Names are loaded when they are first used, because the server and the command line do not need them.
"""

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from service import __version__ as __version__
    from service.engine import EngineError as EngineError
    from service.engine import InvalidInput as InvalidInput
    from service.engine import Overloaded as Overloaded
    from service.engine import Token as Token
    from service.engine import Word as Word
    from translucent_mt.attention import Attention as Attention
    from translucent_mt.backend import AttentionOptions as AttentionOptions
    from translucent_mt.backend import Model as Model
    from translucent_mt.backend import TranslationOptions as TranslationOptions
    from translucent_mt.client import ServerError as ServerError
    from translucent_mt.drawing import Picture as Picture
    from translucent_mt.local import list_models as list_models
    from translucent_mt.results import Score as Score
    from translucent_mt.results import Sentence as Sentence
    from translucent_mt.results import Translation as Translation
    from translucent_mt.results import Translations as Translations
    from translucent_mt.translator import AsyncTranslator as AsyncTranslator
    from translucent_mt.translator import Translator as Translator

_LOADED_LATER = {
    "AsyncTranslator": ".translator",
    "Attention": ".attention",
    "AttentionOptions": ".backend",
    "EngineError": ".backend",
    "InvalidInput": ".backend",
    "Model": ".backend",
    "Overloaded": ".backend",
    "Picture": ".drawing",
    "Score": ".results",
    "Sentence": ".results",
    "ServerError": ".client",
    "Token": ".backend",
    "Translation": ".results",
    "TranslationOptions": ".backend",
    "Translations": ".results",
    "Translator": ".translator",
    "Word": ".backend",
    "list_models": ".local",
    "__version__": "service",
}
__all__ = sorted(name for name in _LOADED_LATER if name != "__version__")  # noqa: PLE0605

if not TYPE_CHECKING:  # otherwise any name would pass the type check

    def __getattr__(name: str) -> object:
        """Return a public name from its module, which is loaded for this; see PEP 562."""
        if name not in _LOADED_LATER:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(importlib.import_module(_LOADED_LATER[name], __name__), name)

    def __dir__() -> list[str]:
        """Return the public names, for completion in notebooks."""
        return __all__
