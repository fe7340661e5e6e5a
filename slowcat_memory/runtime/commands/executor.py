"""Executes voice commands, and words the answers.

All functions block on the store; the processor runs them beside the event loop. Each command
returns one sentence to be read aloud; what it confirms is already durable.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, tzinfo

from msgspec.structs import replace

from slowcat_memory.core.commands.corrections import mentions, replaced_value
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
from slowcat_memory.core.disclosure import Reader, disclose_found
from slowcat_memory.core.language import language_of
from slowcat_memory.core.memory import chunk_id
from slowcat_memory.core.text.normalize import Tokenizer
from slowcat_memory.core.time.expressions import times
from slowcat_memory.records import CommandEntry, Disclosed, Memory, Turn
from slowcat_memory.runtime.commands import targets
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
        reader: Returns who is answered: see ``audience.reader_of``.
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
            old = targets.corrected(
                snapshot, context, right, self._language, self._tokenize, self._reader(context)
            )
            exchange = last_exchange(snapshot, context.scope, context.session, context.turn)
        if old == "own" or old == "unclear":
            reply = "not_mine" if old == "own" else "correct_what"
            return self._outcome(command, reply, done=False)
        if old == "new":
            note = self._note(right, context.scope, context)
            entry = self.undo_log.add_memory("correct", note, context.turn)
            return self._outcome(command, "nothing_to_correct", entry=entry, text=quote(right, 60))
        return self._replace(command, context, old, exchange)

    def _replace(
        self, command: Command, context: CommandContext, old: Disclosed, exchange: list[Turn]
    ) -> Outcome:
        right, wrong = command.argument, quote(old.text, 60)
        answers = [chunk_id(turn.id) for turn in exchange if turn.role == "assistant"]
        was, new = replaced_value(
            right, targets.answer_of(exchange), old.text, self._language, self._tokenize
        ) or ("", "")
        if was and was in old.text:  # "the plumber comes on Friday"
            corrected = old.text.replace(was, new, 1)
        else:
            corrected = say(self._language, "about", old=wrong, text=right)
        # It quotes the sources: forgetting them must forget it.
        note = self._note(corrected, context.scope, context, old.sources)
        facets = {**note.facets, targets.RIGHT: right}
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
            other_turns, others = targets.others(snapshot, turns, self.is_guests)
            turns = tuple(dict.fromkeys((*turns, *other_turns)))
            done = (e for e in snapshot.commands(n=LATEST) if e.state == "done" and e.due)
            before = next((entry for entry in done if turns and {*turns} <= {*entry.turns}), None)
        if not turns:
            return self._outcome(command, "nothing_to_forget", done=False)
        if before is not None:  # a repeated command means the same exchange
            return self._gone(command, "forgotten", before)
        what = memories, turns, context.turn, self.options.undo_s, others
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
        return context.scope, targets.made_from(snapshot, context.scope, exchange), turns

    def _forget_about(self, command: Command, context: CommandContext) -> Outcome:
        about, (memories, turns) = quote(command.argument), self._mentioning(command, context)
        if not memories:
            return self._outcome(command, "nothing_about", done=False, about=about)
        return self._ask(command, context, (memories, turns), "ask_forget", about)

    def _mentioning(self, command: Command, context: CommandContext) -> tuple[list[str], list[int]]:
        """Return the memories and turns that mention a command's topic; see ``targets``."""
        about = mentions(command.argument, self._tokenize)
        with self.store.snapshot() as snapshot:
            return targets.mentioning(snapshot, context.scope, about, context.turn)

    def _forget_span(self, command: Command, context: CommandContext) -> Outcome:
        now, words = self.clock(), command.argument
        asked = times(words, now, self.zone, self._language.name)
        if not asked:
            return self._outcome(command, "which_time", done=False, span=quote(words))
        with self.store.snapshot() as snapshot:
            memories, turns = targets.said_during(snapshot, context.scope, asked, context.turn)
        if not memories:
            return self._outcome(command, "nothing_from", done=False, span=quote(words))
        return self._ask(command, context, (memories, turns), "ask_forget_span", quote(words))

    def _ask(
        self,
        command: Command,
        context: CommandContext,
        what: tuple[list[str], list[int]],
        reply: str,
        words: str,
    ) -> Outcome:
        """Ask whether memories and turns are to be forgotten; nothing is hidden before a yes."""
        entry = self.undo_log.hide("forget_about", context.scope, *what, context.turn, None)
        many = counted(self._language, len(what[0]), "thing")
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
            facts = targets.known_facts(snapshot, scope, reader, self.clock())
            if not facts and not topic:
                statements = targets.own_statements(snapshot, scope, language.commands.own, reader)
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
            asked = targets.question(exchange)
            offered = [
                shown
                for memory in (targets.offered(snapshot, asked.id) if asked else ())
                if memory.id not in waiting_to_be_erased(snapshot, memory.scope)
                and (shown := disclose_found(memory, reader, snapshot.memory))
            ]
        now, zone = self.clock(), self.zone
        text = describe_sources(self._language, offered, self.options.tell, now, zone)
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
                other_turns, others = targets.others(snapshot, own, self.is_guests)
            # What was made from the turns follows them; what a command made is marked itself.
            for memory in [chunk_id(turn.id) for turn in exchange] or memories:
                keep(scope, memory)
            for other, memory in others:
                keep(other, memory)
            turns = [*own, *other_turns]
            outcome = self._outcome(command, "local" if own else "local_nothing", done=bool(own))
        if context.llm == "local":
            return outcome
        # An LLM elsewhere no longer sees them.
        return replace(outcome, turns=tuple(turns), memories=tuple(memories))
