"""NLLB and M2M-100 models of random weights in the hub's form, with the arrangement of the real vocabularies."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import sentencepiece
import torch
from sentencepiece import sentencepiece_model_pb2
from transformers.models.m2m_100.configuration_m2m_100 import M2M100Config
from transformers.models.m2m_100.modeling_m2m_100 import M2M100ForConditionalGeneration
from transformers.models.m2m_100.tokenization_m2m_100 import M2M100Tokenizer
from transformers.models.nllb.tokenization_nllb import NllbTokenizer

from tests.training.imports.toy_text import ENGLISH, FRENCH, sentencepiece_model
from training.imports.sentencepiece_file import read_sentencepiece
from training.imports.subwords import library_tokenizer

SPECIALS = ("<s>", "<pad>", "</s>", "<unk>")
CARD = "---\nlicense: cc-by-nc-4.0\n---\n"


@dataclass(frozen=True)
class M2MShape:
    """The differences between the checkpoints that the tests import."""

    nllb: bool = True
    fillers: int = 0
    """Pieces that no text is cut into, up to the size of a real vocabulary."""
    width: int = 32


def write_m2m(folder: Path, shape: M2MShape = M2MShape()) -> tuple[Any, Any]:
    """Write a whole folder as the hub has it; return the model and its tokenizer."""
    folder.mkdir(parents=True)
    spm = folder / "sentencepiece.bpe.model"
    spm.write_bytes(_pieces(shape.fillers))
    processor = sentencepiece.SentencePieceProcessor(model_file=str(spm))
    pieces = [processor.id_to_piece(number) for number in range(3, processor.get_piece_size())]
    vocabulary = {piece: number for number, piece in enumerate([*SPECIALS, *pieces])}
    tokenizer: Any
    if shape.nllb:
        merges = json.loads(library_tokenizer(read_sentencepiece(spm), [*vocabulary], 3).to_str())["model"]["merges"]
        tokenizer = NllbTokenizer(vocabulary, [tuple(merge) for merge in merges], src_lang="eng_Latn")
        size = len(tokenizer) + 2  # as the real one has two rows that nothing names
    else:
        (folder / "vocab.json").write_text(json.dumps(vocabulary, ensure_ascii=False), encoding="utf-8")
        tokenizer = M2M100Tokenizer(str(folder / "vocab.json"), str(spm), src_lang="en")
        size = len(vocabulary) + len(tokenizer.lang_token_to_id) + 8
    tokenizer.save_pretrained(folder)
    torch.manual_seed(0)
    model: Any = M2M100ForConditionalGeneration(
        M2M100Config(
            vocab_size=size, d_model=shape.width, encoder_layers=2, decoder_layers=2, encoder_attention_heads=4,
            decoder_attention_heads=4, encoder_ffn_dim=64, decoder_ffn_dim=64, max_length=200,
        )
    ).eval()  # fmt: skip
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            scale = 0.1 if "norm" in name or name.endswith("bias") else 0.25
            parameter.copy_(torch.randn_like(parameter) * scale + float("norm.weight" in name))
    model.set_attn_implementation("eager")
    model.save_pretrained(folder)
    (folder / "README.md").write_text(CARD)
    return model, tokenizer


def _pieces(fillers: int) -> bytes:
    """Return a SentencePiece model of both languages, with so many pieces more."""
    proto: Any = sentencepiece_model_pb2.ModelProto()  # type: ignore[attr-defined]  # made when it is imported
    proto.ParseFromString(sentencepiece_model([*ENGLISH, *FRENCH], vocab_size=400, model_type="bpe"))
    for number in range(fillers):
        piece = proto.pieces.add()
        piece.piece, piece.score, piece.type = f"▁{chr(0x4E00 + number % 5000)}{number}", -1e4, 1
    result: bytes = proto.SerializeToString()
    return result
