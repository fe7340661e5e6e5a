"""Puts a model behind the product's own client: text over HTTP, the real parser, the real checks."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

from msgspec import Struct
from msgspec.structs import replace

from benchmarks.written.damage import DAMAGES, NO_FAULT, pieces, possible, text_of
from benchmarks.written.diary import Diary
from benchmarks.written.good import GoodModel, Piece, Reply, Request
from benchmarks.written.sloppy import EVERY, SloppyModel
from slowcat_memory.core.text.normalize import estimate_tokens
from slowcat_memory.providers import LLM, ThinkingOptions, open_llm
from tests.support.recorded_answers import RecordingLLM, ReplayingLLM
from tests.support.scripted_server import serving

CONTEXT_TOKENS = 8192  # what the server is said to read
Mode = Literal["none", "good", "sloppy"]
MODES: tuple[Mode, ...] = ("none", "good", "sloppy")


class Call(Struct, frozen=True):
    """A prompt and its reply.

    Attributes:
        damage: What was done to the whole reply, "" for nothing.
        pieces: The items that were sent.
    """

    job: str
    tokens_in: int
    tokens_out: int
    damage: str
    pieces: tuple[Piece, ...]
    system: str
    user: str
    text: str


class ModelServer:
    """Answers chat requests.

    Attributes:
        calls: Every request, in order.
        failed: What went wrong in the server itself, which the client takes for an outage.
    """

    def __init__(self, diary: Diary, mode: Mode) -> None:
        self._model = SloppyModel(diary) if mode == "sloppy" else GoodModel(diary)
        self.calls = list[Call]()
        self.failed = list[Exception]()

    def __call__(self, body: dict[str, Any]) -> str:
        try:
            return self._answer(_request(body))
        except Exception as error:
            self.failed.append(error)
            raise

    def _answer(self, request: Request) -> str:
        reply = fitted(self._model.reply(request), request.schema)
        damage, text, sent = self._damaged(request, reply)
        tokens_in = estimate_tokens(request.system) + estimate_tokens(request.user)
        self.calls.append(
            Call(request.job, tokens_in, estimate_tokens(text), damage, tuple(pieces(sent)),
                 request.system, request.user, text)
        )  # fmt: skip
        return text

    def _damaged(self, request: Request, reply: Reply) -> tuple[str, str, Reply]:
        if isinstance(self._model, SloppyModel):
            turn, rest = divmod(self._model.seed(request), EVERY)
            names = possible(reply)
            if not rest and names:
                name = names[turn % len(names)]
                text, sent = DAMAGES[name](reply)
                return name, text, sent
        return NO_FAULT, text_of(reply), reply


def _request(body: dict[str, Any]) -> Request:
    system, user = (str(message["content"]) for message in body["messages"][:2])
    form = (body.get("response_format") or {}).get("json_schema") or {}
    return Request(str(form.get("name", "")), system, user, form.get("schema") or {})


def fitted(reply: Reply, schema: dict[str, Any]) -> Reply:
    """Keep the fields of items that the schema asks for: a strong model adds none of its own."""
    made = dict[str, Any]()
    for name, value in reply.items():
        wanted = schema.get("properties", {}).get(name, {}).get("items", {}).get("properties")
        made[name] = [_fitted(one, wanted) for one in value] if wanted and isinstance(value, list) else value  # fmt: skip
    return made


def _fitted(piece: Any, wanted: dict[str, Any]) -> Any:
    if not isinstance(piece, Piece) or not isinstance(piece.value, dict):
        return piece
    value = {name: one for name, one in piece.value.items() if name in wanted}
    return replace(piece, value=value)


class Thinker(Struct, frozen=True):
    """The LLM of a run, and its server; both None where there is none."""

    llm: LLM | None = None
    server: ModelServer | None = None


@contextmanager
def thinking(
    diary: Diary, mode: Mode, record: Path | None = None, replay: Path | None = None
) -> Iterator[Thinker]:
    """Open the LLM of a run.

    Args:
        record: Keeps every prompt and answer.
        replay: Answers from such a file instead.
    """
    if replay is not None:
        yield Thinker(ReplayingLLM(replay))
        return
    if mode == "none":
        yield Thinker()
        return
    server = ModelServer(diary, mode)
    with serving(server) as web:
        llm = open_llm(ThinkingOptions(url=web.url, context_tokens=CONTEXT_TOKENS))
        assert llm is not None
        if record is None:
            yield Thinker(llm, server)
            return
        recording = RecordingLLM(llm, record)
        try:
            yield Thinker(recording, server)
        finally:
            recording.close()
