"""A bundle whose graphs for a GPU compute in float32, with the same weights: on a CPU they say what is exact."""

import json
import shutil
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import onnx
from onnx import AttributeProto, GraphProto, TensorProto, numpy_helper

from service.bundle.load import Bundle, load_bundle
from service.bundle.write import write_manifest

HALF, WHOLE = TensorProto.FLOAT16, TensorProto.FLOAT


def write_whole(bundle: Bundle, folder: Path) -> Bundle:
    """Write the bundle with its fp16 graphs in float32 into a new folder, with copies of its other files."""
    folder.mkdir(parents=True)
    for path in bundle.folder.iterdir():
        if path.name.endswith(".fp16.onnx"):
            model = onnx.load_model(str(path), load_external_data=False)
            _widen(model.graph)
            (folder / path.name).write_bytes(model.SerializeToString())
        elif path.suffix != ".json" or path.name == "tokenizer.json":
            shutil.copyfile(path, folder / path.name)
    document = json.loads(json.dumps(bundle.manifest.raw))
    for array in (*document["graphs"]["fp16"]["memory"], *document["graphs"]["fp16"]["state"]):
        array["dtype"] = array["dtype"].replace("float16", "float32")
    write_manifest(folder, document)
    return load_bundle(folder)


def _widen(graph: GraphProto) -> None:
    for entry in (*graph.input, *graph.output, *graph.value_info):
        if entry.type.tensor_type.elem_type == HALF:
            entry.type.tensor_type.elem_type = WHOLE
    for tensor in graph.initializer:
        if tensor.data_type == HALF:
            tensor.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(tensor).astype(np.float32), tensor.name))
    for attribute in _attributes(graph):
        if attribute.name == "to" and attribute.i == HALF:
            attribute.i = WHOLE
        if attribute.type == AttributeProto.GRAPH:
            _widen(attribute.g)


def _attributes(graph: GraphProto) -> Iterable[AttributeProto]:
    return (attribute for node in graph.node for attribute in node.attribute)
