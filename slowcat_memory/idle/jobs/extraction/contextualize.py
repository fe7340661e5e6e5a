"""Descriptions of chunks: a context sentence, questions and notes for each, written by an LLM.

``core.extraction.descriptions`` has the prompt and the check of the reply. A description keeps the
digest of its input, so that unchanged chunks are never described twice, and a continued session
costs only its new turns.
"""

from collections.abc import Sequence
from datetime import timedelta

from msgspec.structs import replace

from slowcat_memory.core.extraction import descriptions
from slowcat_memory.core.extraction.descriptions import (
    LONG_WORDS,
    VERSION,
    CheckedReply,
    DescriptionsReply,
)
from slowcat_memory.core.extraction.known import ground_with, sources_used
from slowcat_memory.core.extraction.options import MAX_NOTES, MAX_QUESTIONS
from slowcat_memory.core.extraction.prompt_record import AFTER, BEFORE, digest, small_talk
from slowcat_memory.core.memory import chunk, chunk_id, indexed_text, turn_of
from slowcat_memory.core.text.normalize import estimate_tokens
from slowcat_memory.errors import BadAnswerError
from slowcat_memory.idle.job import JobContext
from slowcat_memory.idle.jobs.extraction.session_extractor import (
    TURN_CHARS,
    AskedTurns,
    Request,
    SessionExtractor,
    with_vectors,
)
from slowcat_memory.idle.jobs.options import ContextualizeOptions
from slowcat_memory.records import Context, Key, Made, Session, Turn, WriteBatch
from slowcat_memory.store import Snapshot

ANSWER_TOKENS = 160  # for the description of one turn, its JSON included
NOTES_TOKENS = 180  # for the notes on a long turn
FRESH = timedelta(hours=24)  # a session comes before older ones
RANK, FRESH_RANK = 50, 40  # of tasks


class Contextualize(SessionExtractor):
    """The job; see ``idle.job.Job``."""

    name = "contextualize"
    version = VERSION
    needs = "llm"
    Options = ContextualizeOptions

    def mark(self, snapshot: Snapshot, context: JobContext) -> str:
        """Return what makes everything be read again: another prompt, or a forget."""
        return f"{self.version}.{snapshot.forget_epoch()}"

    def prompt_overhead(self, context: JobContext) -> int:
        return estimate_tokens(descriptions.SYSTEM)

    def wanted(
        self, snapshot: Snapshot, turns: Sequence[Turn], new: range, context: JobContext
    ) -> list[int]:
        """Return the new turns of a session, and the neighbours whose description they change."""
        fresh = [place for place, turn in enumerate(turns) if turn.id in new]
        if not fresh:
            return []
        return [
            place
            for place in range(max(0, fresh[0] - AFTER), min(len(turns), fresh[-1] + BEFORE + 1))
            if not small_talk(turns[place].text) and self._is_due(snapshot, turns, place, context)
        ]

    def _is_due(
        self, snapshot: Snapshot, turns: Sequence[Turn], place: int, context: JobContext
    ) -> bool:
        """Return whether a turn has no description, or one that was made from other words."""
        stored = snapshot.context(turns[place].scope, chunk_id(turns[place].id))
        return stored is None or stored.digest != digest(self.version, turns, place, context.zone)

    def rank_of(self, session: Session, context: JobContext) -> int:
        return FRESH_RANK if context.now - session.last < FRESH else RANK

    async def read_by_llm(self, request: Request, context: JobContext) -> WriteBatch:
        """Request descriptions; what the reply omits is requested once more."""
        due, options = request.due, context.options
        long = sum(len(turn.text.split()) > LONG_WORDS for turn in due.values())
        seen, known = request.seen, request.known
        answer = await context.ask(
            DescriptionsReply,
            descriptions.SYSTEM,
            descriptions.build_prompt(seen, due, context.zone, TURN_CHARS, known),
            seen[0].scope,
            turns=(turn.id for turn in seen),
            memories=known.memories,
            max_tokens=ANSWER_TOKENS * (len(due) + 1) + NOTES_TOKENS * long,
        )
        grounding = ground_with(seen, context.zone, known)
        kept = descriptions.check_reply(
            answer.value, due, grounding, options.questions, options.notes, seen
        )
        if not kept.found and not request.again:
            raise BadAnswerError("none of the turns that were asked about is described")
        made = context.made(answer.model)
        batch = self._batch(kept, request, made, context)
        if kept.missing and not request.again:
            asked, task = AskedTurns([*kept.missing], again=True), request.task
            batch = replace(batch, tasks=(self.task_like(task, asked, task.sources),))
        lines = {
            (row.scope, row.memory): indexed_text(
                replace(chunk(due[turn_of(row.memory)]), context=row.text)
            )
            for row in batch.contexts
        }
        return await with_vectors(batch, context, lines)

    def _batch(
        self, kept: CheckedReply, request: Request, made: Made, context: JobContext
    ) -> WriteBatch:
        # Sources are all turns that the LLM saw, and those of the known names that it wrote: its
        # text must not outlive any of them.
        seen, scope = request.seen, request.seen[0].scope
        shown = tuple(turn.id for turn in seen)
        places = {turn.id: place for place, turn in enumerate(request.turns)}
        contexts, keys, drop = list[Context](), list[Key](), list[tuple[str, str]]()
        for id, description in kept.found.items():
            memory = chunk_id(id)
            written = " ".join((description.context, *description.questions, *description.notes))
            earlier = sources_used(written, seen, request.known)
            sources = tuple(dict.fromkeys((*shown, *earlier)))
            made_from = digest(self.version, request.turns, places[id], context.zone)
            contexts.append(
                Context(
                    scope=scope,
                    memory=memory,
                    text=description.context,
                    digest=made_from,
                    sources=sources,
                    made=made,
                )
            )
            for kind, texts, most in (
                ("question", description.questions, MAX_QUESTIONS),
                ("note", description.notes, MAX_NOTES),
            ):
                names = [f"{memory}?{kind[0]}{n + 1}" for n in range(most)]
                keys += [
                    Key(scope=scope, memory=memory, id=name, kind=kind, text=text,
                        sources=sources, made=made)
                    for name, text in zip(names, texts, strict=False)
                ]  # fmt: skip
                drop += [(scope, name) for name in names[len(texts) :]]
        return WriteBatch(contexts=tuple(contexts), keys=tuple(keys), drop_keys=tuple(drop))
