"""The fp16 graphs, as far as a CPU can check them: shapes, types, and the same weights; numbers need a GPU."""

from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto

from service.engine.model.session import load_cuda_libraries
from tests.support.exported import Exported, batch_of, id_pairs, write_quantised
from tests.support.tiny_networks import VARIANTS
from training.export.graphs.network import GRAPH_KINDS
from training.export.sessions import open_session, run


@pytest.fixture(
    scope="module",
    params=["pre-norm", "post-norm", "score-additive", "attention-local", "deep-lstm", "conditional", "convolutional"],
)
def exported(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Exported:
    return write_quantised(VARIANTS[request.param], tmp_path_factory.mktemp("half"))


def test_graphs_are_well_formed_with_half_state_and_whole_results(exported: Exported) -> None:
    for kind in GRAPH_KINDS:
        onnx.checker.check_model(str(exported.folder / f"{kind}.fp16.onnx"))
    forced = onnx.load_model(str(exported.folder / "forced.fp16.onnx"), load_external_data=False).graph
    assert not [node for node in forced.node if node.op_type == "Pad" and "target" in node.input], "of integers"
    decoder = onnx.load_model(str(exported.folder / "decoder.fp16.onnx"), load_external_data=False).graph
    types = {value.name: value.type.tensor_type.elem_type for value in (*decoder.input, *decoder.output)}
    assert {types[name] for name, _ in exported.graphs().state + exported.graphs().memory} == {TensorProto.FLOAT16}
    assert types["top_logprobs"] == TensorProto.FLOAT


@pytest.mark.parametrize("variant", ["pre-norm", "post-norm"])
def test_a_transformer_runs_in_half_precision(variant: str, tmp_path: Path) -> None:
    """The CPU has these kernels too (it has none for a loop in half precision, which the RNN's encoder is)."""
    exported = write_quantised(VARIANTS[variant], tmp_path)
    batch = batch_of(id_pairs())
    valid = batch.target_out.numpy() != 0
    half, whole = (exported.force(precision, batch)["logprobs"][valid] for precision in ("fp16", "expanded"))
    assert np.abs(half - whole).max() < 0.05
    np.testing.assert_allclose(exported.step_through("fp16", batch)[valid], half, atol=0.02)


@pytest.mark.gpu
@pytest.mark.skipif("CUDAExecutionProvider" not in onnxruntime.get_available_providers(), reason="no CUDA here")
def test_forced_decoding_on_the_gpu_gives_the_numbers_of_the_cpu(exported: Exported) -> None:
    load_cuda_libraries()
    path = exported.folder / "forced.fp16.onnx"
    session = open_session(path, "CUDAExecutionProvider")
    assert session.get_providers()[0] == "CUDAExecutionProvider", "ONNX Runtime falls back to the CPU silently"
    batch = batch_of(id_pairs())
    feeds = {"source": batch.source.numpy(), "source_lengths": batch.source_lengths.numpy()}
    feeds |= {"target": batch.target_out.numpy(), "target_lengths": batch.target_lengths.numpy()}
    half = run(session, feeds)["logprobs"]
    valid = batch.target_out.numpy() != 0
    assert np.abs(half - exported.force("expanded", batch)["logprobs"])[valid].max() < 0.05
