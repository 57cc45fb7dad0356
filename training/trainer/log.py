"""What a run reports: ``train.log`` in its folder and the terminal, with a bar there, and its speed."""

from __future__ import annotations

import logging
import shutil
import sys
import time
import warnings
from typing import Any, NoReturn

import lightning
import torch
from lightning.fabric.utilities.warnings import PossibleUserWarning
from lightning.pytorch.callbacks import Callback
from lightning.pytorch.utilities import rank_zero_only
from tqdm import tqdm

from training.data.batching import Batch
from training.runs.folder import RunFolder
from training.trainer.module import TranslationModule

REFRESH = 20
"""Batches between two looks at numbers of the device: reading them blocks a GPU."""
LOGGED = 100
"""Updates between two lines of the log."""


BAR = "{percentage:3.0f} %|{bar}| {n_fmt}/{total_fmt}, {remaining} left{postfix}"
SHOWN = (
    ("loss", "train_loss", ".3f"),
    ("BLEU", "dev_bleu", ".1f"),
    ("rate", "rate", ".1e"),
    ("tokens/s", "tokens_per_second", ",.0f"),
)
"""What stands beside the bar: its name there, its name in the log, its format."""


class _Terminal(logging.Handler):
    """Writes lines above the bar, if there is one."""

    def emit(self, record: logging.LogRecord) -> None:
        tqdm.write(self.format(record), file=sys.stderr)


def open_log(folder: RunFolder, bar: bool) -> logging.Logger:
    """Return the logger of the run's log, whose lines also go to the terminal: beside a bar, the important ones."""
    log = logging.getLogger(f"training.run.{folder.path.name}")
    log.setLevel(logging.INFO)
    log.propagate = False
    to_file, to_terminal = logging.FileHandler(folder.log), _Terminal(logging.WARNING if bar else logging.INFO)
    for old in log.handlers:
        old.close()
    log.handlers = [to_file, to_terminal]
    for handler in log.handlers:
        handler.setFormatter(logging.Formatter("%(asctime)s %(message)s"))
    return log


def quiet_libraries() -> None:
    """Keep the terminal free of what libraries tell their own developers, and of what they advertise."""
    for name in ("lightning.pytorch", "lightning.fabric"):
        logging.getLogger(name).setLevel(logging.WARNING)
    for category in (DeprecationWarning, FutureWarning, PossibleUserWarning):
        warnings.filterwarnings("ignore", category=category)
    warnings.filterwarnings("ignore", message="Checkpoint directory .* exists and is not empty")  # of a resumed run


@rank_zero_only
def tell(folder: RunFolder, message: str) -> None:
    """Write one line to the run's log and to the terminal; only the first process writes."""
    logging.getLogger(f"training.run.{folder.path.name}").warning(message)


class Speed(Callback):
    """Logs target tokens per second."""

    def __init__(self) -> None:
        self._since = time.perf_counter()
        self._tokens: torch.Tensor | int = 0

    def on_train_batch_end(
        self, trainer: lightning.Trainer, module: lightning.LightningModule, outputs: Any, batch: Batch, index: int
    ) -> None:
        """Count the batch on its own device, and log the sum only now and then."""
        self._tokens = self._tokens + batch.target_lengths.sum()
        if (index + 1) % REFRESH == 0:
            tokens = int(self._tokens)
            now = time.perf_counter()
            module.log("tokens_per_second", tokens / (now - self._since))
            self._tokens, self._since = 0, now


def _values(trainer: lightning.Trainer) -> dict[str, float]:
    """Return the last values of what is measured, and the learning rate."""
    values = {name: float(value) for name, value in trainer.callback_metrics.items()}
    return {**values, "rate": trainer.optimizers[0].param_groups[0]["lr"]}


def _last_update(module: lightning.LightningModule) -> int:
    assert isinstance(module, TranslationModule)
    return module.last_update


class RunLog(Callback):
    """Writes a line to the run's log every ``LOGGED`` updates and after each validation."""

    def __init__(self, log: logging.Logger) -> None:
        self._log, self._written = log, 0

    def _line(self, trainer: lightning.Trainer, *names: str) -> str:
        values = _values(trainer)
        shown = " ".join(f"{name}={values[name]:.4g}" for name in (*names, "rate") if name in values)
        return f"update={trainer.global_step} {shown}"

    def on_train_batch_end(
        self, trainer: lightning.Trainer, module: lightning.LightningModule, outputs: Any, batch: Batch, index: int
    ) -> None:
        """Write the training loss now and then, once for an update of several batches."""
        update = trainer.global_step
        if update % LOGGED == 0 and update > self._written and trainer.is_global_zero:
            self._written = update
            self._log.info(self._line(trainer, "train_loss", "guided_loss", "tokens_per_second"))

    def on_validation_end(self, trainer: lightning.Trainer, module: lightning.LightningModule) -> None:
        """Write the development scores, those of each corpus last."""
        if trainer.is_global_zero and not trainer.sanity_checking:
            scores = sorted(name for name in trainer.callback_metrics if name.startswith("dev_bleu/"))
            self._log.warning(self._line(trainer, "train_loss", "dev_loss", "dev_bleu", *scores))


class Bar(Callback):
    """Shows on the terminal how far a run is, with its losses, BLEU, learning rate and speed."""

    def __init__(self) -> None:
        self._bar: tqdm[NoReturn] | None = None

    def on_train_start(self, trainer: lightning.Trainer, module: lightning.LightningModule) -> None:
        """Begin at the update of the checkpoint."""
        if trainer.is_global_zero:
            columns, lines = shutil.get_terminal_size()  # 80 by 24 for a terminal that does not say; tqdm hides there
            first, last = trainer.global_step, _last_update(module)
            self._bar = tqdm(initial=first, total=last, ncols=columns, nrows=lines, bar_format=BAR, file=sys.stderr)

    def on_train_batch_end(
        self, trainer: lightning.Trainer, module: lightning.LightningModule, outputs: Any, batch: Batch, index: int
    ) -> None:
        """Move the bar now and then."""
        if (index + 1) % REFRESH == 0:
            self._show(trainer, module)

    def on_validation_end(self, trainer: lightning.Trainer, module: lightning.LightningModule) -> None:
        """Show the new BLEU."""
        self._show(trainer, module)

    def _show(self, trainer: lightning.Trainer, module: lightning.LightningModule) -> None:
        if self._bar is None:
            return
        self._bar.total = _last_update(module)  # a cooldown that patience began brings the end nearer
        values = _values(trainer)
        shown = [f"{name} {values[key]:{form}}" for name, key, form in SHOWN if key in values]
        self._bar.set_postfix_str(", ".join(shown), refresh=False)
        self._bar.update(trainer.global_step - self._bar.n)

    def teardown(self, trainer: lightning.Trainer, module: lightning.LightningModule, stage: str) -> None:
        """Leave the bar as it is, at the end or after an error."""
        if self._bar is not None:
            self._bar.update(trainer.global_step - self._bar.n)
            self._bar.close()
