"""The engines that are compared, each with the same interface: ``open`` and ``translate``.

A precision may name a device: ``float16@cuda``; without one, engines run on the CPU.
"""

import tempfile
from collections.abc import Sequence
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from service.bundle.load import load_bundle
from service.engine import MAX_BEAM_SIZE, Budget, ModelSettings, SearchOptions, SentenceJob, Worker, WorkerSettings
from service.engine.model.onnx_model import load_model

Ids = tuple[int, ...]


class Setting(NamedTuple):
    """One way to translate."""

    beam: int
    batch: int
    """Sentences at a time; with 1 they are translated one after the other."""
    workers: int
    longest: int = 96
    """The largest number of tokens of a translation."""


def on_device(precision: str) -> tuple[str, str]:
    """Return a precision without its device, and the device."""
    name, _, device = precision.partition("@")
    return name, device or "cpu"


class MeasuredEngine(Protocol):
    """An engine with a loaded model."""

    def open(self, setting: Setting) -> None:
        """Prepare to translate with this setting."""
        ...

    def translate(self, sources: Sequence[Ids]) -> list[Ids]:
        """Return the translations; sources and results end with </s>."""
        ...


class Translucent:
    """Our engine without HTTP: worker, queue, scheduler, search and graphs."""

    def __init__(self, bundle: Path, precision: str) -> None:
        self._bundle = load_bundle(bundle)
        self._settings = ModelSettings(*reversed(on_device(precision)))  # type: ignore[arg-type]
        self._models: list[Any] = []
        self._workers: list[Worker] = []
        self._setting = Setting(1, 1, 1)

    def open(self, setting: Setting) -> None:
        """Start the workers of a setting, each with its own model."""
        for worker in self._workers:
            worker.retire()  # the next ones run the same models
        while len(self._models) < setting.workers:
            self._models.append(load_model(self._bundle, self._settings))
        rows = max(MAX_BEAM_SIZE, setting.batch * setting.beam)
        budget = Budget(rows=rows) if self._settings.device == "cpu" else Budget(rows=rows, sentences=rows)
        chosen = self._models[: setting.workers]
        self._workers = [Worker("bench", model, WorkerSettings(budget)) for model in chosen]
        self._setting = setting

    def translate(self, sources: Sequence[Ids]) -> list[Ids]:
        """Give every worker its share at once, or one sentence after the other."""
        own = self._bundle.manifest.decoding
        search = SearchOptions(
            self._setting.beam,
            1.0,
            self._setting.longest,
            early_stopping=own.early_stopping,
            repetition_guard=own.repetition_guard is not False,
        )
        jobs = [SentenceJob(ids, search) for ids in sources]
        count = len(self._workers)
        if self._setting.batch == 1:
            rounds = (jobs[first : first + count] for first in range(0, len(jobs), count))
            return list(chain.from_iterable(self._together(each) for each in rounds))
        return self._together(jobs)

    def _together(self, jobs: Sequence[SentenceJob]) -> list[Ids]:
        count = len(self._workers)
        shares = [
            worker.submit_all(jobs[first::count]) for first, worker in enumerate(self._workers) if jobs[first::count]
        ]
        found = [shares[at % count][at // count].result() for at in range(len(jobs))]
        return [result.hypotheses[0].ids for result in found]


class CTranslate2:
    """CTranslate2 with the weights of the bundle; it sorts sentences by length and forms batches itself."""

    def __init__(self, bundle: Path, precision: str) -> None:
        from benchmarks.engine import ctranslate2_model

        self._module, self._precision = ctranslate2_model, precision
        self._folder = Path(tempfile.mkdtemp(prefix="ctranslate2-"))
        self._pieces = ctranslate2_model.build(bundle, self._folder)
        self._ids = {piece: number for number, piece in enumerate(self._pieces)}
        self._translators: dict[int, Any] = {}
        self._setting = Setting(1, 1, 1)

    def open(self, setting: Setting) -> None:
        """Create the translator for this number of workers."""
        if setting.workers not in self._translators:
            self._translators[setting.workers] = self._module.open_translator(
                self._folder, *on_device(self._precision), setting.workers
            )
        self._setting = setting

    def translate(self, sources: Sequence[Ids]) -> list[Ids]:
        """Translate with one call for all sentences, or with one for every group of as many as there are workers."""
        setting, translator = self._setting, self._translators[self._setting.workers]
        step = setting.workers if setting.batch == 1 else len(sources)
        found: list[Ids] = []
        for first in range(0, len(sources), step):
            results = translator.translate_batch(
                [[self._pieces[number] for number in ids] for ids in sources[first : first + step]],
                max_batch_size=setting.batch,
                beam_size=setting.beam,
                length_penalty=1.0,
                max_decoding_length=setting.longest,
                return_end_token=True,
            )
            found += [tuple(self._ids[piece] for piece in result.hypotheses[0]) for result in results]
        return found


class Torch:
    """The PyTorch network, eager or compiled: float32 on one thread, and half precision on a GPU."""

    def __init__(self, bundle: Path, precision: str) -> None:
        import torch

        from training.export.dequantise import dequantise_bundle, read_recipe
        from training.networks.build import build_network

        torch.set_num_threads(1)
        state = dequantise_bundle(bundle)
        vocabulary = next(tensor.shape[0] for name, tensor in state.items() if "embedding" in name)
        network = build_network(read_recipe(bundle).network, vocabulary)
        network.load_state_dict(state, strict=False)
        name, device = on_device(precision)
        self._device = torch.device(device)
        self._half = torch.autocast(device, torch.float16, enabled=device == "cuda")
        network.eval().to(self._device)
        if name == "compiled":
            network.encode = torch.compile(network.encode, dynamic=True)  # type: ignore[method-assign]
            network.step = torch.compile(network.step, dynamic=True)  # type: ignore[method-assign]
        self._network = network
        self._setting = Setting(1, 1, 1)

    def open(self, setting: Setting) -> None:
        """Keep the setting; there is only one worker."""
        self._setting = setting

    def translate(self, sources: Sequence[Ids]) -> list[Ids]:
        """Translate batch after batch, sorted by length."""
        import torch

        from training.decoding.batches import pad_sources
        from training.decoding.beam_search import SearchOptions as Options
        from training.decoding.beam_search import beam_search

        found: dict[int, Ids] = {}
        order = sorted(range(len(sources)), key=lambda index: -len(sources[index]))
        setting = self._setting
        options = Options(setting.beam, 1.0, setting.longest)
        with torch.no_grad(), self._half:
            for first in range(0, len(order), setting.batch):
                group = order[first : first + setting.batch]
                padded = pad_sources([sources[index][:-1] for index in group], self._device)
                rows = [each[0].ids for each in beam_search(self._network, *padded, options)]
                found |= {index: (*ids, sources[index][-1]) for index, ids in zip(group, rows, strict=True)}
        return [found[index] for index in range(len(sources))]


ENGINES: dict[str, type[Translucent | CTranslate2 | Torch]] = {
    "translucent": Translucent,
    "ctranslate2": CTranslate2,
    "torch": Torch,
}
