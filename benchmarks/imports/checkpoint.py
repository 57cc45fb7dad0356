"""MarianMT checkpoints of random weights, as large as a real OPUS-MT model: for speed and memory, not for quality."""

import json
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import sentencepiece
import torch
from transformers.models.marian.configuration_marian import MarianConfig
from transformers.models.marian.modeling_marian import MarianMTModel

from benchmarks.corpora import ROOT, load_corpus

VOCABULARY = 59_514
"""Of opus-mt-en-fr: </s>, <unk>, pieces, <pad>."""
PIECES = 32_000
"""Of each side's SentencePiece model, as OPUS-MT trains them."""
BASE: dict[str, Any] = {
    "d_model": 512,
    "encoder_layers": 6,
    "decoder_layers": 6,
    "encoder_attention_heads": 8,
    "decoder_attention_heads": 8,
    "encoder_ffn_dim": 2048,
    "decoder_ffn_dim": 2048,
    "max_position_embeddings": 512,
}
_CARD = "---\nlicense: cc-by-4.0\n---\n# Random weights\n"


def write_random_base(folder: Path) -> Path:
    """Write a checkpoint of OPUS-MT's base size (74 million parameters) as the hub has it; return its folder."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    corpora = [load_corpus(name, "en-fr", 3000) for name in ("tatoeba", "newstest2014", "flores101")]
    for side in ("source", "target"):
        texts = [text for corpus in corpora for text in (corpus.sources if side == "source" else corpus.references)]
        _train_pieces(folder, side, texts)
    _write_vocabulary(folder)
    torch.manual_seed(0)
    pad = VOCABULARY - 1
    config = MarianConfig(
        **BASE,
        vocab_size=VOCABULARY,
        activation_function="swish",
        scale_embedding=True,
        pad_token_id=pad,
        eos_token_id=0,
        forced_eos_token_id=0,
        bos_token_id=0,
        decoder_start_token_id=pad,
    )
    model: Any = MarianMTModel(config)
    with torch.no_grad():
        model.model.shared.weight[pad] = 0
        model.final_logits_bias[0, 0] = -20  # random weights do not know where to end: every translation is as long
    model.save_pretrained(folder)
    languages = {"source_lang": "eng", "target_lang": "fra", "tokenizer_class": "MarianTokenizer"}
    (folder / "tokenizer_config.json").write_text(json.dumps(languages), encoding="utf-8")
    (folder / "README.md").write_text(_CARD, encoding="utf-8")
    return folder


def _train_pieces(folder: Path, side: str, texts: Iterable[str]) -> None:
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(texts),
        model_prefix=str(folder / side),
        vocab_size=PIECES,
        model_type="unigram",
        hard_vocab_limit=False,
        minloglevel=2,
        num_threads=1,
    )
    (folder / f"{side}.model").rename(folder / f"{side}.spm")


def _write_vocabulary(folder: Path) -> None:
    """Write ``vocab.json``: the pieces of both sides.

    The text is too small for as many pieces as a real model has, so both sides get made-up pieces up to its size.
    """
    models = {side: _read_pieces(folder / f"{side}.spm") for side in ("source", "target")}
    pieces: dict[str, None] = {}
    for model in models.values():
        pieces |= dict.fromkeys(piece.piece for piece in model.pieces if piece.piece not in ("<s>", "</s>", "<unk>"))
    missing = VOCABULARY - 3 - len(pieces)
    for number in range(missing):
        side = "source" if number % 2 else "target"
        made_up = models[side].pieces.add()
        made_up.piece, made_up.score, made_up.type = f"<made up {number}>", -100.0, 1
        pieces[made_up.piece] = None
    for side, model in models.items():
        (folder / f"{side}.spm").write_bytes(model.SerializeToString())
    names = ["</s>", "<unk>", *pieces, "<pad>"]
    vocabulary = {name: number for number, name in enumerate(names)}
    (folder / "vocab.json").write_text(json.dumps(vocabulary, ensure_ascii=False), encoding="utf-8")


def _read_pieces(path: Path) -> Any:
    from sentencepiece import sentencepiece_model_pb2

    proto: Any = sentencepiece_model_pb2.ModelProto()  # type: ignore[attr-defined]  # made when it is imported
    proto.ParseFromString(path.read_bytes())
    return proto


if __name__ == "__main__":
    write_random_base(ROOT / "runs" / "bench" / "random-base")
