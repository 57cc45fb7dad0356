"""The usual way to serve CTranslate2: FastAPI with requests collected into batches for a few milliseconds.

`python -m benchmarks.load.ctranslate2_server BUNDLE PORT WORKERS [cuda]`; WORKERS of one thread each, or 0 for the
library's own defaults: one worker, with a thread for each of up to four cores. With `cuda` it runs in float16 on a GPU.
"""

import asyncio
import contextlib
import sys
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path

import tokenizers
import uvicorn
from fastapi import FastAPI
from pydantic import BaseModel

from benchmarks.engine.ctranslate2_model import build, open_translator

MOST_TOGETHER, WAIT_SECONDS = 64, 0.005
EOS = "</s>"


class TranslateRequest(BaseModel):
    """A request in the same format as ours."""

    q: str
    source: str
    target: str
    beam_size: int = 4
    max_length: int = 256


Entry = tuple[TranslateRequest, asyncio.Future[str]]


class Batcher:
    """Collects requests for a short time, then translates all of them with one call."""

    def __init__(self, bundle: Path, workers: int, device: str) -> None:
        converted = Path(tempfile.mkdtemp(prefix="ctranslate2-"))
        build(bundle, converted)
        self._translator = open_translator(converted, "float16" if device == "cuda" else "int8", device, workers)
        files = [bundle / name for name in ("tokenizer.json", "target_tokenizer.json")]
        self._tokenizer, *target = (tokenizers.Tokenizer.from_file(str(path)) for path in files if path.is_file())
        self._target = target[0] if target else self._tokenizer
        self.queue: asyncio.Queue[Entry] = asyncio.Queue()

    async def run(self) -> None:
        """Translate batch after batch; each worker has one such task."""
        while True:
            entries = [await self.queue.get()]
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(WAIT_SECONDS):
                    while len(entries) < MOST_TOGETHER:
                        entries.append(await self.queue.get())
            texts = await asyncio.to_thread(self._translate, [job for job, _ in entries])
            for (_, future), text in zip(entries, texts, strict=True):
                if not future.done():
                    future.set_result(text)

    def _translate(self, jobs: list[TranslateRequest]) -> list[str]:
        sources = [[*encoding.tokens, EOS] for encoding in self._tokenizer.encode_batch([job.q for job in jobs])]
        found = self._translator.translate_batch(
            sources,
            max_batch_size=MOST_TOGETHER,
            beam_size=jobs[0].beam_size,
            length_penalty=1.0,
            max_decoding_length=jobs[0].max_length,
        )
        number = self._target.token_to_id
        rows = [[n for piece in each.hypotheses[0] if (n := number(piece)) is not None] for each in found]
        return list(self._target.decode_batch(rows))


def create_app(bundle: Path, workers: int, device: str = "cpu") -> FastAPI:
    """Return the application."""
    batcher = Batcher(bundle, workers, device)

    @contextlib.asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        running = [asyncio.create_task(batcher.run()) for _ in range(max(workers, 1))]
        yield
        for task in running:
            task.cancel()

    app = FastAPI(lifespan=lifespan)

    @app.get("/health/ready")
    async def ready() -> dict[str, str]:
        return {"status": "ok"}

    @app.post("/translate")
    async def translate(job: TranslateRequest) -> dict[str, str]:
        future: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        await batcher.queue.put((job, future))
        return {"translatedText": await future}

    return app


if __name__ == "__main__":
    uvicorn.run(
        create_app(Path(sys.argv[1]), int(sys.argv[3]), *sys.argv[4:]),
        port=int(sys.argv[2]),
        log_level="warning",
        access_log=False,
    )
