"""Questions asked of the memory that holds their answer, and of somebody else's.

The second kind is how it is learnt what recall returns when there is nothing about this: each
conversation's questions are asked once more, of the next conversation in the same engine, at the end
of all that was told. Nobody there ever heard of it; what comes up is the best of nothing.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Literal

from msgspec import Struct

from benchmarks import datasets, quality
from benchmarks.datasets import ADVERSARIAL, Dataset, Question
from benchmarks.scoring import Level
from benchmarks.telling import Origins, dialogue_of
from benchmarks.thinking import Thinker, Unthinking
from slowcat_memory import transfer
from slowcat_memory.engine import MemoryEngine
from slowcat_memory.runtime.recall.query import Recollection

Kind = Literal["own", "adversarial", "unrelated"]
SESSIONS = 8  # of a small memory, at most
DEPTH = 24  # hits a question
GOLD: dict[str, Level] = {"RealMem": "session"}  # a topic's other turns say the same; else turns


class Asked(Struct, frozen=True, kw_only=True):
    """A question, and what came to mind.

    Attributes:
        id: The question's id.
        conversation: Whose question it is.
        kind: Whether its answer is there ("own"), is not although it seems so ("adversarial"), or
            cannot be ("unrelated").
        found: Up to ``DEPTH`` hits, whatever their probability.
        at: The time of the question.
        memories: How many there were to search.
        right: For each hit, whether it counts as an answer (see ``GOLD``).
    """

    id: str
    conversation: str
    kind: Kind
    found: Recollection
    at: datetime
    memories: int = 0
    right: tuple[bool, ...] = ()


def ask(
    engine: MemoryEngine,
    every: Sequence[Dataset],
    limit: int = 0,
    *,
    thinker: Thinker = Unthinking(),
) -> list[Asked]:
    """Tell an engine data sets, and ask each question twice: where it belongs and where it does not.

    Args:
        engine: An engine with an empty store.
        every: The data sets; two conversations at least, of one or of several.
        limit: Only so many conversations of each; 0 for all.
        thinker: Does idle work on what was told.

    Returns:
        Questions without known gold are left out, and so is an adversarial one of somebody else.
    """
    asking = _Asking()
    for data in every:
        asking.data = data
        quality.answer_all(engine, data, DEPTH, limit, search=asking, thinker=thinker)
    asked = {q.id: q for data in every for q in data.questions}
    own = [asked[id_] for id_ in asking.ids]
    conversations = list(dict.fromkeys(question.conversation for question in own))
    following = dict(zip(conversations, conversations[1:] + conversations[:1], strict=True))
    thinker.think(engine)
    for conversation in conversations:
        engine.maintain("embed", datasets.scope_of(conversation))
    found = list(asking.found)
    if len(conversations) > 1:
        belong = {one.id for one in found if one.kind == "own"}
        found += (
            _elsewhere(engine, question, datasets.scope_of(following[question.conversation]))
            for question in own
            if question.id in belong
        )
    return found


def ask_small(
    engine: MemoryEngine,
    data: Dataset,
    every: int = 3,
) -> list[Asked]:
    """Ask questions of somebody else's small memory: of the best of nothing, when there is little.

    Args:
        engine: An engine with an empty store.
        data: A data set with sessions.
        every: Takes one question of so many.

    Returns:
        Each asked of the first one, two, three … eight sessions of the next conversation.
    """
    transcripts = {t.conversation: t for t in transfer.read(data.conversations, lambda *_: None)}
    names = list(transcripts)
    following = dict(zip(names, names[1:] + names[:1], strict=True))
    taken = [q for q in data.questions if q.evidence and q.category != ADVERSARIAL][::every]
    found: list[Asked] = []
    for few in range(1, SESSIONS + 1):
        for name in names:
            scope = f"{datasets.scope_of(name)[:50]}-{few}"
            for session in transcripts[name].sessions[:few]:
                transfer.ingest(engine, scope, session)
            engine.maintain("embed", scope)
        found += (
            _elsewhere(
                engine,
                question,
                f"{datasets.scope_of(following[question.conversation])[:50]}-{few}",
            )
            for question in taken[few - 1 :: SESSIONS]
        )
    return found


class _Asking:
    """Asks a question where it belongs, and keeps what came."""

    def __init__(self) -> None:
        self.data: Dataset | None = None
        self.ids: list[str] = []
        self.found: list[Asked] = []
        self._origins = Origins()

    def __call__(
        self, engine: MemoryEngine, question: Question, scope: str, k: int, now: datetime | None
    ) -> Recollection:
        assert self.data is not None
        found, at = _search(engine, question, scope, k, now)
        self.ids.append(question.id)
        names = [self._origins.of(engine, hit.memory.sources) for hit in found.hits]
        level = GOLD.get(self.data.name, "turn")
        gold = question.evidence if level == "turn" else question.sessions
        if not gold:
            return found
        session_of = self.data.session_of
        right = [
            any((turn if level == "turn" else session_of[turn]) in gold for turn in turns)
            for turns in names
        ]
        lure = question.category == ADVERSARIAL
        self.found.append(
            Asked(
                id=question.id,
                conversation=question.conversation,
                kind="adversarial" if lure else "own",
                found=found,
                at=at,
                memories=len(engine.wiring.namespaces.get(scope).searcher),
                right=tuple(not lure and each for each in right),
            )
        )
        return found


def _elsewhere(engine: MemoryEngine, question: Question, scope: str) -> Asked:
    session = engine.latest_session(scope)
    found, at = _search(engine, question, scope, DEPTH, session.last if session else None)
    return Asked(
        id=question.id,
        conversation=question.conversation,
        kind="unrelated",
        found=found,
        at=at,
        memories=len(engine.wiring.namespaces.get(scope).searcher),
        right=(False,) * len(found.hits),
    )


def _search(
    engine: MemoryEngine, question: Question, scope: str, k: int, now: datetime | None
) -> tuple[Recollection, datetime]:
    at = now or engine.clock()
    return engine.search(question.text, scope, k, now=at, dialogue=dialogue_of(question, at)), at
