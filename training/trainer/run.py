"""Starts or resumes the run of a prepared folder."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import lightning
import torch
import yaml
from lightning.pytorch.callbacks import LearningRateMonitor, ModelCheckpoint
from lightning.pytorch.loggers import TensorBoardLogger
from lightning.pytorch.utilities import rank_zero_only

from training.export.card import recipe_text
from training.git_folder import local_folder
from training.recipe import Recipe, TrainingPrecision
from training.runs.folder import RunFolder
from training.runs.stages import closed, extend, load_stages, new_stage, origin, save_stages
from training.trainer.checkpoints import damaged_checkpoints, newest_checkpoint, write_average
from training.trainer.data import PairData
from training.trainer.log import Bar, RunLog, Speed, open_log, tell
from training.trainer.module import TranslationModule
from training.trainer.resume import Resumed, resumed_from
from training.trainer.stopping import Stopping, already_finished
from training.trainer.warm_start import start_from

PLUGINS: Mapping[TrainingPrecision, Literal["32-true", "bf16-mixed", "16-mixed"]] = {
    "fp32": "32-true",
    "bf16": "bf16-mixed",
    "fp16": "16-mixed",
}
"""Lightning's names."""


def train(
    recipe: Recipe,
    folder: RunFolder,
    processes: int = 1,
    nodes: int = 1,
    progress: bool = True,
) -> None:
    """Train until the last update, or until the end of a cooldown that patience began; then average checkpoints.

    Training resumes from the newest checkpoint if there is one. Parameters, optimiser, data position and random state
    are then those of an uninterrupted run; rate, betas, decay and patience come from the recipe.
    `progress` shows a bar on the terminal; without it, every line of the log is written there.
    Raises ValueError, before anything is changed, if the recipe, the processes or the prepared text do not fit the run.
    """
    require_world(processes * nodes)
    if recipe.optimisation.precision == "fp16" and not torch.cuda.is_available():
        raise ValueError("optimisation.precision fp16 needs an NVIDIA GPU: use bf16 or fp32")  # for its loss scaling
    newest = newest_checkpoint(folder)
    before = resumed_from(folder, newest, recipe)  # raises an error before the recipe is replaced
    log = open_log(folder, bar=progress)
    for path in damaged_checkpoints(folder):
        tell(folder, f"{path} is damaged and left out: its end is missing")
    tokenizer = folder.load_tokenizer()
    module = TranslationModule(recipe, tokenizer, folder.load_development())
    module.fingerprint = before.fingerprint
    begun = None
    if newest is None and recipe.start_from is not None:
        begun = local_folder(recipe.start_from, folder.downloads)
        start_from(module.network, tokenizer, begun)
    if newest is None and recipe.optimisation.start_share:
        torch.save({"parameters": module.network.state_dict()}, folder.start)
    data = PairData(recipe, folder)
    _record(recipe, folder, before, begun)
    stopping = Stopping(recipe, folder)
    watching = [Speed(), RunLog(log), *([Bar()] if progress else ())]
    callbacks = _callbacks(recipe, folder, stopping, watching)
    trainer = _trainer(recipe, folder, (processes, nodes), callbacks)
    trainer.fit(module, datamodule=data, ckpt_path=newest, weights_only=False)
    if trainer.global_step == before.update:
        tell(folder, already_finished(before.update, stopping.validations.ended_at))
    trainer.save_checkpoint(folder.checkpoints / f"{trainer.global_step:08d}.ckpt")  # on every process: it is a barrier
    if trainer.is_global_zero:
        write_average(folder, recipe.validation.keep_checkpoints, recipe.optimisation.start_share)
        save_stages(folder.stages, closed(load_stages(folder.stages), trainer.global_step))


def _trainer(
    recipe: Recipe,
    folder: RunFolder,
    world: tuple[int, int],
    callbacks: list[lightning.Callback],
) -> lightning.Trainer:
    """Return Lightning's trainer; ``world`` is the number of processes on each machine, and the number of machines."""
    processes, nodes = world
    return lightning.Trainer(
        max_steps=recipe.optimisation.max_updates,
        accumulate_grad_batches=recipe.optimisation.accumulate,
        gradient_clip_val=recipe.optimisation.clip_norm,
        precision=PLUGINS[recipe.optimisation.precision],
        devices=processes,
        num_nodes=nodes,
        strategy="ddp" if processes * nodes > 1 else "auto",
        val_check_interval=recipe.validation.every_updates * recipe.optimisation.accumulate,
        check_val_every_n_epoch=None,
        num_sanity_val_steps=0,
        log_every_n_steps=20,
        enable_model_summary=False,
        enable_progress_bar=False,
        use_distributed_sampler=False,
        logger=TensorBoardLogger(folder.path, name="tensorboard", version=""),
        callbacks=callbacks,
    )


def require_world(processes: int) -> None:
    """Raise ValueError if a launcher such as torchrun started another number of processes than the options say."""
    started = int(os.environ.get("WORLD_SIZE", processes))
    if started != processes:
        raise ValueError(
            f"{started} processes were started, but --processes and --nodes say {processes}: give "
            "`--processes` (a machine) and `--nodes` as torchrun has them, or each would train for itself"
        )


@rank_zero_only
def _record(recipe: Recipe, folder: RunFolder, before: Resumed, begun: Path | None) -> None:
    """Record the recipe and the stage that begins; delete the results of the last stage, which are out of date.

    ``begun`` is the folder whose parameters the run begins with.
    """
    described: dict[str, Any] = yaml.safe_load(recipe_text(recipe))
    old: dict[str, Any] | None = None
    if before.update:
        old = yaml.safe_load(recipe_text(folder.load_recipe()))
    else:
        folder.best.unlink(missing_ok=True)
        folder.best_score.unlink(missing_ok=True)
        folder.validations.unlink(missing_ok=True)
        folder.stages.unlink(missing_ok=True)
    folder.averaged.unlink(missing_ok=True)
    folder.save_recipe(recipe)
    stage = new_stage(before.update, recipe.optimisation.precision, old, described)
    if begun is not None:
        stage["began_from"] = origin(begun)
    save_stages(folder.stages, extend(load_stages(folder.stages), stage))


def _callbacks(
    recipe: Recipe, folder: RunFolder, stopping: Stopping, watching: Sequence[lightning.Callback]
) -> list[lightning.Callback]:
    validation = recipe.validation
    checkpoints = ModelCheckpoint(
        folder.checkpoints,
        filename="{step:08d}",
        auto_insert_metric_name=False,
        every_n_train_steps=validation.every_updates,
        monitor="step",
        mode="max",
        save_top_k=validation.keep_checkpoints,
    )
    # The checkpoint callback is last, so that it saves the others' state of the same update.
    return [stopping, *watching, LearningRateMonitor("step"), checkpoints]
