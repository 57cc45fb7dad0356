"""All models of a folder, and the choice of the one that serves a request."""

import asyncio
import logging
from collections.abc import Sequence
from pathlib import Path

from service.bundle.load import read_bundle
from service.bundle.repository import BundleEntry, Change, find_bundles, load_entry, scan_bundles
from service.engine.errors import BundleMissing, EngineError, EngineFailure, LastModel, UnknownModel, without_frames
from service.engine.events import EventListener, ignore_event
from service.engine.languages.pairs import Pairs
from service.engine.languages.tags import Languages
from service.engine.loader import EngineProcesses, EngineSettings, ModelOpener, WorkerFactory, load_worker
from service.engine.model_info import ModelInfo, ModelState, ModelStateName
from service.engine.thread_pools import in_daemon_thread
from service.engine.translation.served_model import ServedModel
from service.engine.translation.translator import Translator

STATE_REASONS: dict[ModelStateName, str] = {
    "ready": "",
    "closed": "It is closed and opens at its first request.",
    "opening": "It is being opened for its first requests, which wait.",
    "starting": "It is being loaded and warmed up.",
    "restarting": "It failed, or its engine process ended, and it is being restarted.",
    "hanging": "It has not responded for too long.",
    "failed": "It has failed and accepts no requests.",
    "stopping": "It is stopping.",
}
_LOG = logging.getLogger(__name__)


class Registry:
    """The translators of a folder of models: load, start, resolve, stop."""

    def __init__(
        self,
        models_dir: Path,
        settings: EngineSettings | None = None,
        on_event: EventListener = ignore_event,
        open_worker: WorkerFactory = load_worker,
        host: EngineProcesses | None = None,
    ) -> None:
        """Store where the models are, how they are loaded, and where they run; `load` reads the folder."""
        self._models_dir = models_dir
        self._settings = settings or EngineSettings()
        self._opener = ModelOpener(self._settings, on_event, open_worker, host)
        self._loads = self._opener.loads
        self._translators: tuple[Translator, ...] = ()
        self._pairs: Pairs[Translator] | None = None
        self._replaced: list[ServedModel] = []  # they finish their running requests
        self._refused: dict[str, EngineError] = {}  # by the name of the bundle; the latest reason
        self._started = False
        self._changing: dict[str, asyncio.Lock] = {}  # by name, so that a bundle that hangs does not delay others

    @property
    def translators(self) -> Sequence[Translator]:
        """Return the loaded translators, in the order of their names."""
        return self._translators

    @property
    def ready(self) -> bool:
        """Return whether all models have been started and at least one of them accepts requests now."""
        return self._started and any(model.ready for model in self._served_models())

    @property
    def dead(self) -> bool:
        """Return whether every model has failed permanently, so that the process should be replaced."""
        return bool(self._translators) and all(model.dead for model in self._served_models())

    @property
    def stalled(self) -> bool:
        """Return whether every model that has not failed is stalled."""
        left = [model for model in self._served_models() if not model.dead]
        return bool(left) and all(model.stalled for model in left)

    def states(self) -> list[ModelState]:
        """Return the state of every served model, and of the bundles that were refused at the last check."""
        served = {
            model.name: ModelState(
                *(model.name, model.info.version, model.serving_state, STATE_REASONS[model.serving_state]),
                last_used=model.last_used,
            )
            for model in self._served_models()
        }
        refused = {
            name: ModelState(name, "", "refused", error.message)
            for name, error in self._refused.items()
            if name not in served
        }
        every = served | refused
        return [every[name] for name in sorted(every)]

    def load(self) -> None:
        """Read the folder, and load its models unless loading is lazy; raise BundleError or DeviceUnavailable."""
        bundles = find_bundles(self._models_dir, read_bundle, gallery=self._settings.gallery)
        for name in self._settings.default_models:
            if all(bundle.manifest.name != name for bundle in bundles):
                raise BundleMissing(
                    f"{self._models_dir}: there is no bundle named {name} in it, as default_models says."
                )
        translators = tuple(self._opener.translator(bundle) for bundle in bundles)
        if not self._settings.lazy:
            for translator in translators:
                translator.model.load()
        self._translators = translators

    async def start(self) -> None:
        """Read the folder if that is still to be done, and warm up what is loaded."""
        if not self._translators:
            await in_daemon_thread(self.load, "loading")
        await asyncio.gather(*(model.start() for model in self._served_models() if model.state == "open"))
        self._started = True

    async def stop(self, drain: float) -> None:
        """Stop the workers; running requests may finish within `drain` seconds."""
        await self._opener.models.stop()
        await asyncio.gather(*(model.stop(drain) for model in [*self._served_models(), *self._replaced]))

    async def reload(self, name: str | None = None) -> list[Change]:
        """Serve the bundles that are new or changed in the folder, or only the bundle of this name.

        A new bundle is checked, loaded and warmed up while the old one serves, and then replaces it at once.
        Requests that began with the old one end with it, and the last of them frees it. A refused bundle
        changes nothing. A bundle that was removed from the folder is still served until `unload`. A bundle that takes
        longer than `load_seconds` is refused; meanwhile other names can be loaded.
        Raise BundleMissing when there is no folder, or no bundle of that name in it.
        """
        found = await self._loads.in_time(in_daemon_thread(self._scan, "looking"), self._models_dir)
        if name is not None and all(each.name != name for each in found):
            raise BundleMissing(f"{self._models_dir}: there is no bundle named {name[:64]!r} in it.")
        served = {info.digest for info in self.models()}
        owners: dict[str, Path] = {}
        for each in sorted(found, key=lambda each: each.digest not in served):
            owners.setdefault(each.name, each.path)  # if two have the same name, the served one keeps it
        self._refused = {each: error for each, error in self._refused.items() if each in owners}
        changes = []
        for each in found:
            if name in (None, each.name):
                async with self._lock(each.name):
                    changes.append(await self._reload_entry(each, owners, only=name is not None))
        if name is None:
            gone = [info for info in self.models() if info.name not in owners]
            changes += [Change(info.name, "missing", info.digest) for info in gone]
        return changes

    async def unused(self) -> list[str]:
        """Return the names of the folder's bundles that are neither served nor refused; none if there is no folder."""
        try:
            found = await self._loads.in_time(in_daemon_thread(self._scan, "looking"), self._models_dir)
        except EngineError:
            return []
        known = {state.name for state in self.states()}
        return sorted({each.name for each in found} - known)

    def _scan(self) -> list[BundleEntry]:
        return scan_bundles(self._models_dir, gallery=self._settings.gallery)

    async def unload(self, name: str) -> None:
        """Unload a model; requests that began with it end with it. Raise UnknownModel or LastModel."""
        known = name in self._served()
        async with self._lock(name if known else ""):
            if name not in self._served():
                raise UnknownModel(f"No model is called {name[:64]!r}.")
            if len(self._translators) == 1:
                raise LastModel(f"{name} is the only model and cannot be unloaded; stop the server instead.")
            self._put(name, None)

    async def _reload_entry(self, found: BundleEntry, owners: dict[str, Path], only: bool) -> Change:
        """Load one bundle unless it is served already; a closed one is opened if `only` it is requested."""
        served = next((model for model in self._served_models() if model.name == found.name), None)
        digest = "" if served is None else served.info.digest
        if served is not None and not served.dead and found.digest == digest and owners[found.name] == found.path:
            if only:
                try:
                    await self._start(served, found.path)
                except EngineError as error:
                    return Change(found.name, "refused", digest, error)
            return Change(found.name, "unchanged", digest)
        try:
            translator = await self._loads.in_time(
                in_daemon_thread(lambda: self._opener.translator(load_entry(found, owners, read_bundle)), "reading"),
                found.path,
            )
            await self._start(translator.model, found.path)
        except Exception as error:
            # A fault of one bundle must not affect requests to the others.
            if not isinstance(error, EngineError):
                _LOG.exception("A bundle could not be loaded (%s)", found.path)
                error = EngineFailure(f"{found.path}: it could not be loaded ({type(error).__name__}).")
            self._refused[found.name] = without_frames(error)
            return Change(found.name, "refused", digest, error)
        self._refused.pop(found.name, None)
        self._put(translator.name, translator)
        return Change(translator.name, "added" if served is None else "replaced", translator.info.digest)

    async def _start(self, model: ServedModel, path: Path) -> None:
        """Open a model; if that fails, also in time, it is not served and leaves the memory. Raise EngineError."""
        try:
            await self._loads.in_time(model.start(), path, steps=2)  # it is loaded and warmed up
        except BaseException:
            if model not in self._served_models():
                model.retire()
            raise

    def _lock(self, name: str) -> asyncio.Lock:
        """Return the lock of one name, which allows one change of that name at a time."""
        return self._changing.setdefault(name, asyncio.Lock())

    def _served_models(self) -> list[ServedModel]:
        return [translator.model for translator in self._translators]

    def _served(self) -> dict[str, Translator]:
        return {translator.name: translator for translator in self._translators}

    def _put(self, name: str, translator: Translator | None) -> None:
        """Set the translator of a name, or remove it; the previous one closes when no request keeps it."""
        served = self._served()
        old = served.pop(name, None)
        if old is not None:
            self._replaced = [model for model in self._replaced if model.state != "closed"] + [old.model]
            old.model.retire(None if translator is None else translator.model)
        if translator is not None:
            served[name] = translator
        self._translators = tuple(served[each] for each in sorted(served))
        self._pairs = None  # it would keep an unloaded model in memory until the next request

    def models(self) -> list[ModelInfo]:
        """Return the descriptions of the loaded models."""
        return [translator.info for translator in self._translators]

    def languages(self) -> Languages:
        """Return the languages of the models that are served."""
        return Languages.of(self.models())

    def resolve(self, source: str, target: str, model: str | None = None) -> Translator:
        """Return the translator for a pair: that of the model or architecture, else the default; see Pairs.resolve."""
        return self._served_pairs().resolve(source, target, model)

    def default_name(self, source: str, target: str) -> str | None:
        """Return the name of the model that translates one of the models' own pairs if none is named."""
        return self._served_pairs().default_name((source, target))

    def default_reason(self, source: str, target: str) -> str:
        """Return why the model of `default_name` is the default, as a part of a sentence."""
        return self._served_pairs().default_reason((source, target))

    def _served_pairs(self) -> Pairs[Translator]:
        if self._pairs is None or self._pairs.served is not self._translators:
            self._pairs = Pairs(self._translators, self._settings.default_models)
        return self._pairs
