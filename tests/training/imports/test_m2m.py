"""NLLB and M2M-100 in our network: tokens, log-probabilities and translations are those of their own engines."""

from pathlib import Path

import numpy as np
import pytest
import torch

from service.bundle.vocabulary import EOS
from tests.training.imports.m2m_models import M2MShape, write_m2m
from tests.training.imports.toy_text import ENGLISH
from training.data.batching import collate
from training.imports.m2m import read_m2m
from training.imports.network import network_of
from training.imports.source import ReadOptions

pytestmark = pytest.mark.filterwarnings("ignore:Recommended")


@pytest.mark.parametrize("shape", [M2MShape(), M2MShape(nllb=False), M2MShape(fillers=70_000, width=8)])
def test_tokens_and_scores_are_those_of_transformers(shape: M2MShape, tmp_path: Path) -> None:
    theirs, tokenizer = write_m2m(tmp_path / "model", shape)
    model = read_m2m(tmp_path / "model", ReadOptions(source=("en",), target=("fr",)))
    french = tokenizer.convert_tokens_to_ids("fra_Latn" if shape.nllb else "__fr__")
    rows = model.rows[0]
    network = network_of(model)
    network.output_bias.data = torch.from_numpy(model.float_bias)
    for text in ENGLISH[:30]:
        ids = model.source.tokenizer.encode(text, add_special_tokens=False).ids
        source = [*model.source_prefix(), *ids, EOS]
        read = tokenizer(text)["input_ids"]
        assert rows[source].tolist() == read
        target = [*model.targets[0].begin, *ids[:5], EOS]
        assert rows[target][0] == french
        batch = collate([np.array(source)], [np.array(target)])
        with torch.no_grad():
            decoded = network.decode(batch.target_in, network.encode(batch.source, batch.source_lengths))
            ours = network.logits(decoded.hidden).log_softmax(-1)[0]
            labels = torch.tensor([rows[target].tolist()])
            logits = theirs(input_ids=torch.tensor([read]), labels=labels).logits[0]
        logits[:, [1, 3]] = -1e9  # padding and <unk>, which are never written
        known = logits.log_softmax(-1)[range(len(target)), labels[0]]
        assert ours[range(len(target)), target].numpy() == pytest.approx(known.numpy(), abs=1e-3)
