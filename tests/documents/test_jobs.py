"""Jobs: shared fairly, continued after a restart, cancelled in every process, given up in the end."""

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from service.documents.jobs.job import Job
from service.documents.jobs.runner import JobRunner
from service.documents.translating import WINDOW_SEGMENTS, note_of, translate_segments
from service.engine import Overloaded, Term, Translation, TranslationOptions, ValueHandling
from tests.support.fake_engine import info_of
from tests.support.jobs import LONG, Gate, dummy, finished, gate, job_of, listed, runner_of, store_at
from tests.support.polling import wait_until_async

OpenRunner = Callable[..., JobRunner]


async def test_a_document_takes_small_turns_and_waits_while_the_engine_is_full(open_runner: OpenRunner) -> None:
    translator = gate(100, errors=[Overloaded("full", 0.01)])
    runner = open_runner(translator)
    job = await runner.submit(job_of(), b"A line.\n" * 5 + LONG)
    assert (await finished(runner, job)).state == "done"
    assert max(map(len, translator.calls)) <= WINDOW_SEGMENTS
    assert sum(map(len, translator.calls)) == 61  # the equal lines are translated once


async def stopped_in_the_middle(folder: Path, translator: Gate) -> Job:
    """Return a job of which two windows are translated when its server stops."""
    runner = runner_of(store_at(folder), translator)
    job = await runner.submit(job_of(glossary="legal"), LONG)

    def is_in_the_middle() -> bool:
        found = runner.store.get(job.id)
        return found is not None and found.segments_done > WINDOW_SEGMENTS

    await wait_until_async(is_in_the_middle)
    await runner.stop()
    return job


async def test_after_a_restart_a_job_goes_on_where_it_was_and_its_quality_is_of_all(
    tmp_path: Path, open_runner: OpenRunner
) -> None:
    def quality(text: str) -> float:
        return 0.2 if text == "Sentence number 3." else 0.8

    before, after = gate(2, quality_of=quality), gate(100, quality_of=quality)
    job = await stopped_in_the_middle(tmp_path, before)
    runner = open_runner(after)
    runner.start()
    done = await finished(runner, job)
    assert runner.store.read_output(done) == LONG.upper()
    assert not {text for call in before.calls for text in call} & {text for call in after.calls for text in call}
    assert done.doubtful == ((4, 0.2, "SENTENCE NUMBER 3.", "Sentence number 3."),)
    assert done.quality is not None
    assert 0.78 < done.quality < 0.8
    assert runner.store.get(job.id) == done, "the record on disk has it too"


@pytest.mark.parametrize(("model", "form"), [("bahdanau-en-fr", "Satz"), ("transformer-en-fr", "Sätze")])
async def test_another_model_or_glossary_begins_again(tmp_path: Path, model: str, form: str) -> None:
    job = await stopped_in_the_middle(tmp_path, gate(2))
    other = gate(100, info=info_of(model))
    runner = runner_of(store_at(tmp_path), other, form)
    runner.start()
    await finished(runner, job)
    assert sum(map(len, other.calls)) == 60
    await runner.stop()


async def test_a_line_that_a_crash_cut_off_is_the_only_one_that_is_lost(tmp_path: Path) -> None:
    store, job = store_at(tmp_path), job_of()
    store.add(job, LONG)
    parts = {f"Sentence{sign}": f"Phrase{sign}" for sign in ("", "\u2028", "\ud800")}
    for text, translation in parts.items():
        store.add_parts(job, "digest", {text: translation})
        with (tmp_path / job.id / "parts.digest").open("ab") as file:
            file.write(b'\n{"Half a li')
    assert store.parts(job, "digest") == parts


async def test_the_record_holds_no_text_of_the_translation(tmp_path: Path, open_runner: OpenRunner) -> None:
    runner = open_runner(gate(100, quality_of=lambda _text: 0.1))
    done = await finished(runner, await runner.submit(job_of(formality="prefer_more"), LONG))
    assert len(done.doubtful) == 60
    assert "SENTENCE" not in (tmp_path / done.id / "job.json").read_text("utf-8")
    assert runner.store.get(done.id) == done


async def test_documents_go_on_after_an_error_of_ours(open_runner: OpenRunner, monkeypatch: pytest.MonkeyPatch) -> None:
    runner = open_runner(dummy())
    failed: list[str] = []

    def fail_once() -> int:
        monkeypatch.undo()
        failed.append("expire")
        raise RuntimeError

    monkeypatch.setattr(runner.store, "expire", fail_once)
    assert (await finished(runner, await runner.submit(job_of(), LONG))).state == "done"
    assert failed == ["expire"]


async def test_the_quality_of_two_legs_is_their_product_and_one_leg_gives_none() -> None:
    legs = [gate(2, quality_of=lambda _text, q=q: q) for q in (0.5, 0.8)]
    [found] = await translate_segments(legs, ["One."], TranslationOptions())
    assert found.quality == pytest.approx(0.4)
    assert await translate_segments([legs[0], gate(1)], ["One."], TranslationOptions()) == [("ONE.", None)]


async def test_two_processes_share_a_folder_and_never_a_job(open_runner: OpenRunner) -> None:
    gates = [gate(1000), gate(1000)]
    runners = [open_runner(each) for each in gates]
    for runner in runners:
        runner.start()
    for job in [await runners[0].submit(job_of(), f"Sentence {number}.\n".encode()) for number in range(8)]:
        assert (await finished(runners[1], job)).state == "done"
    texts = [text for each in gates for call in each.calls for text in call]
    assert len(texts) == len(set(texts)) == 8


async def test_a_job_is_cancelled_in_the_process_that_works_on_it(tmp_path: Path, open_runner: OpenRunner) -> None:
    translator = gate(1)
    worker, other = open_runner(translator), open_runner(Gate())
    job = await worker.submit(job_of(), LONG)
    await wait_until_async(lambda: len(translator.calls) == 1)
    await other.cancel(job.id)
    assert other.store.get(job.id) is None
    translator.allowed.release()
    await wait_until_async(lambda: not listed(tmp_path))
    assert len(translator.calls) <= 2


@pytest.mark.parametrize(
    ("values", "data", "code", "outcome"),
    [
        ({"target": "xx"}, LONG, "unsupported_pair", "failed"),
        ({"source": "auto"}, b"zzz\n", "invalid_document", "refused"),
        ({"format": "docx"}, b"PK", "broken_document", "refused"),
    ],
)
async def test_a_job_that_fails_says_why(
    open_runner: OpenRunner,
    values: dict[str, str],
    data: bytes,
    code: str,
    outcome: str,
) -> None:
    runner = open_runner(dummy())
    with capture_logs() as logged:
        failed = await finished(runner, await runner.submit(job_of(**values), data))
        await wait_until_async(lambda: any(outcome in entry.values() for entry in logged))
    assert (failed.state, failed.error_code, bool(failed.error)) == ("failed", code, True)
    with pytest.raises(FileNotFoundError):
        runner.store.read_input(failed)


async def test_a_document_that_ends_the_server_again_and_again_is_given_up(
    tmp_path: Path, open_runner: OpenRunner
) -> None:
    store = store_at(tmp_path)
    job = job_of(attempts=3, created=store.clock())
    store.add(job, LONG)
    runner = open_runner(dummy(), store)
    runner.start()
    failed = await finished(runner, job)
    assert (failed.state, "gives it up" in str(failed.error)) == ("failed", True)


@pytest.mark.parametrize("values", ["localize", "off"])
async def test_protected_elements_stay_whatever_becomes_of_values(values: ValueHandling) -> None:
    translator = dummy()
    translator.say = str
    segment = 'Open <span translate="no">README</span> now'
    [found] = await translate_segments([translator], [segment], TranslationOptions(values=values))
    assert found.text.count('<span translate="no">README</span>') == 1
    [((text,), _, _)] = translator.calls
    assert ("dnt" in text) == (values != "off"), "without values the engine does not know the marks"


@pytest.mark.parametrize(
    ("glossary", "forms"), [("legal", ("Satz",)), ((("Sentence", ("Satz", "Sätze")),), ("Satz", "Sätze"))]
)
async def test_the_glossary_of_a_job_is_kept_until_it_is_done(
    open_runner: OpenRunner, glossary: object, forms: tuple[str, ...]
) -> None:
    translator = dummy()
    runner = open_runner(translator)
    done = await finished(runner, await runner.submit(job_of(glossary=glossary), LONG))
    assert (done.state, done.glossary) == ("done", None)
    used = {options.glossary.terms for _, options, _ in translator.calls}  # type: ignore[attr-defined]
    assert used == {(Term("Sentence", forms),)}


async def test_a_document_has_one_register_or_the_one_that_was_asked_for() -> None:
    class Speaker(Gate):
        """Says vous or tu to each text, as it likes or is asked."""

        async def translate(
            self, texts: Sequence[str], options: TranslationOptions, *, deadline: float | None = None
        ) -> list[Translation]:
            self.calls.append(tuple(texts))
            likes = {"default": "vous" if "4" not in texts[0] else "tu", "prefer_more": "vous", "prefer_less": "tu"}
            return [Translation(f"Parle à {likes[options.formality]}") for _ in texts]

    segments = [f"{number} {'a' * 1000}" for number in range(3, 6)]
    speaker = Speaker()
    found = await translate_segments([speaker], segments, TranslationOptions())
    assert [each.text for each in found] == ["Parle à vous"] * 3
    assert len(speaker.calls) == len(segments) + 1
    assert note_of("prefer_less", segments, found, [speaker]) is not None
    less = await translate_segments([speaker], segments, TranslationOptions(formality="prefer_less"))
    assert [each.text for each in less] == ["Parle à tu"] * 3
    assert note_of("prefer_less", segments, less, [speaker]) is None


async def test_a_document_has_the_register_that_all_its_segments_can_have() -> None:
    class OnePolite(Gate):
        """Most segments are familiar, but may be polite; one is always polite."""

        async def translate(
            self, texts: Sequence[str], options: TranslationOptions, *, deadline: float | None = None
        ) -> list[Translation]:
            return [
                Translation("Parlez à vous" if "Never" in text or options.formality == "prefer_more" else "Parle à toi")
                for text in texts
            ]

    segments = ["You speak.", "You talk.", "Never talk, you."]
    found = await translate_segments([OnePolite()], segments, TranslationOptions())
    assert [each.text for each in found] == ["Parlez à vous"] * 3
