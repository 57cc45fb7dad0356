"""Start or go on with the run of a prepared folder."""

from __future__ import annotations

import lightning
import torch
from lightning.pytorch.callbacks import EarlyStopping, LearningRateMonitor, ModelCheckpoint, TQDMProgressBar
from lightning.pytorch.loggers import TensorBoardLogger

from training.config import Recipe
from training.lightning.callbacks import AttentionPictures, RunLog, Speed
from training.lightning.checkpoints import average_checkpoints, newest_checkpoint
from training.lightning.data import PairData
from training.lightning.module import TranslationModule
from training.lightning.start import start_from
from training.prepare import RunFolder

_PRECISION = {"fp32": "32-true", "bf16": "bf16-mixed", "fp16": "16-mixed"}


def train(recipe: Recipe, folder: RunFolder, processes: int = 1, nodes: int = 1, progress: bool = True) -> None:
    """Train until the recipe's last update or its patience ends, then average the last checkpoints.

    Goes on from the newest checkpoint where there is one: parameters, optimiser, schedule, data position and
    random state are those of a run that was never stopped.
    """
    folder.save_recipe(recipe)
    tokenizer = folder.load_tokenizer()
    module = TranslationModule(recipe, tokenizer, folder.load_development())
    newest = newest_checkpoint(folder)
    if newest is None and recipe.start_from is not None:
        start_from(module.network, tokenizer, recipe.start_from)
    trainer = lightning.Trainer(
        max_steps=recipe.optimisation.max_updates,
        accumulate_grad_batches=recipe.optimisation.accumulate,
        gradient_clip_val=recipe.optimisation.clip_norm,
        precision=_PRECISION[recipe.optimisation.precision],  # type: ignore[arg-type]
        devices=processes,
        num_nodes=nodes,
        strategy="ddp" if processes * nodes > 1 else "auto",
        val_check_interval=recipe.validation.every_updates * recipe.optimisation.accumulate,
        check_val_every_n_epoch=None,
        num_sanity_val_steps=0,
        log_every_n_steps=20,
        enable_model_summary=False,
        enable_progress_bar=progress,
        use_distributed_sampler=False,
        logger=TensorBoardLogger(folder.path, name="tensorboard", version=""),
        callbacks=_callbacks(recipe, folder, progress),
    )
    trainer.fit(module, datamodule=PairData(recipe, folder), ckpt_path=newest, weights_only=False)
    trainer.save_checkpoint(folder.checkpoints / f"{trainer.global_step:08d}.ckpt")  # on every process: it is a barrier
    if trainer.is_global_zero:
        torch.save(average_checkpoints(folder, recipe.validation.keep_checkpoints), folder.averaged)


def _callbacks(recipe: Recipe, folder: RunFolder, progress: bool) -> list[lightning.Callback]:
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
    stopping = EarlyStopping("dev_bleu", mode="max", patience=validation.patience, verbose=False)
    watching: list[lightning.Callback] = [Speed(), RunLog(folder), AttentionPictures(), LearningRateMonitor("step")]
    if progress:
        watching.append(TQDMProgressBar(refresh_rate=20))
    # The checkpoint comes last, so that it holds what the others know of the same update.
    return [stopping, *watching, checkpoints]
