"""Decides when a run ends and which checkpoint is the best; the end of patience begins the cooldown."""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass, replace
from typing import Any

import lightning
from lightning.pytorch.callbacks import Callback

from training.data.batching import Batch
from training.recipe import Recipe
from training.runs.folder import RunFolder
from training.trainer.log import tell
from training.trainer.module import TranslationModule
from training.trainer.schedule import last_update


@dataclass(frozen=True, slots=True)
class Validations:
    """The results of the validations so far."""

    best: float = -math.inf
    """The highest development BLEU."""
    without_better: int = 0
    """The validations since then; not counted after patience has ended."""
    ended_at: int | None = None
    """The update at which patience ended."""

    def after(self, update: int, bleu: float, patience: int) -> Validations:
        """Return the results after one more validation."""
        if bleu > self.best:
            return replace(self, best=bleu, without_better=0 if self.ended_at is None else self.without_better)
        if self.ended_at is not None:
            return self
        return replace(self, without_better=self.without_better + 1).resumed(update, patience)

    def resumed(self, update: int, patience: int) -> Validations:
        """Return the results under another ``patience``: a higher one revives an ended run, a lower one may end it."""
        if self.without_better < patience:
            return replace(self, ended_at=None)
        return replace(self, ended_at=update if self.ended_at is None else self.ended_at)


class Stopping(Callback):
    """Ends a run at its last update, begins the cooldown when patience ends, and keeps the best checkpoint."""

    def __init__(self, recipe: Recipe, folder: RunFolder) -> None:
        self._recipe, self._folder = recipe, folder
        self.validations = Validations()

    def on_train_start(self, trainer: lightning.Trainer, pl_module: lightning.LightningModule) -> None:
        """Take a resumed run's validations from its folder, as a checkpoint is written before that at its update."""
        seen = _load_validations(self._folder)
        before = [int(update) for update in seen if int(update) <= trainer.global_step]
        if before:
            last = Validations(**seen[str(max(before))])
            self.validations = last.resumed(trainer.global_step, self._recipe.validation.patience)
            self._keep(trainer)
        self._settle(trainer, pl_module)

    def on_train_batch_end(
        self,
        trainer: lightning.Trainer,
        pl_module: lightning.LightningModule,
        outputs: Any,
        batch: Batch,
        batch_idx: int,
    ) -> None:
        """Stop after the last update; Lightning then validates once more."""
        self._settle(trainer, pl_module)

    def on_validation_end(self, trainer: lightning.Trainer, pl_module: lightning.LightningModule) -> None:
        """Count the validation; keep the parameters if they are the best so far."""
        if trainer.sanity_checking or "dev_bleu" not in trainer.callback_metrics:
            return
        bleu = float(trainer.strategy.broadcast(float(trainer.callback_metrics["dev_bleu"])))
        before = self.validations
        self.validations = before.after(trainer.global_step, bleu, self._recipe.validation.patience)
        self._keep(trainer)
        if bleu > best_so_far(self._folder):
            trainer.save_checkpoint(self._folder.best)
            if trainer.is_global_zero:
                record = {"update": trainer.global_step, "dev_bleu": bleu}
                self._folder.best_score.write_text(json.dumps(record) + "\n", encoding="utf-8")
        self._settle(trainer, pl_module)
        if (
            before.ended_at is None
            and self.validations.ended_at is not None
            and isinstance(pl_module, TranslationModule)
        ):
            tell(self._folder, patience_ended(self.validations.ended_at, pl_module.last_update))

    def _keep(self, trainer: lightning.Trainer) -> None:
        """Write the results so far into the run folder."""
        if not trainer.is_global_zero:
            return
        stored = {**_load_validations(self._folder), str(trainer.global_step): asdict(self.validations)}
        self._folder.checkpoints.mkdir(exist_ok=True)
        staged = self._folder.validations.with_suffix(".new")
        staged.write_text(json.dumps(stored) + "\n", encoding="utf-8")
        staged.replace(self._folder.validations)

    def _settle(self, trainer: lightning.Trainer, module: lightning.LightningModule) -> None:
        assert isinstance(module, TranslationModule)
        module.last_update = last_update(self._recipe.optimisation, self.validations.ended_at)
        if trainer.global_step >= module.last_update:
            trainer.should_stop = True


def patience_ended(at: int, last: int) -> str:
    """Return the message for a run whose patience has ended."""
    return f"patience ended at update {at}: " + (
        f"the cooldown begins here and ends the run at update {last}" if last > at else "the run ends here"
    )


def already_finished(update: int, ended_at: int | None) -> str:
    """Return the message for a run that was started again after it had ended."""
    how = "raise optimisation.max_updates" if ended_at is None else "raise validation.patience"
    why = "" if ended_at is None else f": its patience ended at update {ended_at}"
    return f"this run has ended with update {update}{why}; to continue it, {how}"


def _load_validations(folder: RunFolder) -> dict[str, dict[str, Any]]:
    """Return the results after each validation, by its update."""
    if not folder.validations.exists():
        return {}
    validations: dict[str, dict[str, Any]] = json.loads(folder.validations.read_text(encoding="utf-8"))
    return validations


def best_so_far(folder: RunFolder) -> float:
    """Return the development BLEU of the best checkpoint; minus infinity if there is none."""
    if not folder.best.exists() or not folder.best_score.exists():
        return -math.inf
    return float(json.loads(folder.best_score.read_text(encoding="utf-8"))["dev_bleu"])
