"""The embedding model in the service."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from service.bundle.repository import find_bundles, scan_bundles
from service.embedding import Embedder, TextTooLong, embedder_in
from service.embedding.embedder import BATCH_TOKENS, batches
from service.engine import BundleCorrupt, BundleIncompatible, BundleMissing, InvalidText
from tests.support.manifests import write_bundle

TEXTS = ["I see the sea.", "", "Nous mangeons du pain et trois pommes.", "🐶", "I see the sea."]


@pytest.fixture(scope="module")
def embedder(models: Path) -> Embedder:
    return Embedder(models / "sentence")


def test_a_text_alone_and_among_others_has_the_same_vector_and_attention(embedder: Embedder) -> None:
    together = embedder.embed(TEXTS)
    for text, found in zip(TEXTS, together, strict=True):
        [alone] = embedder.embed([text])
        np.testing.assert_allclose(alone.embedding, found.embedding, atol=1e-6)
        np.testing.assert_allclose(alone.attention, found.attention, atol=1e-6)


def test_tokens_are_ranges_of_the_text_as_it_was_written(embedder: Embedder) -> None:
    text = "  I SEE the  sea."
    tokens = embedder.tokens(text)
    assert "".join(token.text for token in tokens) == text.replace(" ", "")
    assert all(text[token.start : token.end] == token.text for token in tokens)
    assert (tokens[-1].special, tokens[-1].text) == ("</s>", "")


def test_long_texts_are_refused_or_cut(embedder: Embedder) -> None:
    text = "the sea " * 30
    with pytest.raises(TextTooLong, match=r"inputs\[1\] has \d+ tokens; the embedding model reads at most 23"):
        embedder.embed(["bread", text])
    assert embedder.embed([text], truncate=True)[0].attention.shape == (3, 24)
    with pytest.raises(InvalidText, match=r"U\+D800"):
        embedder.embed(["\ud800"])


def test_batches_hold_every_row_once_and_no_more_tokens_than_allowed() -> None:
    lengths = [3, 90, 7, 90, 1] * 40
    chunks = list(batches(lengths))
    assert sorted(row for chunk in chunks for row in chunk) == list(range(len(lengths)))
    assert all(len(chunk) * max(lengths[row] for row in chunk) <= BATCH_TOKENS for chunk in chunks)
    assert list(batches([])) == []


def test_an_embedding_model_is_no_translation_model(
    models: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    assert embedder_in(tmp_path) is None
    shutil.copytree(models, tmp_path / "both")
    write_bundle(tmp_path / "both" / "translator")
    assert [path.name for path in (bundle.folder for bundle in find_bundles(tmp_path / "both"))] == ["translator"]
    assert len(scan_bundles(tmp_path / "both")) == 1
    assert not caplog.records  # it is not reported as a folder without a model either
    assert embedder_in(tmp_path / "both") is not None


def test_a_damaged_bundle_is_refused_with_the_file(models: Path, tmp_path: Path) -> None:
    folder = tmp_path / "sentence"
    shutil.copytree(models / "sentence", folder)
    manifest = json.loads((folder / "embedding.json").read_text())
    (folder / "weights.bin").write_bytes(b"nothing")
    with pytest.raises(BundleCorrupt, match=r"weights\.bin: its SHA-256 is"):
        Embedder(folder)
    (folder / "weights.bin").unlink()
    with pytest.raises(BundleMissing, match=r"weights\.bin"):
        Embedder(folder)
    (folder / "embedding.json").write_text(json.dumps({**manifest, "format_version": 9}))
    with pytest.raises(BundleIncompatible, match="format_version is 9"):
        Embedder(folder)
    (folder / "embedding.json").write_text("{}")
    with pytest.raises(BundleCorrupt, match="cannot be read as the manifest"):
        Embedder(folder)
    with pytest.raises(BundleMissing, match="no sentence-embedding model"):
        Embedder(tmp_path)
