"""Folders of bundles that load in a moment: their models copy the source."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from service.bundle.load import Bundle
from service.engine.model import onnx_model
from service.engine.model.device import ModelSettings, Placement
from tests.support.fake_model import ScriptedModel, copying_rule
from tests.support.manifests import ONE_HEAD, write_bundle
from tests.support.vocabulary import tokenizer_json

WriteModel = Callable[..., Path]


class PlacedModel(ScriptedModel):
    """A scripted model that says where it runs."""

    placement: Placement


def load_scripted(bundle: Bundle, settings: ModelSettings) -> PlacedModel:
    model = PlacedModel(copying_rule(bundle.manifest.vocabulary_size), source_limit=256, target_limit=256)
    model.placement = Placement("cpu", "CPUExecutionProvider", "int8", bundle.manifest.graphs["int8"])
    return model


def model_writer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> WriteModel:
    """Give a function that writes a bundle into the folder, again if it is there; all load as scripted models."""
    monkeypatch.setattr(onnx_model, "load_model", load_scripted)

    def write(folder: str, **changes: Any) -> Path:
        architecture, source, target = folder.split("-")
        described = {
            "name": folder,
            "architecture": architecture,
            "source_languages": [source],
            "target_language": target,
            "attention": ONE_HEAD,
        }
        shutil.rmtree(tmp_path / folder, ignore_errors=True)
        contents = {"tokenizer.json": tokenizer_json().encode()}
        return write_bundle(tmp_path / folder, contents, **(described | changes))

    return write
