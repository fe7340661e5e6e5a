"""Who is known, and what holds of them: now, at a day, and by what was believed on a day."""

from datetime import datetime

from slowcat_memory.core.kinds import ENTITY, RELATION
from slowcat_memory.core.portrait import Names, Portrait, portrait
from slowcat_memory.core.relations import Relation, as_of, believed
from slowcat_memory.engine.parts import Parts
from slowcat_memory.records import Memory


class Knowing(Parts):
    """Tells who and what is known."""

    def entities(self, scope: str) -> Names:
        """Tell who and what is known. Blocks.

        Args:
            scope: The namespace.

        Returns:
            Entities by name, and their names by id.
        """
        with self.store.snapshot() as snapshot:
            return Names(snapshot.memories(scope, f"{ENTITY}/"))

    def relations(
        self, scope: str, *, true: datetime | None = None, known: datetime | None = None
    ) -> list[Relation]:
        """Tell how they stand to one another. Blocks.

        Args:
            scope: The namespace.
            true: What held at this moment, aware; None for whatever is over as well.
            known: By what was believed at this moment; None for now.

        Returns:
            Relations, the earliest first.
        """
        with self.store.snapshot() as snapshot:
            every = [Relation.of(one) for one in snapshot.memories(scope, f"{RELATION}/")]
        found = believed(every, known) if true is None else as_of(every, true, known)
        return sorted(found, key=lambda one: (one.valid_from, one.recorded_at, one.id))

    def portraits(self, scope: str, name: str = "") -> list[Portrait]:
        """Tell what is known of people and things. Blocks.

        Args:
            scope: The namespace.
            name: Of those called so; "" for everyone.

        Returns:
            Portraits, those of whom most is known first.
        """
        names, now = self.entities(scope), self.clock()
        relations = self.relations(scope)
        wanted: list[Memory] = names.find(name) if name else list(names)
        made = [portrait(one, relations, names, now) for one in wanted]
        return sorted(made, key=lambda one: (-len(one.holds) - len(one.others), one.name))
