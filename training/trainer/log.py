"""What a run reports: ``train.log`` in its folder, its speed, and warnings, which also go to the terminal."""

import logging
import sys
import time
from collections.abc import Sequence
from typing import Any

import lightning
import torch
from lightning.pytorch.callbacks import Callback
from lightning.pytorch.utilities import rank_zero_only

from training.data.batching import Batch
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


class Speed(Callback):
    """Shows target tokens per second on the progress bar and in TensorBoard."""

    def __init__(self, every: int = 20) -> None:
        self._every, self._since = every, time.perf_counter()
        self._tokens: torch.Tensor | int = 0

    def on_train_batch_end(
        self, trainer: lightning.Trainer, module: lightning.LightningModule, outputs: Any, batch: Batch, index: int
    ) -> None:
        """Count the batch on its own device, and log the sum only now and then, as reading it blocks a GPU."""
        self._tokens = self._tokens + batch.target_lengths.sum()
        if (index + 1) % self._every == 0:
            tokens = int(self._tokens)
            now = time.perf_counter()
            module.log("tokens_per_second", tokens / (now - self._since), prog_bar=True)
            self._tokens, self._since = 0, now


class RunLog(Callback):
    """Writes a line to the run folder's log every hundred updates and after each validation."""

    def __init__(self, folder: RunFolder, every: int = 100) -> None:
        self._every, self._written = every, 0
        self._log = open_log(folder)

    def _write(self, trainer: lightning.Trainer, names: Sequence[str]) -> None:
        values = trainer.callback_metrics
        shown = " ".join(f"{name}={float(values[name]):.4g}" for name in names if name in values)
        self._log.info("update=%d %s", trainer.global_step, shown)

    def on_train_batch_end(
        self, trainer: lightning.Trainer, module: lightning.LightningModule, outputs: Any, batch: Batch, index: int
    ) -> None:
        """Write the training loss now and then, once for an update of several batches."""
        update = trainer.global_step
        if update % self._every == 0 and update > self._written and trainer.is_global_zero:
            self._written = update
            self._write(trainer, ("train_loss", "guided_loss", "tokens_per_second"))

    def on_validation_end(self, trainer: lightning.Trainer, module: lightning.LightningModule) -> None:
        """Write the development scores, those of each corpus last."""
        if trainer.is_global_zero and not trainer.sanity_checking:
            each = sorted(name for name in trainer.callback_metrics if name.startswith("dev_bleu/"))
            self._write(trainer, ("train_loss", "dev_loss", "dev_bleu", *each))
