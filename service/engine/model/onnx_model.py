"""A bundle as a model: encoder, decoder step and forced decoding on ONNX Runtime."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import onnxruntime

from service.bundle.limits import SOURCE_STEP
from service.bundle.load import Bundle
from service.engine.errors import BundleIncompatible, DeviceUnavailable, InvalidOption
from service.engine.jobs import ScoringResult, WeightSelection
from service.engine.model.batching import EncodedSentences, group_by_length, pad_batch
from service.engine.model.binding import StepSessions
from service.engine.model.buckets import SlotGraphs, run_on_device
from service.engine.model.bundle_graphs import BundleGraphs
from service.engine.model.decoder_state import CpuDecoderState
from service.engine.model.device import ModelSettings, Placement, place_among
from service.engine.model.explainer import Explainer, cut
from service.engine.model.interface import DecoderState
from service.engine.model.session import Allocation, on_cpu_instead, open_recording, open_session
from service.engine.model.slots import SlotDecoderState

ENCODED_TOKENS = 2048  # most tokens of one encoder run, with padding
# Another step costs 0.3 to 0.5 ms on one core. A padded source position of a sentence, with the shortlist's, costs
# 0.1 to 0.4 µs greedily and 0.4 to 0.9 µs with four hypotheses (docs/adr/0007-speed.md).
STEP_COST = 1024
FORCED_WEIGHTS = 2**22  # most numbers in the attention arrays of one scoring run


def load_model(bundle: Bundle, settings: ModelSettings) -> OnnxModel:
    """Open a bundle's graphs on the device of the settings.

    Raise DeviceUnavailable, BundleIncompatible or BundleCorrupt.
    """
    graphs, available = bundle.manifest.graphs, onnxruntime.get_available_providers()
    try:
        return OnnxModel(bundle, place_among(available, graphs, settings), settings)
    except BundleIncompatible as error:
        raise BundleIncompatible(f"{bundle.folder}: {error.message}.") from error
    except DeviceUnavailable as error:
        settings = on_cpu_instead(settings, error)
    return OnnxModel(bundle, place_among(available, graphs, settings), settings)


class OnnxModel:
    """Runs a bundle's graphs; satisfies interface.Model."""

    def __init__(
        self, bundle: Bundle, placement: Placement, settings: ModelSettings, *, rehearsed: bool = False
    ) -> None:
        """Open the graphs; `rehearsed`: those for a GPU, and as they run there, also on the CPU."""
        manifest = bundle.manifest
        self.placement = placement
        self.bos, self.eos = manifest.special_ids.bos, manifest.special_ids.eos
        self.source_limit, self.target_limit = manifest.limits.source_tokens, manifest.limits.target_tokens
        self._pad = manifest.special_ids.pad
        self._graphs = BundleGraphs(bundle, placement.precision)
        self._is_large, self._settings = manifest.is_large, settings
        self._attentions = [member.attention for member in manifest.members] or [manifest.attention]
        self._encoder = self._open(self._graphs.graph("encoder"))
        self._decoder = self._open_slots() if rehearsed or placement.device != "cpu" else self._open_decoder()
        self.step_cost = None if isinstance(self._decoder, SlotGraphs) else STEP_COST
        self._explainers: dict[int, Explainer] = {}  # by member of an ensemble; else that of the only one
        self._shortlist = self._graphs.shortlist(self._step, self._pad)
        if self._shortlist is not None and isinstance(self._decoder, SlotGraphs):
            raise BundleIncompatible("graphs with a shortlist run on the CPU only")
        self._check_arrays()

    def encode(
        self, sources: Sequence[Sequence[int]], needed: Sequence[Sequence[int]] | None = None
    ) -> EncodedSentences:
        """Run the encoder over sentences, grouped by similar length; `needed` tokens are added to their shortlists."""
        encoded = EncodedSentences(sources)
        names = [output.name for output in self._encoder.get_outputs()]
        for group in group_by_length(encoded.lengths, lambda longest: max(1, ENCODED_TOKENS // longest)):
            source, lengths = pad_batch([sources[index] for index in group], self._pad)
            feeds = {"source": source, "source_lengths": lengths}
            listed: list[int] = []
            if self._shortlist is not None:
                feeds["shortlist"], listed = self._shortlist.together(
                    [sources[index] for index in group], needed and [needed[index] for index in group]
                )
            if isinstance(self._decoder, SlotGraphs):
                encoded.add(group, run_on_device(self._encoder, feeds, self._decoder.device))
            else:
                encoded.add(group, dict(zip(names, self._encoder.run(names, feeds), strict=True)), listed)
        return encoded

    def decoder_state(self, beam_size: int, candidates: int) -> DecoderState:
        """Return an empty decoder state."""
        if isinstance(self._decoder, SlotGraphs):
            return SlotDecoderState(self._decoder, beam_size, candidates)
        return CpuDecoderState(self._decoder, self.placement.graphs, beam_size, candidates)

    def score_batch(self, pairs: Sequence[tuple[Sequence[int], Sequence[int]]]) -> list[ScoringResult]:
        """Score given translations, grouped by similar length; results are cut to their true lengths."""
        longer = [max(len(source), len(target)) for source, target in pairs]
        results: dict[int, ScoringResult] = {}
        for group in group_by_length(longer, self._forced_together):
            source, source_lengths = pad_batch([pairs[index][0] for index in group], self._pad, SOURCE_STEP)
            target, target_lengths = pad_batch([pairs[index][1] for index in group], self._pad)
            feeds = {
                "source": source,
                "source_lengths": source_lengths,
                "target": target,
                "target_lengths": target_lengths,
            }
            names = [output.name for output in self._forced.get_outputs()]
            arrays = dict(zip(names, self._forced.run(names, feeds), strict=True))
            for row, index in enumerate(group):
                sizes = int(source_lengths[row]), int(target_lengths[row])
                first, *others = (cut(arrays, row, *sizes, member) for member in range(len(self._attentions)))
                results[index] = replace(first, others=tuple(others))
        return [results[index] for index in range(len(pairs))]

    def explain(self, source: Sequence[int], target: Sequence[int], selection: WeightSelection) -> ScoringResult:
        """Score a given translation, with the scores behind the selected weights; raise InvalidOption without any."""
        padded, source_length = pad_batch([source], self._pad, SOURCE_STEP)
        feeds = {
            "source": padded,
            "source_lengths": source_length,
            "target": np.array([target], np.int64),
            "target_lengths": np.array([len(target)], np.int64),
        }
        member = selection.member
        if member not in self._explainers:
            # Opened at the first use, with weights as they are in the file: few requests ask for an explanation.
            graph = self._graphs.explain(member)
            if graph is None:
                raise InvalidOption("This model's attention has no scores: its weights are fixed. Use stage=weights.")
            self._explainers[member] = Explainer(open_session(graph, self.placement, self._settings, packed=False))
        found = self._explainers[member].explain(feeds, selection)
        if len(self._attentions) == 1:
            return found
        [together] = self.score_batch([(source, target)])
        return replace(found, logprobs=together.logprobs, ranks=together.ranks)

    def close(self) -> None:
        """Free the sessions; another object may still hold this one for a moment."""
        del self._encoder, self._decoder
        self.__dict__.pop("_forced", None)
        self._explainers.clear()
        self._shortlist = None

    @functools.cached_property
    def _forced(self) -> onnxruntime.InferenceSession:
        # Opened at the first use: most deployments only translate, and each session holds its own packed weights. A
        # large model scores with weights as they are in the file: 40 % slower, with the same numbers, in a third of
        # the memory (docs/benchmarks.md).
        return self._open(self._graphs.graph("forced"), packed=not self._is_large)

    def _forced_together(self, longest: int) -> int:
        sizes = [size for own in self._attentions for size in (own.cross, own.encoder, own.decoder) if size]
        weights = sum(size.layers * size.heads for size in sizes) * longest**2
        return max(1, FORCED_WEIGHTS // weights)

    @property
    def _step(self) -> onnxruntime.InferenceSession:
        return self._decoder.step if isinstance(self._decoder, SlotGraphs) else self._decoder.many

    def _open_slots(self) -> SlotGraphs:
        """Return the sessions of a batch that stays on its device."""
        step, records = open_recording(functools.partial(self._open, self._graphs.graph("run")), self._settings)
        return SlotGraphs(
            step, self._open(self._graphs.graph("join")), self.placement.graphs, self.placement.device, records
        )

    def _open_decoder(self) -> StepSessions:
        """Return the sessions of the step."""
        opened = functools.partial(self._open, self._graphs.graph("decoder"))
        if self._is_large:  # a large model does not keep its packed weights twice
            return StepSessions(opened())
        # Decode threads share the session. Without a shortlist, the scores of a step are too large for the C library.
        many = opened(allocation="pool" if self.placement.graphs.shortlist is None else "threads")
        return StepSessions(many, opened(allocation="plans"))

    def _open(
        self, graph: Path | bytes, packed: bool = True, allocation: Allocation = "pool"
    ) -> onnxruntime.InferenceSession:
        weights = None if isinstance(graph, Path) else self._graphs.weights
        return open_session(graph, self.placement, self._settings, packed, weights, allocation)

    def _check_arrays(self) -> None:
        """Raise BundleIncompatible if the graphs lack an array of the manifest."""
        graphs = self.placement.graphs
        memory, state = [spec.name for spec in graphs.memory], [spec.name for spec in graphs.state]
        fixed = [f"initial_{spec.name}" for spec in graphs.state if spec.kind == "fixed"]
        given = {output.name for output in self._encoder.get_outputs()}
        stepped = {output.name for output in self._step.get_outputs()}
        missing = [name for name in (*memory, *fixed) if name not in given]
        missing += [name for name in ("top_ids", "top_logprobs", *(f"next_{n}" for n in state)) if name not in stepped]
        if missing:
            raise BundleIncompatible(f"the graphs do not return {', '.join(missing)}")
