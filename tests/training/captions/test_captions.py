"""The world of shapes tells the truth, a network learns from it, and the shipped captioners see what is there."""

from pathlib import Path

import numpy as np
import pytest
import torch

from training.captions.graph import STEPS, CaptionModel, export, measure
from training.captions.network import CELLS, Captioner, batch_of, make_config, train
from training.captions.shapes import COLOURS, KINDS, WORDS, held_out, scenes
from training.recipe import OptimisationConfig
from training.trainer.module import batch_losses

BUNDLE = Path(__file__).parents[3] / "models/gallery/gallery-captions"


@pytest.mark.parametrize("unseen", [False, True])
def test_a_caption_is_true_of_its_picture(unseen: bool) -> None:
    for scene in scenes(1, 100, unseen):
        first, second = (np.argwhere(mask).mean(0) for mask in scene.masks)  # (row, column)
        assert not (scene.masks[0] & scene.masks[1]).any()
        down, right = second - first
        assert (right if "left" in scene.caption else down) > abs(down if "left" in scene.caption else right)
        for place, mask in scene.named:
            word = scene.caption[place]
            if word in COLOURS:
                nearest = min(COLOURS, key=lambda name: np.abs(scene.pixels[mask].mean(0) - COLOURS[name]).sum())
                assert word == nearest
        words = [word for word in scene.caption if word not in ("a", "left", "of", "above")]
        kinds = [KINDS.index((colour, form)) for colour, form in zip(words[::2], words[1::2], strict=True)]
        assert held_out(kinds[0], kinds[1]) is unseen


def test_the_same_seed_gives_the_same_pictures() -> None:
    assert all((a.pixels == b.pixels).all() for a, b in zip(scenes(3, 5), scenes(3, 5), strict=True))
    assert any((a.pixels != b.pixels).any() for a, b in zip(scenes(3, 5), scenes(4, 5), strict=True))


def test_a_few_updates_of_soft_attention_teach_more_than_the_frequency_of_words() -> None:
    config = OptimisationConfig(label_smoothing=0.0)
    losses = batch_losses(train("soft", 150), batch_of(scenes(11, 32)), config, len(WORDS))
    chance = (2 * np.log(4) + 2 * np.log(3) + np.log(2)) / 8.5  # of who knows the grammar, but sees nothing
    assert float((losses.likelihood / losses.tokens).detach()) < chance


@pytest.mark.parametrize("kind", ["soft", "hard"])
def test_the_exported_graph_writes_what_the_network_writes(kind: str, tmp_path: Path) -> None:
    torch.manual_seed(0)
    network = Captioner(make_config(kind)).eval()  # type: ignore[arg-type]
    export(network, tmp_path / "graph.onnx")
    shown = scenes(5, 3)
    found = CaptionModel(tmp_path / "graph.onnx").captions(shown)
    batch = batch_of(shown)
    with torch.no_grad():
        memory = network.encode(batch.source, batch.source_lengths)
        state, tokens = network.start(memory), batch.target_in[:, 0]
        for step in range(STEPS):
            logits, state, weights = network.step(tokens, state, memory)
            tokens = logits[:, 2:].argmax(-1) + 2
            for row, caption in enumerate(found):
                if step < len(caption.words):
                    assert caption.words[step] == WORDS[tokens[row]]
                    ours = caption.weights[step].reshape(CELLS)
                    np.testing.assert_allclose(ours, weights[row, 0, 0].numpy(), atol=1e-5)


def test_the_shipped_captioners_describe_new_pairs_and_hard_attention_looks_at_the_shape_more_often() -> None:
    soft, hard = (measure(CaptionModel(BUNDLE / f"{kind}.onnx"), scenes(21, 100, True)) for kind in ("soft", "hard"))
    assert min(soft.right, hard.right) > 0.9
    assert hard.on_shape > soft.on_shape > 5 * soft.chance
    assert sum(path.stat().st_size for path in BUNDLE.iterdir()) < 1_000_000
