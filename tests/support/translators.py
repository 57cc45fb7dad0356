"""A translator over a fake worker."""

from service.bundle.manifest import parse_manifest
from service.engine.model_info import ModelInfo
from service.engine.scheduling.interface import SentenceWorker
from service.engine.translation.translator import Translator
from tests.support.manifests import manifest_document
from tests.support.vocabulary import small_tokenizers


def translator_of(worker: SentenceWorker, limit: int = 256, wrap_tokens: int | None = None) -> Translator:
    """Return a translator whose sentences go to this worker."""
    limits = {"source_tokens": limit, "target_tokens": limit}
    manifest = parse_manifest(manifest_document(limits=limits))
    info = ModelInfo(
        *("transformer-en-fr", "1", "transformer", "en", "fr", "sha256:0", "int8", "cpu", "cpu", "none"),
        *(limit, limit, manifest.raw["attention"], manifest.card),
    )
    return Translator(manifest, info, small_tokenizers(), worker, wrap_tokens=wrap_tokens)
