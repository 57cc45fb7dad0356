"""CTranslate2 models as older versions wrote them, made of one of today; CTranslate2 itself reads them all."""

import json
import struct
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

TYPES = [np.float32, np.int8, np.int16, np.int32, np.float16]


def rewrite(folder: Path, version: int) -> None:
    """Replace a model's file by one of an older binary version, with the names of its time.

    Version 4 is that of CTranslate2 1.20, version 5 that of 2.24; before 4 an item says its size instead of its type,
    and version 1 says nothing of the network, which has eight heads.
    """
    path = folder / "model.bin"
    with path.open("rb") as file:
        number(file, "I")
        text(file)
        number(file, "I")
        variables = dict(variable(file) for _ in range(number(file, "I")))
        aliases = {text(file): text(file) for _ in range(number(file, "I"))}
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").unlink()
    renamed: dict[str, Any] = {}
    both = ("num_heads", "pre_norm", "activation")
    for name, array in variables.items():
        first, last = name.rsplit("/", 1)
        if last in both or last in ("alignment_layer", "alignment_heads"):
            renamed |= {last: array} if version > 1 else {}
        elif last == "scale_embeddings" and version < 5:
            renamed[f"{first}/embeddings/multiply_by_sqrt_depth"] = array
        elif "embeddings_0" in name and version < 5:
            renamed[name.replace("embeddings_0", "embeddings")] = array
        elif first in ("encoder", "decoder") and last != "scale_embeddings":
            continue  # later options, which are off
        else:
            renamed[name] = array
    if version == 5:
        for token in ("bos_token", "eos_token", "unk_token"):
            renamed[token] = np.frombuffer(str(config.get(token, TOKENS[token])).encode(), np.int8)
        renamed["with_target_bos"] = np.array(1, np.int8)
    aliases = {old(alias, version): old(name, version) for alias, name in aliases.items()}
    if version < 3:
        renamed |= {alias: renamed[name] for alias, name in aliases.items()}
    write(path, version, renamed, aliases)


TOKENS = {"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>"}


def old(name: str, version: int) -> str:
    return name.replace("embeddings_0", "embeddings") if version < 5 else name


def number(file: BinaryIO, code: str) -> int:
    (value,) = struct.unpack(f"<{code}", file.read(struct.calcsize(code)))
    return int(value)


def text(file: BinaryIO) -> str:
    return file.read(number(file, "H"))[:-1].decode()


def variable(file: BinaryIO) -> tuple[str, Any]:
    name = text(file)
    shape = [number(file, "I") for _ in range(number(file, "B"))]
    kind = number(file, "B")
    return name, np.frombuffer(file.read(number(file, "I")), TYPES[kind]).reshape(shape)


def write(path: Path, version: int, variables: dict[str, Any], aliases: dict[str, str]) -> None:
    with path.open("wb") as file:

        def put(*codes_and_values: tuple[str, int]) -> None:
            for code, value in codes_and_values:
                file.write(struct.pack(f"<{code}", value))

        def put_text(value: str) -> None:
            put(("H", len(value) + 1))
            file.write(value.encode() + b"\0")

        put(("I", version))
        if version > 1:
            put_text("TransformerSpec")
            put(("I", {2: 3, 3: 3, 4: 3, 5: 4}[version]))
        put(("I", len(variables)))
        for name, array in variables.items():
            put_text(name)
            put(("B", array.ndim), *(("I", size) for size in array.shape))
            kind = (("B", array.itemsize), ("I", array.size)) if version < 4 else (
                ("B", [np.dtype(each) for each in TYPES].index(array.dtype)), ("I", array.nbytes))  # fmt: skip
            put(*kind)
            file.write(array.tobytes())
        if version >= 3:
            put(("I", len(aliases)))
            for alias, name in aliases.items():
                put_text(alias)
                put_text(name)
