"""The translation engine as a library: text in, translation out, no HTTP.

Other packages import the public names from here. Names that need tokenizers and schema checks are loaded
at the first use, because the command line and the renderer processes do not need them.
"""

import importlib
import os
from typing import TYPE_CHECKING

from service.engine.attention.quality_signals import LEAST_ATTENTION as LEAST_ATTENTION
from service.engine.errors import BundleCorrupt as BundleCorrupt
from service.engine.errors import BundleError as BundleError
from service.engine.errors import BundleIncompatible as BundleIncompatible
from service.engine.errors import BundleMissing as BundleMissing
from service.engine.errors import Cancelled as Cancelled
from service.engine.errors import DeadlineExceeded as DeadlineExceeded
from service.engine.errors import DeviceUnavailable as DeviceUnavailable
from service.engine.errors import EmptyInput as EmptyInput
from service.engine.errors import EngineError as EngineError
from service.engine.errors import EngineFailure as EngineFailure
from service.engine.errors import InputTooLong as InputTooLong
from service.engine.errors import Interrupted as Interrupted
from service.engine.errors import InvalidInput as InvalidInput
from service.engine.errors import InvalidOption as InvalidOption
from service.engine.errors import InvalidText as InvalidText
from service.engine.errors import LastModel as LastModel
from service.engine.errors import ModelNotOpened as ModelNotOpened
from service.engine.errors import NotEnoughMemory as NotEnoughMemory
from service.engine.errors import NotReady as NotReady
from service.engine.errors import Overloaded as Overloaded
from service.engine.errors import TooManyWeights as TooManyWeights
from service.engine.errors import UnknownModel as UnknownModel
from service.engine.errors import UnsupportedLanguage as UnsupportedLanguage
from service.engine.errors import UnsupportedPair as UnsupportedPair
from service.engine.events import CallStage as CallStage
from service.engine.events import CoverageMeasured as CoverageMeasured
from service.engine.events import EngineEvent as EngineEvent
from service.engine.events import EventListener as EventListener
from service.engine.events import LoadChanged as LoadChanged
from service.engine.events import QualityMeasured as QualityMeasured
from service.engine.events import RequestRejected as RequestRejected
from service.engine.events import RunFailed as RunFailed
from service.engine.events import SentenceFinished as SentenceFinished
from service.engine.events import SentencesCancelled as SentencesCancelled
from service.engine.events import SentencesLookedUp as SentencesLookedUp
from service.engine.events import StageDone as StageDone
from service.engine.events import StepDone as StepDone
from service.engine.events import ignores_stages as ignores_stages
from service.engine.events import tee as tee
from service.engine.jobs import MAX_BEAM_SIZE as MAX_BEAM_SIZE
from service.engine.jobs import AttentionScores as AttentionScores
from service.engine.jobs import FloatArray as FloatArray
from service.engine.jobs import Hypothesis as Hypothesis
from service.engine.jobs import ScoringRequest as ScoringRequest
from service.engine.jobs import ScoringResult as ScoringResult
from service.engine.jobs import SearchOptions as SearchOptions
from service.engine.jobs import SearchTrace as SearchTrace
from service.engine.jobs import Selector as Selector
from service.engine.jobs import SentenceJob as SentenceJob
from service.engine.jobs import SentenceResult as SentenceResult
from service.engine.jobs import TokenListener as TokenListener
from service.engine.jobs import TracedHypothesis as TracedHypothesis
from service.engine.languages.pairs import in_order as in_order
from service.engine.languages.tags import Languages as Languages
from service.engine.languages.tags import Pair as Pair
from service.engine.languages.tags import canonical as canonical
from service.engine.languages.tags import pairs_of as pairs_of
from service.engine.model_info import ModelInfo as ModelInfo
from service.engine.model_info import ModelState as ModelState
from service.engine.model_info import ModelStateName as ModelStateName
from service.engine.model_info import WorkerState as WorkerState
from service.engine.scheduling.admission import QueueStatus as QueueStatus
from service.engine.scheduling.admission import WorkerStatus as WorkerStatus
from service.engine.scheduling.admission import admission_error as admission_error
from service.engine.scheduling.admission import overloaded as overloaded
from service.engine.scheduling.admission import require_running as require_running
from service.engine.scheduling.interface import SentenceWorker as SentenceWorker
from service.engine.scheduling.pending import DEFAULT_ROWS as DEFAULT_ROWS
from service.engine.scheduling.pending import Budget as Budget
from service.engine.search.options import normalised_score as normalised_score
from service.engine.text.answer_checks import is_better as is_better
from service.engine.text.answer_checks import is_checked as is_checked
from service.engine.text.answer_checks import problems_of as problems_of
from service.engine.text.registers import formality_note as formality_note
from service.engine.text.registers import in_other_register as in_other_register
from service.engine.thread_pools import TEXT_POOL as TEXT_POOL
from service.engine.thread_pools import BoundedPool as BoundedPool
from service.engine.thread_pools import in_daemon_thread as in_daemon_thread
from service.engine.time_limit import TimeLimit as TimeLimit
from service.engine.translation.legs import TextTranslator as TextTranslator
from service.engine.translation.legs import Translates as Translates
from service.engine.translation.legs import check_room as check_room
from service.engine.translation.legs import stream_in_legs as stream_in_legs
from service.engine.translation.legs import translate_in_legs as translate_in_legs
from service.engine.types import MAX_LENGTH_PENALTY as MAX_LENGTH_PENALTY
from service.engine.types import AttentionMap as AttentionMap
from service.engine.types import AttentionOptions as AttentionOptions
from service.engine.types import Formality as Formality
from service.engine.types import PivotText as PivotText
from service.engine.types import Search as Search
from service.engine.types import SentenceDetail as SentenceDetail
from service.engine.types import SentenceQuality as SentenceQuality
from service.engine.types import StreamedEnd as StreamedEnd
from service.engine.types import StreamedPivot as StreamedPivot
from service.engine.types import StreamedSentence as StreamedSentence
from service.engine.types import StreamedToken as StreamedToken
from service.engine.types import StreamEvent as StreamEvent
from service.engine.types import Token as Token
from service.engine.types import Translation as Translation
from service.engine.types import TranslationOptions as TranslationOptions
from service.engine.types import ValueHandling as ValueHandling
from service.engine.values.terms import Glossary as Glossary
from service.engine.values.terms import Term as Term

if TYPE_CHECKING:
    from service.engine.cache.results import ResultCache as ResultCache
    from service.engine.cache.worker import with_cache as with_cache
    from service.engine.lazy.memory import MEBIBYTE as MEBIBYTE
    from service.engine.lazy.memory import expected_bytes as expected_bytes
    from service.engine.lazy.memory import map_large_blocks as map_large_blocks
    from service.engine.lazy.memory import release_memory as release_memory
    from service.engine.lazy.memory import trim_memory as trim_memory
    from service.engine.loader import EngineHost as EngineHost
    from service.engine.loader import EngineSettings as EngineSettings
    from service.engine.loader import LoadedWorker as LoadedWorker
    from service.engine.loader import WorkerFactory as WorkerFactory
    from service.engine.loader import default_engine_processes as default_engine_processes
    from service.engine.loader import info_of as info_of
    from service.engine.loader import load_worker as load_worker
    from service.engine.loader import open_translator as open_translator
    from service.engine.loader import own_cores as own_cores
    from service.engine.loader import own_process as own_process
    from service.engine.loader import own_providers as own_providers
    from service.engine.model.device import CPU as CPU
    from service.engine.model.device import ModelSettings as ModelSettings
    from service.engine.model.device import Placement as Placement
    from service.engine.model.device import place_among as place_among
    from service.engine.registry import Registry as Registry
    from service.engine.scheduling.pending import WorkerSettings as WorkerSettings
    from service.engine.scheduling.worker import Worker as Worker
    from service.engine.text.segmenter import split_sentences as split_sentences
    from service.engine.text.tokenizer import check_text as check_text
    from service.engine.translation.translator import Translator as Translator

# ONNX Runtime's Linux packages send telemetry unless this is set before the first import.
os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")

_LOADED_LATER = {
    name: module
    for module, names in {
        ".cache.results": "ResultCache",
        ".cache.worker": "with_cache",
        ".lazy.memory": "MEBIBYTE expected_bytes map_large_blocks release_memory trim_memory",
        ".loader": "EngineHost EngineSettings LoadedWorker WorkerFactory default_engine_processes info_of "
        "load_worker open_translator own_cores own_process own_providers",
        ".model.device": "CPU ModelSettings Placement place_among",
        ".registry": "Registry",
        ".scheduling.pending": "WorkerSettings",
        ".scheduling.worker": "Worker",
        ".text.segmenter": "split_sentences",
        ".text.tokenizer": "check_text",
        ".translation.translator": "Translator",
    }.items()
    for name in names.split()
}


if not TYPE_CHECKING:  # otherwise any name would pass the type check

    def __getattr__(name: str) -> object:
        """Return a public name from its module, which is loaded for this; see PEP 562."""
        if name not in _LOADED_LATER:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(importlib.import_module(_LOADED_LATER[name], __name__), name)
