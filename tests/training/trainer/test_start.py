"""Parameters of a finished run: the mean of its last checkpoints, and what another run takes over."""

from pathlib import Path

import pytest
import torch
from tokenizers import Tokenizer
from torch import Tensor

from tests.support.tiny_networks import transformer
from training.data.subwords import train_tokenizer
from training.networks.build import build_network
from training.recipe import TransformerConfig, VocabularyConfig
from training.runs.folder import RunFolder
from training.trainer.checkpoints import (
    average_checkpoints,
    damaged_checkpoints,
    load_parameters,
    newest_checkpoint,
    write_average,
)
from training.trainer.warm_start import start_from

EMBEDDING, LAYER = "embedding.weight", "encoder.0.feed_forward.inner.weight"
FRENCH = ["the cat sees the house", "le chat voit la maison"] * 5
GERMAN = ["the cat sees the house", "die Katze sieht das Haus"] * 5


def vocabulary(texts: list[str], size: int = 400) -> Tokenizer:
    return train_tokenizer(texts, VocabularyConfig(size=size))


def finished(folder: Path, config: TransformerConfig, tokenizer: Tokenizer) -> dict[str, Tensor]:
    """Write vocabulary and parameters of a finished run, and return the parameters."""
    torch.manual_seed(1)
    parameters: dict[str, Tensor] = build_network(config, tokenizer.get_vocab_size()).state_dict()
    tokenizer.save(str(folder / "tokenizer.json"))
    torch.save(parameters, folder / "averaged.pt")
    return parameters


@pytest.mark.parametrize("feed_forward", [16, 24])
def test_layers_of_the_same_shape_and_shared_pieces_are_taken_over(tmp_path: Path, feed_forward: int) -> None:
    french, german = vocabulary(FRENCH), vocabulary(GERMAN)
    old = finished(tmp_path, transformer(feed_forward=16), french)
    torch.manual_seed(2)
    network = build_network(transformer(feed_forward=feed_forward), german.get_vocab_size())
    fresh = {name: value.clone() for name, value in network.state_dict().items()}
    start_from(network, german, tmp_path)
    started, shared, missing = network.state_dict(), german.token_to_id("▁cat"), german.token_to_id("▁Katze")
    spelled = [token.id for token in french.model.tokenize("▁Katze")]
    assert french.token_to_id("▁Katze") is None
    assert len(spelled) > 1
    torch.testing.assert_close(started[EMBEDDING][shared], old[EMBEDDING][french.token_to_id("▁cat")])
    torch.testing.assert_close(started[EMBEDDING][missing], old[EMBEDDING][spelled].mean(0))
    torch.testing.assert_close(started[LAYER], (old if feed_forward == 16 else fresh)[LAYER])


def test_a_layer_as_wide_as_the_vocabulary_is_taken_for_a_layer(tmp_path: Path) -> None:
    """Parameters are matched by piece where their name says so, not where a size happens to agree."""
    french, german = vocabulary(FRENCH, 300), vocabulary(GERMAN, 300)
    config = transformer(feed_forward=french.get_vocab_size())
    old = finished(tmp_path, config, french)
    network = build_network(config, german.get_vocab_size())
    assert german.get_vocab_size() == french.get_vocab_size()
    start_from(network, german, tmp_path)
    torch.testing.assert_close(network.state_dict()[LAYER], old[LAYER])


def test_a_folder_without_parameters_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="neither a run folder nor a bundle"):
        start_from(build_network(transformer(), 300), vocabulary(GERMAN), tmp_path)


def test_the_last_whole_checkpoints_are_averaged_perhaps_with_the_start(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path)
    with pytest.raises(FileNotFoundError, match="train first"):
        average_checkpoints(folder, last=2)
    folder.checkpoints.mkdir()
    for step, value in ((500, 100.0), (1000, 1.0), (1500, 3.0), (2000, 0.0)):
        torch.save({"state_dict": {"network.w": torch.full((100,), value)}}, folder.checkpoints / f"{step:08d}.ckpt")
    cut = folder.checkpoints / "00002000.ckpt"
    cut.write_bytes(cut.read_bytes()[:-200])
    assert newest_checkpoint(folder) == folder.checkpoints / "00001500.ckpt"
    assert damaged_checkpoints(folder) == [cut]
    assert average_checkpoints(folder, last=2)["w"].tolist() == [2.0] * 100
    torch.save({"parameters": {"w": torch.full((100,), 6.0)}}, folder.start)
    write_average(folder, last=2, start_share=0.25)
    assert load_parameters(folder.averaged)["w"].tolist() == [3.0] * 100
