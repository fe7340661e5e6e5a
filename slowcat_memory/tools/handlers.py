"""Executes the LLM's tool calls, without Pipecat: plain arguments in, a small plain answer out.

A small model reads the answer and it is spoken aloud: a few lines with names and dates in words,
inside a token budget, safe inside a prompt. Wrong arguments are explained to the model in a
sentence, so that it can call again.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
import numpy as np
from loguru import logger
from msgspec import Meta, Struct

from slowcat_memory.core.disclosure import disclose_all, is_listed, is_uncertain
from slowcat_memory.core.graph.relations import Relation
from slowcat_memory.core.language import language_of
from slowcat_memory.core.memory import SUMMARY, believed, chunk_id, types_of
from slowcat_memory.core.ranking.offering import best_of_top
from slowcat_memory.core.render.memory_block import memory_line, shorten
from slowcat_memory.core.render.speech import spoken_until
from slowcat_memory.core.text.normalize import clean, estimate_tokens, neutralise
from slowcat_memory.engine import Memory as Engine
from slowcat_memory.engine.search import SearchArguments, read_graph
from slowcat_memory.errors import ConfigError, describe_error
from slowcat_memory.records import Disclosed, Forget, Hit, Memory, Turn
from slowcat_memory.runtime.recall.time_travel import read_span

if TYPE_CHECKING:
    from slowcat_memory.core.graph.portrait import EntityNames

Date = Annotated[str, Meta(description="A date like 2024-05-31, or words like 'last week'.")]


class Search(Struct, frozen=True):
    """Arguments of ``search_memory``."""

    query: Annotated[str, Meta(description="What to look for, in a few words.")]
    speaker: Annotated[str, Meta(description="Only what this person said.")] = ""
    since: Date = ""
    until: Date = ""
    kind: Annotated[
        str, Meta(description="Only summaries of this kind: session, day, week, topic or episode.")
    ] = ""


class Remember(Struct, frozen=True):
    """Arguments of ``remember``."""

    text: Annotated[str, Meta(description="One sentence that stands on its own, with names.")]


class ForgetWhat(Struct, frozen=True):
    """Arguments of ``forget``."""

    what: Annotated[str, Meta(description="What to forget, in a few words.")]
    confirm: Annotated[bool, Meta(description="True only after the user agreed.")] = False


class Nothing(Struct, frozen=True):
    """Arguments of ``facts_list``: none."""


class Read(Struct, frozen=True):
    """Arguments of ``facts_read``."""

    name: Annotated[str, Meta(description="A type that facts_list named.")]


class AsOf(Struct, frozen=True):
    """Arguments of ``memory_as_of``."""

    date: Date
    query: Annotated[str, Meta(description="What to look for; empty for all of that day.")] = ""


Arguments = Search | Remember | ForgetWhat | Nothing | Read | AsOf

KINDS: dict[str, type[Arguments]] = {
    "search_memory": Search,
    "remember": Remember,
    "forget": ForgetWhat,
    "facts_list": Nothing,
    "facts_read": Read,
    "memory_as_of": AsOf,
}


MOST, TOKENS = 8, 400  # memories of an answer, and their estimated size in tokens
FEW_SUMMARIES = 2  # beside the memories of an answer
SUMMARIES = ("session", "day", "week", "topic", "episode")
FEW = 5  # memories that one call may forget
AGREED = 3  # user turns within which the user may agree
LONGEST = 2000  # characters of a statement to remember
FLUSH_S = 2.0  # recent turns may not be on disk yet
NOTHING = "Nothing found. Say that you do not remember; do not guess."
NOBODY = "There is no memory for whoever speaks now."
OFF_RECORD = "The user is off the record: nothing is kept."
UNSURE = "None of these surely answers it. Do not guess."


class Unclear(Exception):
    """The arguments are invalid; the message is for the model."""


class Proposal(Struct, frozen=True):
    """What will be forgotten if the user agrees.

    Attributes:
        turn: Number of the user turn that asked for it.
        said: That turn, None if it was not known yet.
        memories: Ids of what would be forgotten.
        lines: The same, in words.
    """

    turn: int
    said: Turn | None
    memories: tuple[str, ...]
    lines: tuple[str, ...]


class Call(Struct, frozen=True):
    """One call, and the state when it was made.

    Attributes:
        scope: The namespace; "" for guests and several speakers, who have no memory.
        turn: Number of the current user turn. With a realtime service, which answers before the
            turn is known, a turn counts when the user starts to speak.
        said: That turn, None if it is not known yet.
        hidden: Memories that are the user's own messages in the LLM's context.
        local: The LLM runs on this machine.
        keeps: The conversation is on the record.
        shown: Called, on the handler's thread, with the memories of an answer.
        private: Whether the LLM could read local-only memories for this reply: what it asks to
            remember is local-only then.
        logged: Returns a turn with its id in the log, once that is known.
    """

    engine: Engine
    scope: str
    turn: int
    said: Turn | None
    now: datetime
    hidden: frozenset[str]
    local: bool = False
    keeps: bool = True
    shown: Callable[[Iterable[Memory]], object] = lambda memories: None
    private: bool = False
    logged: Callable[[Turn], Turn] = lambda turn: turn


class ToolCalls:
    """Executes the calls of one conversation."""

    def __init__(self) -> None:
        self._proposals: dict[str, Proposal] = {}  # by scope

    def answer(self, name: str, arguments: Any, call: Call) -> dict[str, Any]:
        """Execute a call and return small, plain JSON for the LLM. Blocks, and never raises."""
        kind = KINDS[name]
        if not call.scope:
            return {"error": NOBODY}
        try:
            if not isinstance(arguments, Mapping):
                raise Unclear("The arguments must be an object.")
            given = {key: value for key, value in arguments.items() if value is not None}
            work: Callable[..., dict[str, Any]] = getattr(self, name)
            return work(call, msgspec.convert(given, kind, strict=False))
        except msgspec.ValidationError as error:
            return {"error": f"Wrong arguments: {error}."}
        except Unclear as error:
            return {"error": str(error)}
        except Exception as error:  # the conversation continues without an answer
            call.engine.metrics.count("failures")
            logger.error(f"the tool {name} failed: {describe_error(error)}")
            return {"error": "The memory cannot be used right now."}

    def search_memory(self, call: Call, asked: Search) -> dict[str, Any]:
        query = _words(asked.query, "query")
        since = self._time(call, asked.since, "since")
        until = self._time(call, asked.until, "until")
        when = SearchArguments(
            since=since[0] if since else None, until=until[1] if until else None, local=call.local
        )
        if kind := asked.kind.strip().lower():
            return self._found(call, self._summaries(call, query, kind, MOST, when))
        how: SearchArguments = {
            **when, "speaker": asked.speaker, "exclude": self._now_asking(call), "talk": False
        }  # fmt: skip
        found = call.engine.search(query, call.scope, MOST, **how)
        told = self._found(call, found.hits)
        return told if asked.speaker else told | self._overview(call, query, when)

    def _now_asking(self, call: Call) -> frozenset[str]:
        """Return the chunk of the turn that asks; what was said before it may be the answer."""
        return frozenset({chunk_id(call.logged(call.said).id)}) if call.said else frozenset()

    def _summaries(
        self, call: Call, query: str, kind: str, most: int, when: SearchArguments
    ) -> list[Hit]:
        try:
            how: SearchArguments = {**when, "kinds": (kind,)}
            return call.engine.search(query, call.scope, most, **how).hits
        except ConfigError:
            raise Unclear(f"The kind is one of {', '.join(SUMMARIES)}.") from None

    def _overview(self, call: Call, query: str, when: SearchArguments) -> dict[str, Any]:
        """Return the summaries that probably answer, for what no single memory says."""
        hits = self._summaries(call, query, SUMMARY, FEW_SUMMARIES, when)
        floor = call.engine.config.recall.floor
        sure = [hit.memory for hit in hits if hit.probability >= floor]
        return {"summaries": self._lines(call, sure)} if sure else {}

    def remember(self, call: Call, asked: Remember) -> dict[str, Any]:
        if not call.keeps:
            raise Unclear(OFF_RECORD)
        text = _words(asked.text, "text")
        if len(text) > LONGEST:
            raise Unclear("That is too long. Keep one sentence at a time.")
        kept = call.engine.remember(text, call.scope, local_only=call.private)
        return {"kept": neutralise(kept.text)}

    def forget(self, call: Call, asked: ForgetWhat) -> dict[str, Any]:
        """Propose what to forget; forget it once the user has agreed in a later turn."""
        if asked.confirm:
            return self._confirmed(call)
        what = _words(asked.what, "what")
        found = call.engine.search(
            what,
            call.scope,
            FEW,
            floor=call.engine.config.recall.floor,
            exclude=call.hidden,
            local=call.local,
            talk=True,
        )
        best = [hit for hit in found.hits if hit.coverage >= found.hits[0].coverage / 2]
        if not best:
            return {"would_forget": [], "note": "Nothing like that is stored."}
        lines = self._lines(call, [hit.memory for hit in best])
        told = best[: len(lines)]
        ids = tuple(hit.memory.id for hit in told)
        self._proposals[call.scope] = Proposal(call.turn, call.said, ids, tuple(lines))
        return {
            "would_forget": lines,
            "note": "Nothing is forgotten yet. Tell the user what it is and ask whether to forget "
            "it. After they agree, call forget again with confirm true.",
        }

    def _confirmed(self, call: Call) -> dict[str, Any]:
        proposal = self._proposals.get(call.scope)
        if proposal is None or call.turn > proposal.turn + AGREED:
            return {"forgotten": [], "note": "First call forget without confirm, then ask."}
        if proposal.turn >= call.turn:
            return {
                "forgotten": [],
                "note": "The user has not agreed yet. Ask, and wait for the answer.",
            }
        del self._proposals[call.scope]
        gone = dict.fromkeys((*proposal.memories, *_chunks_about(call, proposal.said)))
        call.engine.forget(Forget(scope=call.scope, memories=tuple(gone)))
        return {
            "forgotten": list(proposal.lines),
            "note": "It is gone for good, with what was just said about it.",
        }

    def facts_list(self, call: Call, asked: Nothing) -> dict[str, Any]:
        found = Counter(kind for memory in self._facts(call, call.now) for kind in types_of(memory))
        return {"types": dict(sorted(found.items()))}

    def facts_read(self, call: Call, asked: Read) -> dict[str, Any]:
        """Return the facts of one type, the latest first, as many as fit."""
        every = self._facts(call, call.now)
        name = asked.name.strip().casefold()
        facts = [memory for memory in every if name in types_of(memory)]
        if not facts:
            types = ", ".join(sorted({kind for memory in every for kind in types_of(memory)}))
            known = f"There are: {types}." if types else "There are none at all."
            raise Unclear(f"There are no facts of that type. {known}")
        facts.sort(key=lambda memory: memory.valid_from, reverse=True)
        lines = self._lines(call, facts)
        left = len(facts) - len(lines)
        return {"facts": lines, **({"note": f"{left} more are not shown."} if left else {})}

    def memory_as_of(self, call: Call, asked: AsOf) -> dict[str, Any]:
        time = self._time(call, asked.date, "date")
        if time is None:
            raise Unclear("Which date? Write it like 2024-05-31.")
        at = min(time[1] - timedelta(microseconds=1), call.now)
        day = f"{at.astimezone(call.engine.zone):%-d %B %Y}"
        how: SearchArguments = {"local": call.local, "exclude": self._now_asking(call)}
        if not (query := clean(asked.query)[0]):
            how |= {"since": time[0], "until": time[1]}
            said = call.engine.search("", call.scope, MOST, **how)
            known = [*self._facts(call, at)[:MOST], *(hit.memory for hit in said.hits)]
            return {"as_of": day, "memories": self._lines(call, known)}
        how["at"] = at
        found = call.engine.search(query, call.scope, MOST, **how)
        told = {"as_of": day, **self._found(call, found.hits)}
        held = self._held(call, query, at)
        return {**told, "held": held} if held else told

    def _held(self, call: Call, query: str, at: datetime) -> list[str]:
        """Return the relations of a query's subjects that held at a time, by present knowledge."""
        from slowcat_memory.core.extraction.evidence import shared  # not at every start

        graph = read_graph(call.engine, call.scope, true=at, local=call.local)
        names = graph.names
        told = [
            (one, _in_words(one, names, call))
            for one in graph.relations
            if one.subject in names and one.object in names
        ]
        about = [pair for pair in told if shared(f"{pair[1]} {pair[0].quote}", query, "")][:MOST]
        with call.engine.snapshot() as snapshot:
            stored = [snapshot.memory(call.scope, one.id) for one, _ in about]
        call.shown(memory for memory in stored if memory)
        return [neutralise(line) for _, line in about]

    def _facts(self, call: Call, at: datetime) -> list[Disclosed]:
        """Return the facts, notes and pinned memories that hold at a time and that the LLM may see.

        Uncertain ones are left out: the LLM would state them.
        """
        reader = call.engine.reader(call.scope, local=call.local)
        with call.engine.snapshot() as snapshot:
            seen = disclose_all(snapshot.memories(call.scope), reader)
        return [m for m in seen if is_listed(m) and believed(m, at) and not is_uncertain(m)]

    def _found(self, call: Call, hits: Sequence[Hit]) -> dict[str, Any]:
        sure = best_of_top(np.array([hit.probability for hit in hits]))
        doubt = {} if sure >= call.engine.config.recall.floor else {"note": UNSURE}
        lines = self._lines(call, [hit.memory for hit in hits])
        return {"memories": lines, **(doubt if lines else {"note": NOTHING})}

    def _lines(self, call: Call, memories: Sequence[Disclosed]) -> list[str]:
        limit, zone = call.engine.config.pack.memory_tokens, call.engine.zone
        words = language_of(call.engine.config.memory.language)
        lines: list[str] = []
        used = 0
        for memory in memories:
            line = memory_line(memory, call.now, zone, limit, shorten, words).removeprefix("- ")
            used += estimate_tokens(line)
            if used > TOKENS:
                break
            lines.append(line)
        call.shown(memories[: len(lines)])
        return lines

    def _time(self, call: Call, text: str, name: str) -> tuple[datetime, datetime] | None:
        """Parse a date or time expression to its start and (excluded) end; None for ""."""
        if not text.strip():
            return None
        language = call.engine.config.memory.language
        found = read_span(text, call.now, call.engine.zone, language)
        if found is None:
            raise Unclear(f"The {name} is not clear. Write it like 2024-05-31.")
        return found.start, found.end


def _in_words(relation: Relation, names: "EntityNames", call: Call) -> str:
    """Return a relation as a sentence, with its end if it is over by now."""
    from slowcat_memory.core.graph.portrait import in_words

    line = in_words(relation, names)
    if relation.valid_to is None or relation.valid_to > call.now:
        return line
    dates = language_of(call.engine.config.memory.language).dates
    return f"({spoken_until(relation.valid_to, call.now, call.engine.zone, dates)}) {line}"


def _words(text: str, name: str) -> str:
    kept, _ = clean(text)
    if not kept:
        raise Unclear(f"The {name} is empty. Give a few words.")
    return kept


def _chunks_about(call: Call, request: Turn | None) -> list[str]:
    """Return the chunks from the request to forget up to the consent: they repeat its subject."""
    if request is None or call.said is None:
        return []
    call.engine.flush(FLUSH_S)  # from then on ids in the log are known
    first, end = call.logged(request).id, call.logged(call.said).id
    with call.engine.snapshot() as snapshot:
        said = snapshot.turns(call.scope, after=first - 1, upto=end - 1)
        return [chunk_id(turn.id) for turn in said]
