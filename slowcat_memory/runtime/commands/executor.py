"""Carrying out what a person orders the memory to do, and what is answered.

Everything here blocks on the store; the processor runs it beside the event loop. Each order ends in
one sentence that can be read aloud, true at the moment at which it is said: what it confirms is
durable by then.
"""

from collections.abc import Callable

from slowcat_memory.core.commands.grammar import Command
from slowcat_memory.core.commands.mentions import mentions
from slowcat_memory.core.commands.replies import (
    count_things,
    describe_known,
    describe_sources,
    minutes,
    quote,
    say,
)
from slowcat_memory.core.language import LANGUAGES, CommandKind, language_of
from slowcat_memory.core.text.normalize import Tokenizer
from slowcat_memory.records import CommandEntry, Memory
from slowcat_memory.runtime.commands import targets
from slowcat_memory.runtime.commands.types import (
    ASKED_S,
    Circumstances,
    CommandOptions,
    KeepLocal,
    Outcome,
    Remembers,
)
from slowcat_memory.runtime.commands.undo_log import UNDOABLE, last_exchange
from slowcat_memory.store import Snapshot

EVERYTHING = frozenset[str]().union(*(one.commands.everything for one in LANGUAGES))
LATEST = 50  # orders that are looked at for the one to undo


class Commands:
    """Carries orders out. Safe to use from several threads; blocks."""

    def __init__(
        self,
        engine: Remembers,
        options: CommandOptions,
        language: str,
        keep_local: KeepLocal | None = None,
    ) -> None:
        """Choose the memory and the language.

        Args:
            engine: The memory.
            options: The options.
            language: Of the answers, by its Snowball name.
            keep_local: Marks a memory as local-only; None where nothing does.
        """
        self._engine, self._options, self._known = engine, options, language_of(language)
        self._tokenize = Tokenizer(self._known.name)
        self._keep_local = keep_local
        self._ways: dict[CommandKind, Callable[[Command, Circumstances], Outcome]] = {
            "remember": self._remember,
            "forget_that": self._forget_that,
            "forget_about": self._forget_about,
            "yes": self._answer,
            "no": self._answer,
            "correct": self._correct,
            "undo": self._undo,
            "what_known": self._what_known,
            "why": self._why,
            "who_sees": self._who_sees,
            "local": self._local,
        }

    def carry_out(self, command: Command, where: Circumstances) -> Outcome:
        """Carry an order out.

        Args:
            command: The order.
            where: Who orders.

        Returns:
            What the agent is to say.

        Raises:
            StoreError: The disk is full, or the store is closed; nothing is changed.
        """
        way = self._ways.get(command.kind)
        if way is None:  # going off the record and back is the conversation's own state
            name = "off" if command.kind == "off_record" else "on"
            return self._said(command, name, rest=command.rest)
        self._engine.store.flush(self._options.wait_s)  # what was said before must be readable
        return way(command, where)

    def asked(self, scope: str) -> bool:
        """Tell whether the memory waits for a "yes".

        Args:
            scope: The person's namespace.
        """
        with self._engine.store.snapshot() as snapshot:
            return self._pending(snapshot, scope) is not None

    def _said(
        self, command: Command, name: str, *, done: bool = True, rest: str = "", **what: str
    ) -> Outcome:
        return Outcome(kind=command.kind, said=say(self._known, name, **what), done=done, rest=rest)

    # ---------------------------------------------------------------- remember, correct

    def _remember(self, command: Command, where: Circumstances) -> Outcome:
        scope = where.shared if command.shared and where.shared else where.scope
        note = self._engine.note(
            command.argument, scope, speaker=where.speaker, sources=(where.turn,)
        )
        entry = self._engine.hiding.keep("remember", note, where.turn)
        name = "remembered"
        if command.shared:
            name = "remembered_shared" if where.shared else "remembered_alone"
        return self._kept(command, name, entry)

    def _correct(self, command: Command, where: Circumstances) -> Outcome:
        """Retire what is wrong, and what the agent said of it, which would be recalled as well."""
        with self._engine.store.snapshot() as snapshot:
            old = targets.meant(snapshot, self._engine.why, where, command.argument, self._tokenize)
            said = last_exchange(snapshot, where.scope, where.session, where.turn)
        name, text = "nothing_to_correct", command.argument
        sources: tuple[int, ...] = (where.turn,)
        wrong = [targets.chunk_of(turn) for turn in said if turn.role == "assistant"]
        if old is not None:
            name, text = "corrected", say(self._known, "about", old=quote(old.text, 60), text=text)
            sources = (*old.sources, where.turn)  # it quotes them: who forgets them forgets it
            wrong.append(old.id)
        note = self._engine.note(text, where.scope, speaker=where.speaker, sources=sources)
        entry = self._engine.hiding.keep("correct", note, where.turn, wrong)
        return self._kept(command, name, entry)

    def _kept(self, command: Command, name: str, entry: CommandEntry) -> Outcome:
        said = say(self._known, name, text=quote(command.argument, 60))
        return Outcome(kind=command.kind, said=said, entry=entry.id)

    # ---------------------------------------------------------------- forget

    def _forget_that(self, command: Command, where: Circumstances) -> Outcome:
        with self._engine.store.snapshot() as snapshot:
            scope, memories, turns = self._that(snapshot, where)
            before = _forgotten_before(snapshot, turns)
        if not turns:
            return self._said(command, "nothing_to_forget", done=False)
        if before is not None:  # said twice, it means the same
            return self._gone(command, "forgotten", before)
        entry = self._engine.hiding.hide(
            "forget_that", scope, memories, turns, where.turn, self._options.undo_s
        )
        return self._gone(command, "forgotten", entry)

    def _that(
        self, snapshot: Snapshot, where: Circumstances
    ) -> tuple[str, list[str], tuple[int, ...]]:
        """Find the last exchange, and what was made from it; an order that made something is one."""
        made = {
            entry.turn: entry
            for entry in snapshot.commands(n=LATEST)
            if entry.made and entry.state == "done" and entry.turn
        }
        said = last_exchange(snapshot, where.scope, where.session, where.turn, made)
        turns = tuple(turn.id for turn in said)
        order = next((made[turn] for turn in turns if turn in made), None)
        if order is not None:
            return order.scope, list(order.made), turns
        return where.scope, targets.made_from(snapshot, where.scope, said), turns

    def _forget_about(self, command: Command, where: Circumstances) -> Outcome:
        about = command.argument
        if about.lower() in EVERYTHING:
            return self._said(command, "everything", done=False)
        with self._engine.store.snapshot() as snapshot:
            memories, turns = targets.told_of(
                snapshot, where.scope, mentions(about, self._tokenize), where.turn
            )
        if not memories:
            return self._said(command, "nothing_about", done=False, about=quote(about))
        entry = self._engine.hiding.ask("forget_about", where.scope, memories, turns, where.turn)
        many = count_things(self._known, len(memories))
        said = say(self._known, "ask_forget", things=many, about=quote(about))
        return Outcome(kind=command.kind, said=said, entry=entry.id)

    def _answer(self, command: Command, where: Circumstances) -> Outcome:
        with self._engine.store.snapshot() as snapshot:
            entry = self._pending(snapshot, where.scope)
        if entry is None:
            return self._said(command, "nothing_to_undo", done=False)
        yes = command.kind == "yes"
        entry = self._engine.hiding.answer(entry, yes, self._options.undo_s)
        return self._gone(command, "forgotten_many", entry) if yes else self._said(command, "kept")

    def _pending(self, snapshot: Snapshot, scope: str) -> CommandEntry | None:
        """Find the question that waits: the latest order, if it is one, and was asked just now."""
        latest = next(iter(snapshot.commands(scope, 1)), None)
        if latest is None or latest.state != "asked":
            return None
        waited = (self._engine.clock() - latest.at).total_seconds()
        return latest if waited <= ASKED_S else None

    def _gone(self, command: Command, name: str, entry: CommandEntry) -> Outcome:
        said = say(
            self._known,
            name,
            minutes=minutes(self._known, self._options.undo_s),
            things=count_things(self._known, len(entry.hidden)),
        )
        return Outcome(
            kind=command.kind,
            said=said,
            entry=entry.id,
            turns=entry.turns,
            memories=(*entry.hidden, *entry.made),
        )

    # ---------------------------------------------------------------- undo

    def _undo(self, command: Command, where: Circumstances) -> Outcome:
        with self._engine.store.snapshot() as snapshot:
            entry = self._latest(snapshot, where)
        if entry is None:
            return self._said(command, "nothing_to_undo", done=False)
        if entry.state == "asked":
            self._engine.hiding.answer(entry, False, self._options.undo_s)
            return self._said(command, "kept")
        undone = self._engine.hiding.undo(entry)
        if undone is None:
            return self._said(command, "too_late", done=False)
        said = say(self._known, "brought_back" if undone.hidden else "undone")
        return Outcome(kind=command.kind, said=said, entry=undone.id)

    def _latest(self, snapshot: Snapshot, where: Circumstances) -> CommandEntry | None:
        """Find the person's latest order that is not undone yet."""
        for entry in snapshot.commands(n=LATEST):
            turn = snapshot.turn(entry.turn) if entry.turn else None
            own = turn.scope == where.scope if turn else entry.scope == where.scope
            if own and entry.state != "undone" and entry.kind in UNDOABLE:
                return entry
        return None

    # ---------------------------------------------------------------- tell

    def _what_known(self, command: Command, where: Circumstances) -> Outcome:
        with self._engine.store.snapshot() as snapshot:
            found = targets.known_of(snapshot, where.scope, self._known.commands.own)
        said = describe_known(self._known, found, self._options.tell, len(found))
        return Outcome(kind=command.kind, said=said)

    def _why(self, command: Command, where: Circumstances) -> Outcome:
        with self._engine.store.snapshot() as snapshot:
            said = last_exchange(snapshot, where.scope, where.session, where.turn)
            hidden = {
                (entry.scope, id_)
                for entry in snapshot.commands(n=LATEST)
                if entry.state == "done" and entry.due is not None
                for id_ in entry.hidden
            }
        asked = targets.question(said)
        found = self._engine.why(asked.id) if asked else None
        offered: list[Memory] = []
        if found:
            present = (found[1].get(offer.memory) for offer in found[0].offers)
            offered = [m for m in present if m and (m.scope, m.id) not in hidden]
        now, zone = self._engine.clock(), self._engine.zone
        text = describe_sources(self._known, offered, self._options.tell, now, zone)
        return Outcome(kind=command.kind, said=text)

    def _who_sees(self, command: Command, where: Circumstances) -> Outcome:
        return self._said(
            command, "who", scope=where.scope, llm=say(self._known, f"who_{where.llm}")
        )

    # ---------------------------------------------------------------- local

    def _local(self, command: Command, where: Circumstances) -> Outcome:
        if self._keep_local is None:
            return self._said(command, "failed", done=False)
        with self._engine.store.snapshot() as snapshot:
            scope, memories, turns = self._that(snapshot, where)
            said = [t for id_ in turns if (t := snapshot.turn(id_)) and not t.aside]
        for memory in memories or [targets.chunk_of(turn) for turn in said]:
            self._keep_local(scope, memory)
        return self._said(command, "local" if turns else "local_nothing", done=bool(turns))


def _forgotten_before(snapshot: Snapshot, turns: tuple[int, ...]) -> CommandEntry | None:
    """Find the order that hid some turns already."""
    for entry in snapshot.commands(n=LATEST):
        if turns and entry.state == "done" and entry.due and set(turns) <= set(entry.turns):
            return entry
    return None
