"""The original implementation that ``check`` compares OPUS-MT models with: MarianMT in transformers."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from service.bundle.manifest import DecodingDefaults
from training.imports.check import Ids, Scored
from training.imports.errors import ImportRefused
from training.imports.source import ImportedModel


class MarianOriginal:
    """A MarianMT model in transformers."""

    def __init__(self, folder: Path, model: ImportedModel) -> None:
        """Load model and tokenizer; texts are normalised as the import does it, which MarianTokenizer leaves out."""
        try:
            from transformers import MarianMTModel, MarianTokenizer
        except ImportError as error:
            raise ImportRefused("check needs transformers: pip install transformers sentencepiece") from error
        self.name = f"transformers {importlib.metadata.version('transformers')}"
        self._model: Any = MarianMTModel.from_pretrained(folder, attn_implementation="eager")
        self._model.train(False)
        self._tokenizer: Any = MarianTokenizer.from_pretrained(folder)
        self._normalizers = _opus(model)
        self._prefix = [int(model.rows[0][number]) for number in model.targets[0].prefix]
        pad = int(str(self._model.config.pad_token_id))
        self._never = self._model.generation_config.bad_words_ids or [[pad]]
        self._not_scored = [pad, int(model.rows[1][model.unknown])]  # tokens that Marian does not have or never writes

    def encode(self, text: str) -> list[int]:
        """Return the ids of a source text without its end."""
        ids: list[int] = self._tokenizer(self._plain(text))["input_ids"][:-1]
        return ids

    def translate(self, texts: Sequence[str], decoding: DecodingDefaults) -> list[str]:
        """Return a translation of each text with these search settings, and otherwise the model's own."""
        import torch

        found: list[str] = []
        for text in texts:
            ids = torch.tensor([[*self._prefix, *self.encode(text), self._model.config.eos_token_id]])
            with torch.no_grad():
                rows = self._model.generate(
                    input_ids=ids,
                    attention_mask=torch.ones_like(ids),
                    num_beams=decoding.beam_size,
                    length_penalty=decoding.length_penalty,
                    early_stopping=decoding.early_stopping or False,
                    do_sample=False,
                    max_length=min(2 * ids.shape[1] + 10, 512),  # ours, the start, and the end that it forces
                    bad_words_ids=self._never,
                )
            found.append(self._tokenizer.decode(rows[0], skip_special_tokens=True))
        return found

    def score(self, source: Ids, target: Ids) -> Scored:
        """Return log-probabilities and cross-attention of a translation."""
        import torch

        with torch.no_grad():
            found = self._model(
                input_ids=torch.tensor([list(source)]), labels=torch.tensor([list(target)]), output_attentions=True
            )
        logits = found.logits[0]
        logits[:, self._not_scored] = -1e9
        logprobs = logits.log_softmax(-1).gather(-1, torch.tensor(list(target))[:, None])[:, 0]
        return Scored(logprobs.numpy(), torch.stack(found.cross_attentions, 1)[0].numpy())

    def _plain(self, text: str) -> str:
        for normalizer in self._normalizers:
            text = normalizer.normalize_str(text)
        return text


def _opus(model: ImportedModel) -> list[Any]:
    from training.imports.subwords import opus_normalizers

    return list(opus_normalizers()) if model.origin.text_normalised else []
