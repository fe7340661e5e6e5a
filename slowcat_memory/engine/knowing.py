"""Who is known, and what holds of them: now, at a day, and by what was believed on a day."""

from collections.abc import Iterator, Sequence
from datetime import datetime

from slowcat_memory.core.graph.portrait import EntityNames, Portrait, portrait
from slowcat_memory.core.graph.relations import Relation, as_of, believed
from slowcat_memory.core.memory.chunk import chunk_id
from slowcat_memory.core.memory.kinds import ENTITY, RELATION
from slowcat_memory.engine.wiring import Parts
from slowcat_memory.records import Memory
from slowcat_memory.store import Snapshot


class Knowing(Parts):
    """Tells who and what is known."""

    def entities(self, scope: str, *, local: bool = True) -> EntityNames:
        """Tell who and what is known. Blocks.

        Args:
            scope: The namespace.
            local: Whether it stays on this machine: else what is local-only is left out.

        Returns:
            Entities by name, and their names by id.
        """
        with self.store.snapshot() as snapshot:
            every = snapshot.memories(scope, f"{ENTITY}/")
            return EntityNames(one for one in every if local or not one.local_only)

    def relations(
        self,
        scope: str,
        *,
        true: datetime | None = None,
        known: datetime | None = None,
        local: bool = True,
    ) -> list[Relation]:
        """Tell how they stand to one another. Blocks.

        Args:
            scope: The namespace.
            true: What held at this moment, aware; None for whatever is over as well.
            known: By what was believed at this moment; None for now.
            local: Whether it stays on this machine: else what is local-only is left out.

        Returns:
            Relations, the earliest first; none of a turn that was taken out of recall.
        """
        with self.store.snapshot() as snapshot:
            every = [Relation.of(one) for one in snapshot.memories(scope, f"{RELATION}/")]
            every = list(_open_ones(snapshot, scope, every, local))
        found = believed(every, known) if true is None else as_of(every, true, known)
        return sorted(found, key=lambda one: (one.valid_from, one.recorded_at, one.id))

    def portraits(self, scope: str, name: str = "", *, local: bool = True) -> list[Portrait]:
        """Tell what is known of people and things. Blocks.

        Args:
            scope: The namespace.
            name: Of those called so; "" for everyone.
            local: As in ``relations``.

        Returns:
            Portraits, those of whom most is known first.
        """
        names, now = self.entities(scope, local=local), self.clock()
        every = self.relations(scope, local=local)
        relations = [one for one in every if one.subject in names and one.object in names]
        wanted: list[Memory] = names.find(name) if name else list(names)
        made = [portrait(one, relations, names, now) for one in wanted]
        return sorted(made, key=lambda one: (-len(one.holds) - len(one.others), one.name))


def _open_ones(
    snapshot: Snapshot, scope: str, relations: Sequence[Relation], local: bool
) -> Iterator[Relation]:
    """Leave out what turns say that nobody may be told of."""
    turns = {turn for one in relations for turn in one.sources}
    chunks = ((turn, snapshot.memory(scope, chunk_id(turn))) for turn in turns)
    closed = {
        turn
        for turn, one in chunks
        if one is not None and (one.retired_at is not None or (one.local_only and not local))
    }
    return (one for one in relations if closed.isdisjoint(one.sources))
