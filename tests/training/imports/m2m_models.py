"""NLLB and M2M-100 models in the hub's form, with the arrangement of the real vocabularies."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import sentencepiece
import torch
from sentencepiece import sentencepiece_model_pb2
from torch.nn.utils.rnn import pad_sequence
from transformers.models.m2m_100.configuration_m2m_100 import M2M100Config
from transformers.models.m2m_100.modeling_m2m_100 import M2M100ForConditionalGeneration
from transformers.models.m2m_100.tokenization_m2m_100 import M2M100Tokenizer
from transformers.models.nllb.tokenization_nllb import NllbTokenizer

from tests.training.imports.toy_text import ENGLISH, FRENCH, sentencepiece_model
from training.imports.sentencepiece_file import read_sentencepiece
from training.imports.subwords import library_tokenizer

SPECIALS = ("<s>", "<pad>", "</s>", "<unk>")


@dataclass(frozen=True)
class M2MShape:
    """The differences between the checkpoints that the tests import."""

    nllb: bool = True
    fillers: int = 0
    """Pieces that no text is cut into, up to the size of a real vocabulary."""
    width: int = 32
    texts: Sequence[str] = (*ENGLISH, *FRENCH)
    """What its SentencePiece model is made of."""


def write_m2m(
    folder: Path, shape: M2MShape = M2MShape(), pairs: Sequence[tuple[str, str, str, str]] = ()
) -> tuple[Any, Any]:
    """Write a whole folder as the hub has it; return the model and its tokenizer.

    ``pairs``: what it learns, each with the codes of both languages and both texts; none: its parameters are random.
    """
    folder.mkdir(parents=True)
    spm = folder / "sentencepiece.bpe.model"
    spm.write_bytes(_pieces(shape))
    processor = sentencepiece.SentencePieceProcessor(model_file=str(spm))
    pieces = [processor.id_to_piece(number) for number in range(3, processor.get_piece_size())]
    vocabulary = {piece: number for number, piece in enumerate([*SPECIALS, *pieces])}
    tokenizer: Any
    if shape.nllb:
        made = json.loads(library_tokenizer(read_sentencepiece(spm), [*vocabulary], 3).to_str())
        merges: Any = [tuple(merge) for merge in made["model"]["merges"]]
        tokenizer = NllbTokenizer(vocabulary, merges, src_lang="eng_Latn")
        size = len(tokenizer) + 2  # the real one has two rows that nothing names
    else:
        (folder / "vocab.json").write_text(json.dumps(vocabulary, ensure_ascii=False), encoding="utf-8")
        tokenizer = M2M100Tokenizer(str(folder / "vocab.json"), str(spm), src_lang="en")
        size = len(vocabulary) + len(tokenizer.lang_token_to_id) + 8
    tokenizer.save_pretrained(folder)
    torch.manual_seed(0)
    layers = 1 if pairs else 2
    model: Any = M2M100ForConditionalGeneration(
        M2M100Config(
            vocab_size=size, d_model=shape.width, encoder_layers=layers, decoder_layers=layers,
            encoder_attention_heads=4, decoder_attention_heads=4, encoder_ffn_dim=64, decoder_ffn_dim=64,
            dropout=0, attention_dropout=0, encoder_layerdrop=0, decoder_layerdrop=0, init_std=0.1,
        )
    )  # fmt: skip
    if pairs:
        _train(model, tokenizer, pairs)
    else:
        with torch.no_grad():
            for name, parameter in model.named_parameters():
                scale = 0.1 if "norm" in name or name.endswith("bias") else 0.25
                parameter.copy_(torch.randn_like(parameter) * scale + float("norm.weight" in name))
    model.eval().set_attn_implementation("eager")
    model.save_pretrained(folder)
    (folder / "README.md").write_text("---\nlicense: cc-by-nc-4.0\n---\n")
    return model, tokenizer


def _pieces(shape: M2MShape) -> bytes:
    """Return the SentencePiece model of all languages."""
    proto: Any = sentencepiece_model_pb2.ModelProto()  # type: ignore[attr-defined]  # made when it is imported
    proto.ParseFromString(sentencepiece_model(shape.texts, vocab_size=400, model_type="bpe"))
    for number in range(shape.fillers):
        piece = proto.pieces.add()
        piece.piece, piece.score, piece.type = f"▁{chr(0x4E00 + number % 5000)}{number}", -1e4, 1
    result: bytes = proto.SerializeToString()
    return result


def _train(model: Any, tokenizer: Any, pairs: Sequence[tuple[str, str, str, str]], updates: int = 110) -> None:
    def ids(code: str, text: str) -> torch.Tensor:
        tokenizer.src_lang = code  # a target is framed as a source is
        return torch.tensor(tokenizer(text)["input_ids"])

    sources = pad_sequence([ids(code, text) for code, _, text, _ in pairs], True, 1)
    labels = pad_sequence([ids(code, text) for _, code, _, text in pairs], True, -100)
    optimiser = torch.optim.Adam(model.parameters(), lr=1e-2, betas=(0.9, 0.98))
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, 1e-2, total_steps=updates)
    for _ in range(updates):
        loss = model(input_ids=sources, attention_mask=(sources != 1).long(), labels=labels).loss
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        schedule.step()
