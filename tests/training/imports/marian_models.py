"""MarianMT models of random weights in the hub's form."""

import copy
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import sentencepiece
import torch
from transformers.models.marian.configuration_marian import MarianConfig
from transformers.models.marian.modeling_marian import MarianMTModel
from transformers.models.marian.tokenization_marian import MarianTokenizer

from tests.training.imports.toy_text import ENGLISH, FRENCH, sentencepiece_model

CARD = "---\nlicense: cc-by-4.0\nlanguage:\n- en\n- fr\n---\n# opus-mt-en-fr\n"


@dataclass(frozen=True)
class MarianShape:
    """The differences between the checkpoints that the tests import."""

    algorithm: str = "unigram"
    byte_fallback: bool = False
    language_tokens: Sequence[str] = ()
    separate_vocabularies: bool = False
    left_out: int = 0
    """Every so many pieces is missing from the vocabulary; 0: none."""
    activation: str = "swish"
    layers: tuple[int, int] = (2, 2)
    scale_embedding: bool = True
    pickle: bool = False
    half: bool = False


def train_pieces(folder: Path, shape: MarianShape) -> None:
    size = 500 if shape.byte_fallback else 300
    settings = {"vocab_size": size, "model_type": shape.algorithm, "byte_fallback": shape.byte_fallback}
    for name, texts in (("source", ENGLISH), ("target", FRENCH)):
        (folder / f"{name}.spm").write_bytes(sentencepiece_model(texts, **settings))


def write_vocabularies(folder: Path, shape: MarianShape) -> tuple[dict[str, int], dict[str, int]]:
    """Write ``vocab.json`` (and ``target_vocab.json``) as OPUS-MT has them: </s>, <unk>, pieces, <pad>."""
    pieces = []
    for name in ("source", "target"):
        model = sentencepiece.SentencePieceProcessor(model_file=str(folder / f"{name}.spm"))
        found = [model.id_to_piece(number) for number in range(model.get_piece_size())]
        pieces.append([piece for piece in found if piece not in ("<s>", "</s>", "<unk>")])
    if shape.separate_vocabularies:  # padding has one id in transformers, so both have one size
        longest = max(map(len, pieces))
        groups = [[*group, *(f"<filler {place}>" for place in range(longest - len(group)))] for group in pieces]
    else:
        groups = [[*pieces[0], *pieces[1]]]
    vocabularies = []
    for group in groups:
        kept = [piece for place, piece in enumerate(group) if not shape.left_out or place % shape.left_out]
        order = ["</s>", "<unk>", *dict.fromkeys(kept), *shape.language_tokens, "<pad>"]
        vocabularies.append({piece: number for number, piece in enumerate(order)})
    for name, vocabulary in zip(("vocab.json", "target_vocab.json"), vocabularies, strict=False):
        (folder / name).write_text(json.dumps(vocabulary, ensure_ascii=False), encoding="utf-8")
    return vocabularies[0], vocabularies[-1]


def marian_config(source: int, target: int, shape: MarianShape, **changed: Any) -> MarianConfig:
    """Return the configuration of a small model, as the hub's converter writes it."""
    return MarianConfig(
        **{
            "vocab_size": source,
            "decoder_vocab_size": target,
            "d_model": 32,
            "encoder_layers": shape.layers[0],
            "decoder_layers": shape.layers[1],
            "encoder_attention_heads": 4,
            "decoder_attention_heads": 4,
            "encoder_ffn_dim": 64,
            "decoder_ffn_dim": 64,
            "activation_function": shape.activation,
            "scale_embedding": shape.scale_embedding,
            "share_encoder_decoder_embeddings": not shape.separate_vocabularies,
            "pad_token_id": target - 1,
            "eos_token_id": 0,
            "forced_eos_token_id": 0,
            "bos_token_id": 0,
            "decoder_start_token_id": target - 1,
            "max_position_embeddings": 128,
            "tie_word_embeddings": True,
            **changed,
        }
    )


def random_model(config: MarianConfig) -> Any:
    """Return a model whose every parameter, the output biases too, is a random number of a useful size."""
    torch.manual_seed(0)
    model: Any = MarianMTModel(config).eval()  # type: ignore[no-untyped-call]
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if "embed_positions" in name:
                continue
            if "layer_norm" in name:
                parameter.add_(0.1 * torch.randn_like(parameter))
            elif name.endswith("bias"):
                parameter.copy_(0.1 * torch.randn_like(parameter))
            else:
                parameter.copy_(torch.randn_like(parameter) * (0.25 if "layers" in name else 0.18))
        for table in {model.get_input_embeddings(), model.get_decoder().get_input_embeddings()}:
            table.weight[-1] = 0
        model.final_logits_bias.copy_(0.3 * torch.randn_like(model.final_logits_bias))
        model.final_logits_bias[0, -1] = 0
    model.set_attn_implementation("eager")
    return model


def write_model(folder: Path, shape: MarianShape = MarianShape(), **changed: Any) -> Any:
    """Write a whole folder as the hub has it, and return the model."""
    folder.mkdir(parents=True, exist_ok=True)
    train_pieces(folder, shape)
    source, target = write_vocabularies(folder, shape)
    model = random_model(marian_config(len(source), len(target), shape, **changed))
    if shape.half:
        with torch.no_grad():
            for name, tensor in [*model.named_parameters(), *model.named_buffers()]:
                if "embed_positions" not in name:
                    tensor.copy_(tensor.half())
    write_files(folder, copy.deepcopy(model).half() if shape.half else model, shape.pickle)
    return model


def write_files(folder: Path, model: Any, pickled: bool = False) -> None:
    model.save_pretrained(folder)
    if pickled:
        torch.save(model.state_dict(), folder / "pytorch_model.bin")
        (folder / "model.safetensors").unlink()
    (folder / "tokenizer_config.json").write_text(
        json.dumps({"source_lang": "eng", "target_lang": "fra", "tokenizer_class": "MarianTokenizer"})
    )
    (folder / "README.md").write_text(CARD)


def hub_tokenizer(folder: Path) -> Any:
    source, target, vocabulary = (str(folder / name) for name in ("source.spm", "target.spm", "vocab.json"))
    return MarianTokenizer(source, target, vocabulary, source_lang="eng", target_lang="fra")
