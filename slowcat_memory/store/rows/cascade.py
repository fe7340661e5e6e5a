"""What goes along with what is forgotten: contexts, keys, idle work, and the log of it.

A context and a key quote the turns that they were made from, so one forgotten source takes them,
though their memory stays; its vectors, made with that context, go then too.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from slowcat_memory.records import Context, Forget, Key, Run, Task
from slowcat_memory.store.disk import keys
from slowcat_memory.store.disk.transaction import Transaction
from slowcat_memory.store.rows.subjects import drop_vectors

Subject = tuple[str, str]  # scope, id
SUBJECTS = ("memories", "contexts", "keys")  # tables whose rows have vectors


@dataclass(slots=True)
class Along:
    """The rows that go along.

    Attributes:
        contexts: (scope, memory id).
        keys: (scope, key id).
        tasks: Ids.
        runs: Numbers.
    """

    contexts: set[Subject] = field(default_factory=set)
    keys: set[Subject] = field(default_factory=set)
    tasks: set[str] = field(default_factory=set)
    runs: set[int] = field(default_factory=set)

    def __bool__(self) -> bool:
        """Tell whether there is any."""
        return bool(self.contexts or self.keys or self.tasks or self.runs)

    def scopes(self) -> set[str]:
        """Return the namespaces whose indexes hold any of it."""
        return {scope for scope, _ in self.contexts | self.keys}


@dataclass(frozen=True, slots=True)
class Gone:
    """What is forgotten.

    Attributes:
        turns: Log ids.
        memories: (scope, id), chunks included.
        sessions: Ids of sessions of which nothing is left.
    """

    turns: frozenset[int]
    memories: frozenset[Subject]
    sessions: frozenset[str]

    def takes(self, record: Context | Key) -> bool:
        """Tell whether a context or a key goes.

        Args:
            record: The record.

        Returns:
            True when its memory goes, or a turn that it was made from.
        """
        memory = record.scope, record.memory
        return memory in self.memories or not self.turns.isdisjoint(record.sources)


def contexts_and_keys(
    gone: Gone, contexts: Iterable[Context], keys: Iterable[Key]
) -> Iterator[tuple[str, Subject]]:
    """Find what placed, or pointed to, something forgotten.

    Args:
        gone: What is forgotten.
        contexts: All that there are.
        keys: All that there are.

    Yields:
        Table, and scope and id.
    """
    for context in contexts:
        if gone.takes(context):
            yield "contexts", (context.scope, context.memory)
    for key in keys:
        if gone.takes(key):
            yield "keys", (key.scope, key.id)


def tasks(what: Forget, gone: Gone, every: Iterable[Task]) -> Iterator[str]:
    """Find the idle work about something forgotten.

    Args:
        what: The wish.
        gone: What is forgotten.
        every: All tasks.

    Yields:
        Their ids.
    """
    whole = what == Forget(scope=what.scope, everything=True)
    for task in every:
        if (
            not gone.turns.isdisjoint(task.sources)
            or _names(gone, task.scope, task.key)
            or (whole and what.scope in ("", task.scope))
        ):
            yield task.id


def runs(what: Forget, gone: Gone, tasks: set[str], every: Iterable[Run]) -> Iterator[int]:
    """Find the steps whose task's id names something forgotten; it may be made of words.

    Args:
        what: The wish.
        gone: What is forgotten.
        tasks: Ids of tasks that go.
        every: All runs.

    Yields:
        Their numbers.
    """
    whole = what == Forget(scope=what.scope, everything=True)
    for run in every:
        scope, _, key = run.task.removeprefix(f"{run.job}/").partition("/")
        if run.task in tasks or _names(gone, scope, key) or (whole and what.scope in ("", scope)):
            yield run.id


def _names(gone: Gone, scope: str, key: str) -> bool:
    """Tell whether a job's own word for its work names a session or memory that goes."""
    return key in gone.sessions or (scope, key) in gone.memories


def drop(along: Along, tx: Transaction) -> None:
    """Take everything away that goes along.

    Args:
        along: The rows.
        tx: Takes the changes.
    """
    for table, subjects in (("contexts", along.contexts), ("keys", along.keys)):
        for scope, id in subjects:
            tx.drop(table, keys.scoped_key(scope, id))
            drop_vectors(scope, id, tx)
    for task in along.tasks:
        tx.drop("tasks", keys.name_key(task))
    for run in along.runs:
        tx.drop("runs", keys.id_key(run))


def drop_damaged(table: str, key: bytes, tx: Transaction) -> None:
    """Take a row away that nobody can read, and the vectors of what it was.

    Args:
        table: Its table.
        key: Its key.
        tx: Takes the changes.
    """
    tx.drop(table, key)
    if table in SUBJECTS:
        scope, id = keys.split_scope(key)
        drop_vectors(scope, id.decode(), tx)
