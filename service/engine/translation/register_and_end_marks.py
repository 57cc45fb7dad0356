"""Translations other than the likeliest: in the register of their text, with the ends of their sentences."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import repeat
from typing import TypeVar

from service.bundle.vocabulary import SPACE_PIECE
from service.engine.cancellation import while_wanted
from service.engine.jobs import (
    MAX_BEAM_SIZE,
    Hypothesis,
    ScoringRequest,
    ScoringResult,
    SentenceResult,
    WeightSelection,
)
from service.engine.scheduling.interface import run_scoring
from service.engine.search.options import normalised_score, over_vocabulary, penalty_of, search_options
from service.engine.text.end_marks import MARKS, with_capital, with_end_mark
from service.engine.text.reading import Reading
from service.engine.text.registers import (
    Register,
    Shown,
    has_registers,
    is_other,
    polite_forms,
    registers_of,
    wanted_register,
)
from service.engine.thread_pools import if_many, map_if_many
from service.engine.translation.pair_model import PairModel
from service.engine.translation.translated import TranslatedSentence
from service.engine.translation.value_keeper import Translate
from service.engine.types import TranslationOptions

NEARLY = 0.6  # nats a token: what the other register of a sentence may cost
SAME_VERB = 0.8  # the same, if only the form of its verb is another: "Nourrissez" for "Nourris"

Result = TypeVar("Result")
Place = tuple[list[TranslatedSentence], int]  # a text, and the number of a sentence of it
Chosen = tuple[Place, Hypothesis, Sequence[Hypothesis]]  # the hypothesis that a sentence gets, and its others


@dataclass(frozen=True, slots=True)
class RegisterAndEndMarks:
    """Rewords the translations of one call; those of greedy search stay, because a stream ends as it does."""

    pair: PairModel
    options: TranslationOptions  # complete
    deadline: float | None
    wanted: WeightSelection | None  # the weights that are returned of every translation; None: it is not scored
    search: Translate  # without scoring
    translated: Callable[[Reading, SentenceResult, TranslationOptions], TranslatedSentence]

    async def reword(self, texts: list[list[TranslatedSentence]]) -> list[list[TranslatedSentence]]:
        """Change the translations of each text, in which every value has its place, and return them."""
        if has_registers(self.pair.info.target_language):
            await self._put_in_one_register(texts)
        if self.options.values != "off":
            places = [(group, at) for group in texts for at in range(len(group))]
            await self._put_ends(places)
            if self.options.alternatives:
                await self._if_many(len(places), lambda: self._put_ends_of_others(places))
        return texts

    async def _if_many(self, sentences: int, work: Callable[[], Result]) -> Result:
        return await if_many(sentences * self.options.weight, work)

    async def _put_in_one_register(self, texts: Sequence[list[TranslatedSentence]]) -> None:
        """Put sentences in the wanted register, or that of most of their text, where a translation in it is likely."""
        wrong = await self._if_many(sum(map(len, texts)), lambda: self._in_other_register(texts))
        if not wrong:
            return
        wide = replace(self.options, alternatives=MAX_BEAM_SIZE - 1)
        results = await self.search([group[at].sentence for (group, at), _ in wrong], wide)
        forms = await self._polite([group[at] if "polite" in registers else None for (group, at), registers in wrong])
        chosen = await if_many(
            len(wrong) * wide.weight,
            lambda: [
                (place, *choice)
                for (place, registers), result, more in zip(wrong, results, forms, strict=True)
                if (choice := self._in_register(place[0][place[1]], result, more, registers)) is not None
            ],
        )
        scores = await self._score([(group[at], best.ids) for (group, at), best, _ in chosen]) if self.wanted else None
        await self._if_many(len(chosen), lambda: self._put(chosen, scores))

    def _in_other_register(self, texts: Sequence[list[TranslatedSentence]]) -> list[tuple[Place, list[Register]]]:
        """Return the places of sentences that show another register than the wanted one, and that one.

        A sentence that shows both, and is the only one of its text to show any, may have either: the polite one first.
        """
        wrong: list[tuple[Place, list[Register]]] = []
        for group in while_wanted(texts):
            shown = [self._shown(result, result.ids) for result in group]
            register = wanted_register(self.options.formality, shown)
            if register is not None:
                alone = self.options.formality == "default" and sum(map(bool, shown)) == 1
                wanted: list[Register] = ["polite", "familiar"] if alone else [register]
                # A target term that was put in has no log-probabilities, and no other form.
                wrong += [
                    ((group, at), wanted)
                    for at, seen in enumerate(shown)
                    if group[at].logprobs and is_other(seen, register)
                ]
        return wrong

    async def _polite(self, commands: Sequence[TranslatedSentence | None]) -> list[list[Hypothesis]]:
        """Return commands with their verbs in what may be the polite form, which the search may not have tried.

        Their scores are those that the search would give: it may choose from a shortlist, scoring does not.
        """
        work = len(commands) * self.options.weight
        read = await map_if_many(work, lambda old: self._with_forms(old) if old else [], commands)
        each_with = zip(commands, read, strict=True)
        scores = iter(await self._score([(old, ids) for old, read_forms in each_with if old for ids in read_forms]))
        penalty, certain = penalty_of(self.options), len(self.pair.tokenizers.target.prefix)
        forms = []
        for old, read_forms in zip(commands, read, strict=True):
            given = (Hypothesis(ids, (), 0.0, "eos") for ids in read_forms)
            scored = [over_vocabulary(hypothesis, next(scores), penalty, certain) for hypothesis in given]
            shift = normalised_score(old.logprobs, penalty) - scored[0].score if old and scored else 0.0
            forms.append([replace(hypothesis, score=hypothesis.score + shift) for hypothesis in scored[1:]])
        return forms

    def _with_forms(self, old: TranslatedSentence) -> list[tuple[int, ...]]:
        """Return the tokens of a command and then those of what may be its polite form; none without the latter."""
        text = old.sentence.translated(old.ids, self.pair.tokenizers.target)
        forms = polite_forms(text, self.pair.info.target_language)
        read = [ids for form in forms if (ids := self._tokens_of(old.sentence, form))]
        return [old.ids, *read] if read else []

    def _in_register(
        self,
        old: TranslatedSentence,
        wide_result: TranslatedSentence,
        forms: Sequence[Hypothesis],
        registers: Sequence[Register],
    ) -> tuple[Hypothesis, list[Hypothesis]] | None:
        """Return the likeliest hypothesis in the first register that has one nearly as likely as the old."""
        score, target = normalised_score(old.logprobs, penalty_of(self.options)), self.pair.tokenizers.target
        fitting = [hypothesis for hypothesis in wide_result.hypotheses if hypothesis.score >= score - NEARLY]
        fitting += [hypothesis for hypothesis in forms if hypothesis.score >= score - SAME_VERB]
        fitting.sort(key=lambda hypothesis: -hypothesis.score)
        shown = [self._shown(wide_result, hypothesis.ids) for hypothesis in fitting]
        for register in registers:
            for best, seen in zip(fitting, shown, strict=True):
                if seen == {register} and wide_result.sentence.keeps_values(best.ids, target):
                    return best, [hypothesis for hypothesis in wide_result.hypotheses if hypothesis.ids != best.ids]
        return None

    def _shown(self, result: TranslatedSentence, ids: Sequence[int]) -> Shown:
        sentence, info = result.sentence, self.pair.info
        text = sentence.translated(ids, self.pair.tokenizers.target)
        return registers_of(text, info.target_language, sentence.text, info.source_language)

    async def _put_ends(self, places: Sequence[Place]) -> None:
        """Give translations the ends of their sentences; what stays before an end mark keeps its log-probabilities."""
        work = len(places) * self.options.weight
        endings = await map_if_many(
            work, lambda result: self._with_ends(result, result.ids), (group[at] for group, at in places)
        )
        ended = [(group, at, ids) for (group, at), ids in zip(places, endings, strict=True) if ids]
        if not ended:
            return
        scores = await self._score([(group[at], ids) for group, at, ids in ended])
        chosen: list[Chosen] = []
        for (group, at, ids), scored in zip(ended, scores, strict=True):
            first, *others = group[at].hypotheses
            alike = group[at].ids[: len(ids) - 2] == ids[:-2]
            before = group[at].logprobs[: len(ids) - 2 if alike else len(self.pair.tokenizers.target.prefix)]
            logprobs = (*before, *map(float, scored.logprobs[len(before) :]))
            score = normalised_score(logprobs, penalty_of(self.options))
            chosen.append(((group, at), replace(first, ids=ids, logprobs=logprobs, score=score), others))
        await self._if_many(len(chosen), lambda: self._put(chosen, scores if self.wanted else None))

    def _put_ends_of_others(self, places: Sequence[Place]) -> None:
        """Give the other hypotheses of sentences the same ends; only their texts are shown, so their scores stay."""
        for group, at in while_wanted(places):
            first, *others = group[at].hypotheses
            ended = [
                replace(hypothesis, ids=self._with_ends(group[at], hypothesis.ids) or hypothesis.ids)
                for hypothesis in others
            ]
            group[at] = replace(group[at], hypotheses=(first, *ended))

    def _with_ends(self, result: TranslatedSentence, ids: tuple[int, ...]) -> tuple[int, ...]:
        """Return the tokens of a hypothesis that begins and ends as its sentence; none if it stays as it is."""
        sentence, target = result.sentence, self.pair.tokenizers.target
        if ids[-1:] != (target.eos,) or len(ids) < 2 or not result.logprobs:
            return ()
        mark = target.piece(ids[-2])[-1:]
        first = "".join(map(target.piece, ids[len(target.prefix) :][:2])).lstrip(SPACE_PIECE)[:1]
        usual = sentence.text.endswith(mark) and sentence.text[-2:-1] not in MARKS and not first.islower()
        if mark not in MARKS or usual:  # nearly always, and quickly
            return ()
        text = sentence.translated(ids, target)
        ending = with_capital(with_end_mark(text, sentence.text, self.pair.info.target_language), sentence.text)
        return () if ending == text else self._tokens_of(sentence, ending)

    def _tokens_of(self, sentence: Reading, translation: str) -> tuple[int, ...]:
        """Return the tokens of another translation; none if the model could not write it exactly so."""
        info, target = self.pair.info, self.pair.tokenizers.target
        read = sentence.read_target(translation, target, (info.source_language, info.target_language))
        ids = tuple(token.id for token in read.tokens)
        limit = search_options(self.options, len(sentence.ids), self.pair.manifest.limits.target_tokens).max_length
        alike = len(ids) <= limit and sentence.translated(ids, target) == translation
        return ids if alike and sentence.keeps_values(ids, target) else ()

    async def _score(self, given: Sequence[tuple[TranslatedSentence, tuple[int, ...]]]) -> list[ScoringResult]:
        """Return the scores of the tokens that translations shall have."""
        selection, closed = self.wanted or self.pair.wanted, self.pair.tokenizers.target.closed
        requests = [ScoringRequest(old.sentence.ids, closed(ids), self.deadline, selection) for old, ids in given]
        return await run_scoring(self.pair.worker, requests) if requests else []

    def _put(self, chosen: Sequence[Chosen], scores: Sequence[ScoringResult] | None) -> None:
        """Put other hypotheses in the places of translations."""
        for ((group, at), best, others), scored in zip(chosen, scores or repeat(None), strict=False):
            result = SentenceResult((best, *others[: self.options.alternatives]), 0.0, 0.0, scores=scored)
            new = self.translated(group[at].sentence, result, self.options)
            group[at] = replace(new, values=group[at].values)
