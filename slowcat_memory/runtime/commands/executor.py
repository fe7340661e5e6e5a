"""Executes voice commands: finds what they refer to in the store, and words the answers.

All functions block on the store; the processor runs them beside the event loop. Each command
returns one sentence to be read aloud; what it confirms is already durable.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, tzinfo

from msgspec.structs import replace

from slowcat_memory.core.commands.corrections import (
    Said,
    Verdict,
    find_corrected,
    mentions,
    replaced_value,
)
from slowcat_memory.core.commands.grammar import Command
from slowcat_memory.core.commands.replies import (
    counted,
    describe_known,
    describe_sources,
    describe_statements,
    describe_topic,
    quote,
    say,
)
from slowcat_memory.core.disclosure import (
    Reader,
    disclose,
    is_listed,
    is_uncertain,
)
from slowcat_memory.core.language import language_of
from slowcat_memory.core.memory import chunk, chunk_id, held_at
from slowcat_memory.core.text.normalize import Tokenizer, asking, fingerprint
from slowcat_memory.core.time.expressions import Interval, times
from slowcat_memory.records import CommandEntry, Disclosed, LedgerEntry, Memory, Turn
from slowcat_memory.runtime.commands.undo_log import (
    LATEST,
    UNDOABLE,
    CommandContext,
    CommandOptions,
    Outcome,
    UndoLog,
    last_exchange,
)
from slowcat_memory.runtime.recall.time_travel import waiting_to_be_erased
from slowcat_memory.store import Snapshot, Store


@dataclass(eq=False, repr=False)
class CommandExecutor:
    """Executes commands. Safe to use from several threads; blocks.

    Attributes:
        note: Makes a note of a text and a scope without storing it; ``sources`` are log ids.
        reader: Returns who is answered: see ``MemoryEngine.reader``.
        is_guests: Returns whether a scope is that of guests, whose commands are refused.
        keep_local: Marks a memory, by scope and id, as one that never leaves this machine.
        language: Of the answers, by its Snowball name.
    """

    store: Store
    undo_log: UndoLog
    zone: tzinfo
    clock: Callable[[], datetime]
    note: Callable[..., Memory]
    reader: Callable[..., Reader]
    is_guests: Callable[[str], bool]
    keep_local: Callable[[str, str], object]
    options: CommandOptions
    language: str

    def __post_init__(self) -> None:
        self._language, self._tokenize = language_of(self.language), Tokenizer(self.language)

    def execute(self, command: Command, context: CommandContext) -> Outcome:
        """Execute a command, except off and on the record, which the conversation does.

        Raises:
            StoreError: The disk is full, or the store is closed; nothing is changed.
        """
        if self.is_guests(context.scope):  # nothing is read or written for them
            return self._outcome(command, "guest", done=False)
        self.store.flush(self.options.wait_s)  # earlier turns must be readable
        carry_out: Callable[[Command, CommandContext], Outcome] = getattr(self, f"_{command.kind}")
        return carry_out(command, context)

    def _reader(self, context: CommandContext) -> Reader:
        """Return who hears an answer: the speaker, and the LLM, whose context it enters."""
        scopes = filter(None, (context.scope, context.shared))
        reader = self.reader(*scopes, local=context.llm == "local")
        return reader if context.scope in reader.scopes else Reader()

    def _outcome(
        self,
        command: Command,
        reply: str,
        *,
        done: bool = True,
        entry: CommandEntry | None = None,
        **filled: str,
    ) -> Outcome:
        text = say(self._language, reply, **filled)
        id_ = entry.id if entry else 0
        return Outcome(kind=command.kind, said=text, done=done, entry=id_)

    # ---------------------------------------------------------------- remember, correct

    def _remember(self, command: Command, context: CommandContext) -> Outcome:
        scope = context.shared if command.shared and context.shared else context.scope
        note = self._note(command.argument, scope, context)
        entry = self.undo_log.add_memory("remember", note, context.turn)
        name = "remembered"
        if command.shared:
            name = "remembered_shared" if context.shared else "remembered_alone"
        return self._outcome(command, name, entry=entry, text=quote(command.argument, 60))

    def _note(
        self, text: str, scope: str, context: CommandContext, sources: Sequence[int] = ()
    ) -> Memory:
        sources = (*sources, context.turn)
        return self.note(text, scope, speaker=context.speaker, sources=sources)

    def _correct(self, command: Command, context: CommandContext) -> Outcome:
        """Retire the wrong memory, and the agent's answer, which would be recalled too.

        What the agent said by itself is in no memory: nothing is changed, and the answer says so.
        """
        right = command.argument
        with self.store.snapshot() as snapshot:
            exchange = last_exchange(snapshot, context.scope, context.session, context.turn)
            old = self._corrected(snapshot, right, context, exchange)
        if old == "own" or old == "unclear":
            reply = "not_mine" if old == "own" else "correct_what"
            return self._outcome(command, reply, done=False)
        if old == "new":
            note = self._note(right, context.scope, context)
            entry = self.undo_log.add_memory("correct", note, context.turn)
            return self._outcome(command, "nothing_to_correct", entry=entry, text=quote(right, 60))
        return self._replace(command, context, old, exchange)

    def _corrected(
        self, snapshot: Snapshot, right: str, context: CommandContext, exchange: Sequence[Turn]
    ) -> Disclosed | Verdict:
        """Return the memory that a correction is for, or why it is for none.

        It may be one that was put before the LLM for the last answer, that was read aloud by the
        last command, or the user's last statement.
        """
        dialogue, candidates = _read_aloud(snapshot, context) or (None, [])
        if dialogue is None:
            asked, answer = question(exchange), answer_of(exchange)
            if asked is None:
                return "own" if answer else "new"
            said = None if asking(asked.text) else snapshot.read(context.scope, chunk_id(asked.id))
            every = filter(None, (*offered(snapshot, asked.id), said))
            candidates = [m for m in every if not m.retired_at and m.scope == context.scope]
            dialogue = Said(asked.text, answer, is_statement=said in candidates)
        reader = self._reader(context)
        shown = [seen for m in candidates if (seen := disclose(m, reader))]
        texts = [memory.text for memory in shown]
        verdict = find_corrected(right, dialogue, texts, self._language, self._tokenize)
        return shown[verdict] if isinstance(verdict, int) else verdict

    def _replace(
        self, command: Command, context: CommandContext, old: Disclosed, exchange: list[Turn]
    ) -> Outcome:
        right, wrong = command.argument, quote(old.text, 60)
        answers = [chunk_id(turn.id) for turn in exchange if turn.role == "assistant"]
        was, new = replaced_value(
            right, answer_of(exchange), old.text, self._language, self._tokenize
        ) or ("", "")
        if was and was in old.text:  # "the plumber comes on Friday"
            corrected = old.text.replace(was, new, 1)
        else:
            corrected = say(self._language, "about", old=wrong, text=right)
        # It quotes the sources: forgetting them must forget it.
        note = self._note(corrected, context.scope, context, old.sources)
        facets = {**note.facets, RIGHT: right}
        note = replace(note, derived_from=((old.scope, old.id),), facets=facets)
        entry = self.undo_log.add_memory("correct", note, context.turn, [*answers, old.id])
        if was in ("", old.text):
            return self._outcome(
                command, "corrected", entry=entry, old=wrong, text=quote(right, 60)
            )
        return self._outcome(
            command, "changed", entry=entry, was=quote(was), new=quote(new), old=wrong
        )

    # ---------------------------------------------------------------- forget

    def _forget_everything(self, command: Command, context: CommandContext) -> Outcome:
        """Refuse: that much is not deleted by a sentence that may have been misheard."""
        return self._outcome(command, "everything", done=False)

    def _forget_that(self, command: Command, context: CommandContext) -> Outcome:
        with self.store.snapshot() as snapshot:
            scope, memories, turns = self._that(snapshot, context)
            other_turns, theirs = left_with_others(snapshot, turns, self.is_guests)
            turns = tuple(dict.fromkeys((*turns, *other_turns)))
            done = (e for e in snapshot.commands(n=LATEST) if e.state == "done" and e.due)
            before = next((entry for entry in done if turns and {*turns} <= {*entry.turns}), None)
        if not turns:
            return self._outcome(command, "nothing_to_forget", done=False)
        if before is not None:  # a repeated command means the same exchange
            return self._gone(command, "forgotten", before)
        what = memories, turns, context.turn, self.options.undo_s, theirs
        entry = self.undo_log.hide("forget_that", scope, *what)
        return self._gone(command, "forgotten", entry)

    def _that(
        self, snapshot: Snapshot, context: CommandContext
    ) -> tuple[str, list[str], tuple[int, ...]]:
        """Return the last exchange (or command that made something), and what was made from it."""
        makers = {
            entry.turn: entry
            for entry in snapshot.commands(n=LATEST)
            if entry.made and entry.state == "done" and entry.turn
        }
        exchange = last_exchange(snapshot, context.scope, context.session, context.turn, makers)
        turns = tuple(turn.id for turn in exchange)
        command = next((makers[turn] for turn in turns if turn in makers), None)
        if command is not None:
            return command.scope, list(command.made), turns
        return context.scope, made_from(snapshot, context.scope, exchange), turns

    def _forget_about(self, command: Command, context: CommandContext) -> Outcome:
        return self._ask(command, context, *self._mentioning(command, context))

    def _mentioning(self, command: Command, context: CommandContext) -> tuple[list[str], list[int]]:
        """Return the memories and turns that mention a command's topic."""
        about = mentions(command.argument, self._tokenize)
        with self.store.snapshot() as snapshot:
            return mentioning(snapshot, context.scope, about, context.turn)

    def _forget_span(self, command: Command, context: CommandContext) -> Outcome:
        words = command.argument
        asked = times(words, self.clock(), self.zone, self._language.name)
        if not asked:
            return self._outcome(command, "which_time", done=False, span=quote(words))
        with self.store.snapshot() as snapshot:
            what = said_during(snapshot, context.scope, asked, context.turn)
        return self._ask(command, context, *what)

    def _ask(
        self, command: Command, context: CommandContext, memories: list[str], turns: list[int]
    ) -> Outcome:
        """Ask whether memories and turns are to be forgotten; nothing is hidden before a yes."""
        words, is_span = quote(command.argument), command.kind == "forget_span"
        if not memories:
            reply = "nothing_from" if is_span else "nothing_about"
            return self._outcome(command, reply, done=False, span=words, about=words)
        what = memories, turns, context.turn, None
        entry = self.undo_log.hide("forget_about", context.scope, *what)
        many = counted(self._language, len(memories), "thing")
        reply = "ask_forget_span" if is_span else "ask_forget"
        return self._outcome(command, reply, entry=entry, things=many, about=words)

    def _yes(self, command: Command, context: CommandContext) -> Outcome:
        with self.store.snapshot() as snapshot:
            entry = {e.id: e for e in snapshot.commands(context.scope)}.get(context.asked)
        if entry is None or entry.state != "asked":
            return self._outcome(command, "nothing_to_undo", done=False)
        if command.kind == "no":
            self.undo_log.undo(entry)
            return self._outcome(command, "kept")
        entry = self.undo_log.confirm(entry, self.options.undo_s)
        return self._gone(command, "forgotten_many", entry)

    _no = _yes

    def _gone(self, command: Command, name: str, entry: CommandEntry) -> Outcome:
        outcome = self._outcome(
            command,
            name,
            entry=entry,
            minutes=counted(self._language, max(1, int(self.options.undo_s // 60)), "minute"),
            things=counted(self._language, len(entry.hidden), "thing"),
        )
        hidden = (id_ for _, id_ in entry.all_hidden)
        return replace(outcome, turns=entry.turns, memories=(*hidden, *entry.made))

    # ---------------------------------------------------------------- undo

    def _undo(self, command: Command, context: CommandContext) -> Outcome:
        with self.store.snapshot() as snapshot:
            entry = self._latest(snapshot, context)
        if entry is None:
            return self._outcome(command, "nothing_to_undo", done=False)
        undone = self.undo_log.undo(entry)
        if undone is None:
            return self._outcome(command, "too_late", done=False)
        if entry.state == "asked":
            return self._outcome(command, "kept")
        return self._outcome(
            command, "brought_back" if undone.all_hidden else "undone", entry=undone
        )

    def _latest(self, snapshot: Snapshot, context: CommandContext) -> CommandEntry | None:
        for entry in snapshot.commands(n=LATEST):
            turn = snapshot.turn(entry.turn) if entry.turn else None
            own = turn.scope == context.scope if turn else entry.scope == context.scope
            if own and entry.state != "undone" and entry.kind in UNDOABLE:
                return entry
        return None

    # ---------------------------------------------------------------- answers

    def _what_known(self, command: Command, context: CommandContext) -> Outcome:
        """Read out the facts; the user's own statements only while no fact was drawn from them.

        Of a topic, the facts that mention it; where there are none, the LLM answers.
        """
        reader, most = self._reader(context), self.options.tell
        language, scope, topic = self._language, context.scope, command.argument
        statements: list[Disclosed] = []
        with self.store.snapshot() as snapshot:
            facts = known_facts(snapshot, scope, reader, self.clock())
            if not facts and not topic:
                statements = own_statements(snapshot, scope, language.commands.own, reader)
        if topic:
            about = mentions(topic, self._tokenize)
            facts = [memory for memory in facts if about(memory.text)]
            if not facts:
                return Outcome(kind=command.kind, said="", rest=topic, done=False)
            text = describe_topic(language, topic, facts, most)
        elif statements:
            text = describe_statements(language, statements, most)
        else:
            text = describe_known(language, facts, most)
        return Outcome(kind=command.kind, said=text)

    def _why(self, command: Command, context: CommandContext) -> Outcome:
        reader = self._reader(context)
        with self.store.snapshot() as snapshot:
            exchange = last_exchange(snapshot, context.scope, context.session, context.turn)
            asked = question(exchange)
            told = [
                shown
                for memory in (offered(snapshot, asked.id) if asked else ())
                if memory.id not in waiting_to_be_erased(snapshot, memory.scope)
                and (shown := disclose(memory, reader))
            ]
        now, zone = self.clock(), self.zone
        text = describe_sources(self._language, told, self.options.tell, now, zone)
        return Outcome(kind=command.kind, said=text)

    def _who_sees(self, command: Command, context: CommandContext) -> Outcome:
        llm = say(self._language, f"who_{context.llm}")
        return self._outcome(command, "who", scope=context.scope, llm=llm)

    # ---------------------------------------------------------------- local

    def _local(self, command: Command, context: CommandContext) -> Outcome:
        """Keep what mentions a topic, or the last exchange, on this machine."""
        keep = self.keep_local
        memories, turns = self._mentioning(command, context) if command.argument else ([], [])
        if memories:
            for memory in memories:
                keep(context.scope, memory)
            things, about = counted(self._language, len(memories), "thing"), quote(command.argument)
            outcome = self._outcome(command, "local_about", things=things, about=about)
        else:
            with self.store.snapshot() as snapshot:
                scope, memories, own = self._that(snapshot, context)
                exchange = [t for id_ in own if (t := snapshot.turn(id_)) and not t.aside]
                other_turns, theirs = left_with_others(snapshot, own, self.is_guests)
            # What was made from the turns follows them; what a command made is marked itself.
            for memory in [chunk_id(turn.id) for turn in exchange] or memories:
                keep(scope, memory)
            for other, memory in theirs:
                keep(other, memory)
            turns = [*own, *other_turns]
            outcome = self._outcome(command, "local" if own else "local_nothing", done=bool(own))
        if context.llm == "local":
            return outcome
        # An LLM elsewhere no longer sees them.
        return replace(outcome, turns=tuple(turns), memories=tuple(memories))


# ------------------------------------------------------------------- what a command refers to


RIGHT = "right"  # facet of the note of a correction: the user's words, without what is wrong

NEAR = 64  # log positions behind a turn where its other parts and copies are
LATELY = 2000  # log positions searched for a user's own statements
STATEMENT = range(4, 31)  # words of a turn worth reading out


def question(exchange: Sequence[Turn]) -> Turn | None:
    """Return the user's last turn of an exchange; None when the agent spoke first."""
    return next((turn for turn in reversed(exchange) if turn.role == "user"), None)


def made_from(snapshot: Snapshot, scope: str, turns: Sequence[Turn]) -> list[str]:
    """Return the ids of turns' memories: their chunks, and what was derived from them."""
    ids = {turn.id for turn in turns}
    chunks = [chunk_id(turn.id) for turn in turns if not turn.aside]
    derived = [m.id for m in snapshot.memories(scope) if ids.intersection(m.sources)]
    return list(dict.fromkeys((*chunks, *derived)))


def left_with_others(
    snapshot: Snapshot, exchange: Sequence[int], is_guests: Callable[[str], bool]
) -> tuple[list[int], list[tuple[str, str]]]:
    """Find what an exchange left in the namespaces of its other speakers.

    It was logged together, so only the neighbours in the log are read.

    Args:
        exchange: Log ids of the turns, in one namespace.
        is_guests: Whether a scope is that of guests, whose words are turns alone.

    Returns:
        Log ids of the others' words and of the copies of the reply; (scope, id) of these turns'
        chunks, and of what was made from them.
    """
    known = [turn for id_ in exchange if (turn := snapshot.turn(id_))]
    wholes = {turn.part_of or turn.id for turn in known}
    if not known:
        return [], []
    near = snapshot.turns(after=min(wholes) - 1, upto=max(exchange) + NEAR)
    turns = [t for t in near if (t.part_of or t.id) in wholes and t.scope != known[0].scope]
    memories = [
        (scope, id_)
        for scope in dict.fromkeys(turn.scope for turn in turns if not is_guests(turn.scope))
        for id_ in made_from(snapshot, scope, [turn for turn in turns if turn.scope == scope])
    ]
    return [turn.id for turn in turns], memories


def mentioning(
    snapshot: Snapshot, scope: str, about: Callable[[str], bool], command: int = 0
) -> tuple[list[str], list[int]]:
    """Return everything that mentions a subject. Reads the whole log of the namespace.

    Args:
        command: Log id of the command's turn, which is excluded; 0 for none.

    Returns:
        Ids of memories that recall may find, and log ids of turns, earlier commands included.
    """
    derived = list(snapshot.memories(scope))
    retired = {memory.id for memory in derived if memory.retired_at}
    turns = [t for t in snapshot.turns(scope) if t.id != command and about(t.text)]
    ids = [chunk_id(turn.id) for turn in turns if not turn.aside]
    ids += [m.id for m in derived if about(m.text) or about(m.context)]
    return [id_ for id_ in dict.fromkeys(ids) if id_ not in retired], [t.id for t in turns]


def said_during(
    snapshot: Snapshot, scope: str, when: Sequence[Interval], command: int
) -> tuple[list[str], list[int]]:
    """Return what was said within any of several times, and what was made from it.

    Arguments and result as in ``mentioning``. Times that overlap narrow each other: "today between
    two and three".
    """
    start, end = when[0].start, when[0].end
    for interval in when[1:]:
        if interval.start < end and start < interval.end:
            start, end = max(start, interval.start), min(end, interval.end)
    turns = [t for t in snapshot.turns(scope) if t.id != command and start <= t.at < end]
    retired = {memory.id for memory in snapshot.memories(scope) if memory.retired_at}
    ids = made_from(snapshot, scope, turns)
    return [id_ for id_ in ids if id_ not in retired], [turn.id for turn in turns]


def why(snapshot: Snapshot, turn: int) -> tuple[LedgerEntry, dict[str, Memory]] | None:
    """Return the ledger row of a user's turn, and its memories that still exist, by id."""
    entry = snapshot.ledger(turn)
    if entry is None:
        return None
    elsewhere = {offer.memory: offer.scope for offer in entry.offers if offer.scope}
    read = ((id_, snapshot.read(elsewhere.get(id_, entry.scope), id_)) for id_ in entry.memories)
    return entry, {id_: memory for id_, memory in read if memory}


def offered(snapshot: Snapshot, turn: int) -> list[Memory]:
    """Return the memories that were put before the LLM for a user's turn, and still exist."""
    entry, known = why(snapshot, turn) or (None, {})
    return [known[row.memory] for row in (entry.offers if entry else ()) if row.memory in known]


def answer_of(exchange: Sequence[Turn]) -> str:
    """Return the agent's words in an exchange."""
    return " ".join(turn.text for turn in exchange if turn.role == "assistant")


def _read_aloud(snapshot: Snapshot, context: CommandContext) -> tuple[Said, list[Memory]] | None:
    """Return a command's answer just before, and the memories that it quotes; None without."""
    answer = snapshot.turn(snapshot.turn_before(context.scope, context.session, context.turn))
    if answer is None or not answer.aside or answer.role != "assistant":
        return None
    spoken = fingerprint(answer.text)
    after = max(0, snapshot.last_id() - LATELY)
    chunks = (chunk(t) for t in snapshot.turns(context.scope, after=after) if not t.aside)
    every = [*snapshot.memories(context.scope), *chunks]
    current = {memory.id: memory for memory in reversed(every) if not memory.retired_at}
    quoted = [m for m in current.values() if (q := fingerprint(quote(m.text))) and q in spoken]
    return (Said("", answer.text), quoted) if quoted else None


def known_facts(snapshot: Snapshot, scope: str, reader: Reader, now: datetime) -> list[Disclosed]:
    """Return the facts, notes and pinned memories of a user that hold, and that a reader may see.

    Pinned ones first, then the most important; of equal importance the newest. Uncertain ones are
    left out, and of two with the same words the latter.
    """
    shown = (disclose(memory, reader) for memory in snapshot.memories(scope))
    memories = map(_as_right, filter(None, shown))
    known = [m for m in memories if is_listed(m) and held_at(m, now) and not is_uncertain(m)]
    first: dict[str, Disclosed] = {}
    for memory in sorted(known, key=_order):
        first.setdefault(fingerprint(memory.text), memory)
    return list(first.values())


def own_statements(snapshot: Snapshot, scope: str, own: str, reader: Reader) -> list[Disclosed]:
    """Return a user's recent statements about themselves, the latest first.

    ``own`` is the pattern of words by which users refer to themselves. Nothing that ``reader`` must
    not see: the answer enters the LLM's context.
    """
    refers = re.compile(rf"\b(?:{own})\b", re.IGNORECASE)
    after = max(0, snapshot.last_id() - LATELY)
    turns = [
        turn
        for turn in snapshot.turns(scope, after=after)
        if turn.role == "user" and not turn.aside and _is_statement(turn.text, refers)
    ]
    chunks = (snapshot.memory(scope, chunk_id(turn.id)) or chunk(turn) for turn in reversed(turns))
    statements = (disclose(memory, reader) for memory in chunks if not memory.retired_at)
    return [memory for memory in statements if memory]


def _as_right(memory: Disclosed) -> Disclosed:
    """Return the note of a correction with what is right alone: it quotes what is wrong."""
    right = memory.facets.get(RIGHT, "")
    return replace(memory, text=right) if right else memory


IMPORTANCE_STEPS = 5  # between 0 and 1; within a step the newest comes first


def _order(memory: Memory) -> tuple[bool, int, float]:
    step = int(memory.importance * IMPORTANCE_STEPS)
    return not memory.pinned, -step, -memory.valid_from.timestamp()


def _is_statement(text: str, refers: re.Pattern[str]) -> bool:
    return len(text.split()) in STATEMENT and "?" not in text and bool(refers.search(text))
