"""Replaces a file as a whole: no reader sees half of it, even after a power failure; a full disk keeps the old one."""

import os
import secrets
from pathlib import Path


def write_whole(path: Path, data: bytes, mode: int | None = None) -> None:
    """Replace a file, whose folder exists; without a mode it gets that of new files. Raise OSError."""
    draft = path.with_name(f".{secrets.token_hex(8)}")
    try:
        with open(
            draft, "xb", opener=lambda name, flags: os.open(name, flags, 0o666 if mode is None else 0o600)
        ) as file:
            if mode is not None:
                os.fchmod(file.fileno(), mode)
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
    except OSError:  # a full disk, mostly: half a file would keep it full
        draft.unlink(missing_ok=True)
        raise
