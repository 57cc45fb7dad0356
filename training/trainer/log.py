"""The log of a run: ``train.log`` in its folder; warnings also go to the terminal."""

import logging
import sys

from lightning.pytorch.utilities import rank_zero_only

from training.runs.folder import RunFolder


def open_log(folder: RunFolder) -> logging.Logger:
    """Return the logger of the run folder's log; warnings also go to the terminal."""
    log = logging.getLogger(f"training.run.{folder.path.name}")
    log.setLevel(logging.INFO)
    log.propagate = False
    to_file = logging.FileHandler(folder.log)
    to_file.setFormatter(logging.Formatter("%(asctime)s %(message)s"))
    to_terminal = logging.StreamHandler(sys.stderr)
    to_terminal.setLevel(logging.WARNING)
    for handler in log.handlers:
        handler.close()
    log.handlers = [to_file, to_terminal]
    return log


@rank_zero_only
def tell(folder: RunFolder, message: str) -> None:
    """Write one line to the run's log and to the terminal; only the first process writes."""
    logging.getLogger(f"training.run.{folder.path.name}").warning(message)
