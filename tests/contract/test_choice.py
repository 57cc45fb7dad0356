"""The choice in the graph of a running batch is that of the search, also among equal ones and where little is left."""

from typing import NamedTuple

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper

from service.bundle.limits import MOST_SLOTS
from service.bundle.manifest import ArraySpec, GraphSet, SpecialIds
from service.bundle.vocabulary import BOS, EOS, PAD
from service.engine.jobs import FloatArray, IntArray, SearchOptions
from service.engine.model.buffers import Array
from service.engine.model.interface import Advance, Choice, HostCandidates
from service.engine.search.beam_search import Beam
from service.engine.search.greedy import Greedy
from training.export.graphs.choice import run_graph

STEPS, SENTENCES = 12, 24
ARRAYS = GraphSet("any", "", "", "", (), (ArraySpec("seen", "int64", ("N", 1), "cache"),))


class Chosen(NamedTuple):
    """Candidates, and what the graph has chosen among them."""

    ids: IntArray
    logprobs: FloatArray
    choice: Choice


def session() -> onnxruntime.InferenceSession:
    """Return a step that gives candidates as it gets them, with the choice among them."""
    nodes = [helper.make_node("Identity", [f"given_{name}"], [f"top_{name}"]) for name in ("ids", "logprobs")]
    nodes.append(helper.make_node("Reshape", ["tokens", "column"], ["column_of_tokens"]))
    nodes.append(helper.make_node("Add", ["seen", "column_of_tokens"], ["next_seen"]))
    kinds = {"ids": TensorProto.INT64, "logprobs": TensorProto.FLOAT}
    given, found = (
        [helper.make_tensor_value_info(f"{part}_{name}", kind, ["B", "K", "C"]) for name, kind in kinds.items()]
        for part in ("given", "top")
    )
    column = helper.make_tensor("column", TensorProto.INT64, [2], [-1, 1])
    seen = helper.make_tensor_value_info("next_seen", TensorProto.INT64, ["N", 1])
    graph = helper.make_graph(nodes, "step", given, [*found, seen], [column])
    step = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
    model = run_graph(step, ARRAYS, SpecialIds(PAD, BOS, EOS))
    onnx.checker.check_model(model)
    return onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])


def candidates(random: np.random.Generator, beam_size: int) -> tuple[IntArray, FloatArray]:
    """Return candidates with a few different log-probabilities, of which some are impossible, and many ends."""
    shape = SENTENCES, beam_size, max(2 * beam_size, 5)
    tokens = np.array([random.permutation(np.arange(2, 2 + shape[2])) for _ in range(SENTENCES * beam_size)])
    steps = random.choice([0.0, 0.25, 0.5, 0.5, 1e9], shape, p=[0.5, 0.2, 0.15, 0.05, 0.1])
    steps[random.random(SENTENCES) < 0.05] = 1e9  # no token may follow
    return tokens.reshape(shape), -np.minimum(np.cumsum(steps, axis=2), 1e9).astype(np.float32)


@pytest.mark.parametrize("beam_size", [1, 2, 4, 8])
@pytest.mark.parametrize("seed", range(4))
def test_both_choose_the_same(beam_size: int, seed: int) -> None:
    run, random = session(), np.random.default_rng(seed)
    searches = [Beam(beam_size, EOS, BOS) if beam_size > 1 else Greedy(EOS, BOS), Beam(beam_size, EOS, BOS)]
    options = SearchOptions(beam_size, 1.0, STEPS, n_best=beam_size, repetition_guard=False, early_stopping="never")
    for search in searches:
        for at in range(SENTENCES):
            search.add(options, (3, EOS), at=at)
    shape = SENTENCES, beam_size
    state: dict[str, Array] = {"live_tokens": np.zeros(shape, np.int64), "live_rows": np.zeros(shape, np.int64)}
    state |= {"live_sums": np.zeros(shape), "held_lengths": np.zeros(SENTENCES * beam_size, np.int32)}
    state["held_seen"] = np.zeros((SENTENCES * beam_size, 1), np.int64)
    kept = np.full(shape, -2, np.int32)
    kept[:, 0] = -1
    own_rows = np.arange(SENTENCES * beam_size).reshape(shape)
    names = [output.name for output in run.get_outputs()]
    ended: set[int] = set()
    for step in range(STEPS):
        ids, logprobs = candidates(random, beam_size)
        feeds = {"given_ids": ids, "given_logprobs": logprobs, "kept": kept, "own_rows": own_rows} | state
        found = dict(zip(names, run.run(names, feeds), strict=True))
        codes, gains, ends = np.split(found["choice"], 3, axis=1)
        tokens, slots = np.divmod(codes.astype(np.int64), MOST_SLOTS)
        theirs: Advance = searches[0].advance(HostCandidates(ids, logprobs))
        ours: Advance = searches[1].advance(Chosen(ids, logprobs, Choice(tokens, slots, gains, ends)))
        done, same = ([at for at in advance.done if at not in ended] for advance in (theirs, ours))
        assert done == same
        for at in done:
            one, other = (search.hypotheses(at, beam_size) for search in searches)
            assert one == other
        ended |= {*done}
        running = [at for at in range(SENTENCES) if at not in ended]
        assert np.array_equal(searches[0].tokens[running], searches[1].tokens[running])
        if theirs.parents is not None and ours.parents is not None:
            assert np.array_equal(theirs.parents.reshape(shape)[running], ours.parents.reshape(shape)[running])
        assert (ours.ranks is None) == (step + 1 == STEPS), "only the last step is the search's own"
        if ours.ranks is None:
            break
        kept = (np.arange(SENTENCES)[:, None] * beam_size + ours.ranks).astype(np.int32)
        state = {name: found[f"next_{name}"] for name in ("live_tokens", "live_rows", "live_sums")}
        state |= {"held_lengths": found["lengths"], "held_seen": found["next_seen"]}
    assert len(ended) == SENTENCES
