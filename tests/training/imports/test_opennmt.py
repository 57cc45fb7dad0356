"""Checkpoints of OpenNMT-py: refused with the reason, and nothing in them is executed."""

import argparse
import os
from pathlib import Path
from typing import Any

import pytest
import torch

from training.imports.add import AddOptions, add_model
from training.imports.files import ImportRefused

DEFAULTS = {"encoder_type": "rnn", "decoder_type": "rnn", "rnn_type": "LSTM", "input_feed": 1,
            "global_attention": "general"}  # fmt: skip


class RunsCode:
    """A value whose unpickling would write a file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return os.system, (f"touch {self.path}",)


def checkpoint(path: Path, archive: bool, **settings: object) -> Path:
    """Write what OpenNMT-py does, with a vocabulary that runs a command when it is unpickled."""
    options = argparse.Namespace(**{**DEFAULTS, **settings})
    model = {"encoder.rnn.weight_ih_l0": torch.ones(8, 2)}
    content = {"model": model, "vocab": RunsCode(path.parent / "ran"), "opt": options}
    torch.save(content, path, _use_new_zipfile_serialization=archive)
    return path


@pytest.mark.parametrize("archive", [True, False], ids=["an archive", "as before PyTorch 1.6"])
@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({}, r"the decoder rnn \(LSTM\), whose attention feeds its output, where that of our recurrent networks"),
        ({"rnn_type": "GRU", "global_attention": "mlp"}, r"the decoder rnn \(GRU\), whose attention feeds its output"),
        ({"global_attention": "none"}, "which has no attention"),
        ({"decoder_type": "cnn"}, "the decoder cnn, which none of our networks has; Transformers can be imported"),
        ({"decoder_type": "transformer"}, "ct2-opennmt-py-converter --model_path .*model.pt --output_dir FOLDER"),
    ],
)
def test_the_refusal_says_what_network_it_is(
    settings: dict[str, object], said: str, archive: bool, tmp_path: Path
) -> None:
    path = checkpoint(tmp_path / "model.pt", archive, **settings)
    for named in (path, tmp_path):  # a checkpoint, or the folder that it is in
        with pytest.raises(ImportRefused, match=said):
            add_model(named, tmp_path / "models", AddOptions())
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["model.pt"]


@pytest.mark.parametrize("archive", [True, False])
def test_what_is_no_checkpoint_is_refused(archive: bool, tmp_path: Path) -> None:
    whole = checkpoint(tmp_path / "model.pt", archive).read_bytes()
    nameless = whole.replace(b"decoder_type", b"x" * 12)
    for content in (b"", b"\x80\x02X\xff\xff\xff\xffabc", whole[:40], nameless):
        (tmp_path / "model.pt").write_bytes(content)
        with pytest.raises(ImportRefused, match=r"model.pt: it is no checkpoint that says what network it is"):
            add_model(tmp_path / "model.pt", tmp_path / "models", AddOptions())
