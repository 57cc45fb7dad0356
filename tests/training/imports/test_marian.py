"""MarianMT checkpoints in our network against transformers' own implementation."""

from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

from service.bundle.vocabulary import BOS, EOS, PAD
from tests.training.imports.marian_models import MarianShape, write_model
from training.data.batching import collate
from training.imports.marian import read_marian
from training.imports.network import network_of
from training.imports.source import ReadOptions
from training.imports.vocabulary import UNK

SHAPES = {
    "swish, one table": MarianShape(),
    "relu, odd depths": MarianShape(activation="relu", layers=(3, 1)),
    "gelu, unscaled embeddings": MarianShape(activation="gelu", scale_embedding=False),
    "separate vocabularies and tables": MarianShape(separate_vocabularies=True),
    "half precision, pickled": MarianShape(half=True, pickle=True),
    "pieces without a row": MarianShape(left_out=7),
}


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_logits_and_all_attention_are_those_of_transformers(shape: MarianShape, tmp_path: Path) -> None:
    theirs = write_model(tmp_path, shape)
    model = read_marian(tmp_path, ReadOptions("imported", ("en",), ("fr",)))
    network, rows = network_of(model), torch.from_numpy(model.rows[1])
    generator = np.random.default_rng(0)
    known = [number for number in range(UNK + 1, len(rows)) if rows[number] > 1]
    sides = [
        [np.array([*generator.choice(known, length), EOS], np.uint16) for length in lengths]
        for lengths in ((9, 4, 1), (7, 3, 2))
    ]
    batch = collate(*sides)
    with torch.no_grad():
        memory = network.encode(batch.source, batch.source_lengths)
        ours = network.decode(batch.target_in, memory)
        logits = network.logits(ours.hidden)
        wanted = theirs(
            input_ids=torch.from_numpy(model.rows[0])[batch.source],
            attention_mask=(batch.source != PAD).long(),
            decoder_input_ids=rows[batch.target_in],
            output_attentions=True,
        )
    # What no translation holds is out of reach in ours.
    kept = torch.from_numpy(model.target.producible)
    for row, (own, translation) in enumerate(zip(*sides, strict=True)):
        s, t = len(own), len(translation)
        assert torch.allclose(logits[row, :t][:, kept], wanted.logits[row, :t][:, rows[kept]], atol=1e-4)
        cross = torch.stack(wanted.cross_attentions, 1)[row, :, :, :t, :s]
        assert torch.allclose(ours.cross_attention[row, :, :, :t, :s], cross, atol=1e-5)
        assert memory.attention is not None
        assert ours.decoder_attention is not None
        encoder = torch.stack(wanted.encoder_attentions, 1)[row, :, :, :s, :s]
        assert torch.allclose(memory.attention[row, :, :, :s, :s], encoder, atol=1e-5)
        decoder = torch.stack(wanted.decoder_attentions, 1)[row, :, :, :t, :t]
        assert torch.allclose(ours.decoder_attention[row, :, :, :t, :t], decoder, atol=1e-5)
    others = np.setdiff1d(np.arange(len(rows)), model.target.producible)
    assert (logits[..., others] < -1e8).all()
    # Float graphs score the pieces of both languages, as the original does.
    assert isinstance(network, nn.Module)
    network.get_parameter("output_bias").data = torch.from_numpy(model.float_bias)
    with torch.no_grad():
        logits = network.logits(ours.hidden)
    scored = torch.from_numpy(np.flatnonzero(model.float_bias > -1e8))
    assert set(known) - set(scored.tolist()) == set()
    for row, translation in enumerate(sides[1]):
        t = len(translation)
        assert torch.allclose(logits[row, :t][:, scored], wanted.logits[row, :t][:, rows[scored]], atol=1e-4)
    assert (logits[..., [PAD, BOS, UNK]] < -1e8).all()
