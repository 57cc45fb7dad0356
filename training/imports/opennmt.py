"""Says why a checkpoint of PyTorch (.pt), such as OpenNMT-py writes, is not imported.

Nothing of it is unpickled: its settings are found among the instructions of its pickle, none of which is executed.
"""

import contextlib
import pickletools
import zipfile
import zlib
from io import BytesIO
from pathlib import Path
from typing import BinaryIO

from training.imports.files import ImportRefused

ENDINGS = (".pt", ".pth")
_MOST_BYTES = 64 << 20
"""Of the pickle without its tensors."""
_PICKLES = 4
"""In a file from before PyTorch 1.6, which is no archive: numbers, the platform, and the checkpoint."""
_SETTINGS = ("decoder_type", "rnn_type", "global_attention")


def refusal_of(path: Path) -> ImportRefused:
    """Return why a checkpoint is refused, with what to do about it."""
    settings: dict[str, object] = {}
    with contextlib.suppress(OSError, ValueError, EOFError, RuntimeError, zipfile.BadZipFile, zlib.error):
        file = _pickles(path)
        for _ in range(_PICKLES):
            settings |= _settings(file)
    decoder = settings.get("decoder_type")
    if decoder is None:
        return ImportRefused(
            f"{path}: it is no checkpoint that says what network it is; the folder of a model of the hub, or one that "
            "CTranslate2 has converted, can be imported"
        )
    if decoder == "transformer":
        return ImportRefused(
            f"{path}: it is a Transformer of OpenNMT-py; make a CTranslate2 folder of it (ct2-opennmt-py-converter "
            f"--model_path {path} --output_dir FOLDER), put its SentencePiece models there, and add that"
        )
    reason = "which none of our networks has"
    if decoder == "rnn" and settings.get("global_attention") in ("none", None):
        reason = "which has no attention"
    elif decoder == "rnn":
        reason = "whose attention feeds its output, where that of our recurrent networks feeds the decoder's state"
    kind = f" ({settings['rnn_type']})" if decoder == "rnn" and "rnn_type" in settings else ""
    return ImportRefused(
        f"{path}: it is a model of OpenNMT-py with the decoder {decoder}{kind}, {reason}; Transformers can be imported"
    )


def _pickles(path: Path) -> BinaryIO:
    """Return what holds the pickles of a checkpoint: an entry of the archive, or the beginning of an older file."""
    if not zipfile.is_zipfile(path):
        with path.open("rb") as file:
            return BytesIO(file.read(_MOST_BYTES))
    with zipfile.ZipFile(path) as archive:
        name = next((name for name in archive.namelist() if name.endswith("/data.pkl")), "data.pkl")
        try:
            with archive.open(name) as entry:
                return BytesIO(entry.read(_MOST_BYTES))
        except KeyError as error:
            raise ValueError("no checkpoint") from error


def _settings(file: BinaryIO) -> dict[str, object]:
    """Return the settings that stand in a pickle, each a name and behind it a value."""
    settings: dict[str, object] = {}
    memo: dict[object, object] = {}
    name = value = None
    for instruction, argument, _ in pickletools.genops(file):
        if "PUT" in instruction.name or instruction.name == "MEMOIZE":
            memo[len(memo) if argument is None else argument] = value
            continue
        value = memo.get(argument) if "GET" in instruction.name else argument
        if name is not None:
            settings[name] = value
        name = value if value in _SETTINGS else None
    return settings
