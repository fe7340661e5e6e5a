"""Places each chunk by a sentence or two, and writes down what it answers: an LLM, a few a call.

See ``core.describe`` for what is asked and what is kept of an answer, `describable` for what is due.
A context keeps the digest of what it was made from: the same words in the same place are never asked
about twice, and a session that goes on costs what it adds.
"""

from collections.abc import Sequence

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from slowcat_memory.core.extraction.descriptions import (
    LONG_WORDS,
    MOST_NOTES,
    MOST_QUESTIONS,
    SYSTEM,
    VERSION,
    Checked,
    Descriptions,
    asking,
    checked,
)
from slowcat_memory.core.extraction.grounding import ground
from slowcat_memory.core.extraction.windows import digest
from slowcat_memory.core.memory.chunk import chunk, chunk_id, spoken
from slowcat_memory.core.text.digest import digest as text_digest
from slowcat_memory.errors import BadAnswerError
from slowcat_memory.idle.job import JobContext, Needs, Plan, Trigger
from slowcat_memory.idle.jobs.extraction.due import (
    NAME,
    Asked,
    ContextualizeOptions,
    Looked,
    goes_on,
    news,
    recalls,
    stale,
    task_of,
    tasks,
    visible,
)
from slowcat_memory.providers import Prompt
from slowcat_memory.records import (
    Context,
    Cursor,
    Key,
    Made,
    Task,
    TokenVectors,
    Turn,
    Vector,
    WriteBatch,
)

ANSWER_TOKENS = 160  # for what is written about one turn, its JSON included
NOTES_TOKENS = 180  # for the notes on a long one


class Contextualize:
    """The job; see ``idle.job.Job``."""

    name = NAME
    version = VERSION
    needs: Needs = "llm"
    trigger = Trigger(session_end=True, every_s=300.0)
    Options: type[Struct] = ContextualizeOptions

    def plan(self, context: JobContext) -> Plan | None:
        """Say which chunks want a description; see ``idle.job.Job``."""
        with context.snapshot() as snapshot:
            before = snapshot.cursor(NAME)
            version = f"{VERSION}.{snapshot.forget_epoch()}"
            looked = _looked(before)
            anew = looked.version != version
            after = 0 if before is None or anew else before.position
            scopes = set(context.scopes())
            upto, first = news(snapshot, after, {} if anew else looked.open, scopes)
            often, due, still = recalls(snapshot), list[Task](), dict[str, int]()
            for id, turn in first.items():
                session = snapshot.session(id)
                if session is not None and goes_on(session, context):
                    still[id] = turn
                elif session is not None:
                    due += tasks(snapshot, session, range(turn, upto + 1), often, context)
        cursor = Cursor(name=NAME, position=upto, note=_note(Looked(version, still)))
        return None if cursor == before else Plan(tasks=tuple(due), cursor=cursor)

    async def step(self, task: Task, context: JobContext) -> WriteBatch:
        """Ask about a few chunks of a session; see ``idle.job.Job``."""
        asked = msgspec.json.decode(task.note, type=Asked)
        seen, due, digests = _reread(task, asked, context)
        if not due:
            return WriteBatch()
        assert context.llm is not None
        prompt = Prompt(
            job=NAME,
            version=VERSION,
            system=SYSTEM,
            user=asking(seen, due, context.zone, context.options.chunk_chars),
            max_tokens=ANSWER_TOKENS * (len(due) + 1) + NOTES_TOKENS * _long(due),
        )
        answer = await context.llm.complete(prompt, Descriptions)
        most = min(context.options.questions, MOST_QUESTIONS)
        notes = min(context.options.notes, MOST_NOTES)
        kept = checked(answer.value, due, ground(seen, context.zone), most, notes)
        if not kept.found and not asked.again:
            raise BadAnswerError("none of the turns that were asked about is described")
        made = Made(job=NAME, version=VERSION, model=answer.model)
        batch = _written(kept, digests, seen, made)
        again = () if asked.again else tuple(_again(task, turn) for turn in kept.missing)
        return await _embedded(replace(batch, tasks=again), due, context)

    def split(self, task: Task) -> tuple[Task, ...]:
        """Ask for less with less around it.

        Args:
            task: One that is more than the LLM reads at once.

        Returns:
            Two tasks for several chunks, one for one; none when nothing can be left out any more.
        """
        asked = msgspec.json.decode(task.note, type=Asked)
        half = len(asked.turns) // 2
        parts = [asked.turns[:half], asked.turns[half:]] if half else [asked.turns]
        if len(task.sources) <= len(parts[-1]):
            return ()
        return tuple(_nearer(task, Asked(part, asked.again)) for part in parts)


def _looked(cursor: Cursor | None) -> Looked:
    try:
        return msgspec.json.decode(cursor.note, type=Looked) if cursor else Looked("")
    except msgspec.DecodeError:  # another version's: all is looked at anew
        return Looked("")


def _note(looked: Looked) -> str:
    return msgspec.json.encode(looked).decode()


def _reread(
    task: Task, asked: Asked, context: JobContext
) -> tuple[list[Turn], dict[int, Turn], dict[int, str]]:
    """Read what the LLM is to see, which of it still wants a description, and their digests."""
    with context.snapshot() as snapshot:
        said = snapshot.turn(asked.turns[0])
        session = snapshot.session(said.session) if said else None
        turns = visible(snapshot, session, context) if session else []
        places = {turn.id: place for place, turn in enumerate(turns)}
        wanted = [places[id] for id in asked.turns if id in places]
        due = [place for place in wanted if stale(snapshot, turns, place, context)]
    seen = set(task.sources)
    return (
        [turn for turn in turns if turn.id in seen],
        {turns[place].id: turns[place] for place in due},
        {turns[place].id: digest(VERSION, turns, place, context.zone) for place in due},
    )


def _written(
    kept: Checked, digests: dict[int, str], seen: Sequence[Turn], made: Made
) -> WriteBatch:
    """Put down what is kept. All that the LLM saw is a source: nothing of it may outlive that."""
    sources, scope = tuple(turn.id for turn in seen), seen[0].scope
    contexts, keys, drop = list[Context](), list[Key](), list[tuple[str, str]]()
    for id, found in kept.found.items():
        memory = chunk_id(id)
        contexts.append(
            Context(scope=scope, memory=memory, text=found.context, digest=digests[id],
                    sources=sources, made=made)
        )  # fmt: skip
        for kind, texts, most in (
            ("question", found.questions, MOST_QUESTIONS),
            ("note", found.notes, MOST_NOTES),
        ):
            names = [f"{memory}?{kind[0]}{n + 1}" for n in range(most)]
            for name, text in zip(names, texts, strict=False):
                keys.append(
                    Key(scope=scope, memory=memory, id=name, kind=kind, text=text,
                        sources=sources, made=made)
                )  # fmt: skip
            drop += [(scope, name) for name in names[len(texts) :]]
    return WriteBatch(contexts=tuple(contexts), keys=tuple(keys), drop_keys=tuple(drop))


def _long(due: dict[int, Turn]) -> int:
    return sum(len(turn.text.split()) > LONG_WORDS for turn in due.values())


async def _embedded(batch: WriteBatch, due: dict[int, Turn], context: JobContext) -> WriteBatch:
    """Add draft vectors of the chunks as they are indexed now, and of their keys."""
    chunks = {chunk_id(turn.id): chunk(turn) for turn in due.values()}
    lines = [spoken(replace(chunks[one.memory], context=one.text)) for one in batch.contexts]
    texts = lines + [key.text for key in batch.keys]
    if not texts or not context.space:
        return batch
    made = await context.embed(texts)
    subjects = [(one.scope, one.memory) for one in batch.contexts]
    subjects += [(key.scope, key.id) for key in batch.keys]
    owners = [
        (scope, id, text_digest(text)) for (scope, id), text in zip(subjects, texts, strict=True)
    ]
    return replace(
        batch,
        vectors=tuple(
            Vector(scope=scope, memory=id, values=row, draft=True, of=of)
            for (scope, id, of), row in zip(
                owners, made.vectors, strict=False
            )  # none without a model
        ),
        embedder=context.space,
        tokens=tuple(
            TokenVectors(scope=scope, memory=id, values=rows, draft=True, of=of)
            for (scope, id, of), rows in zip(owners[: len(lines)], made.tokens, strict=False)
        ),
        token_key=context.token_space,
    )


def _again(task: Task, turn: int) -> Task:
    return task_of(task.scope, _session(task), Asked([turn], again=True), task.sources, task)


def _nearer(task: Task, asked: Asked) -> Task:
    """Halve what the LLM sees around what it is asked about."""
    middle = (asked.turns[0] + asked.turns[-1]) / 2
    near = sorted(task.sources, key=lambda id: abs(id - middle))[: (len(task.sources) + 1) // 2]
    return task_of(task.scope, _session(task), asked, tuple(sorted({*near, *asked.turns})), task)


def _session(task: Task) -> str:
    return task.key.rpartition(":")[0]
