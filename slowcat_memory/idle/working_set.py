"""Views of a namespace's memories that the steps of one stretch of work share.

A step that reads all memories of a kind takes time in their number, and many such steps take its
square. A view is built once, and then only reads what changed since the step before. The loop
discards all views when it rests, so that they take memory only while it works.
"""

from collections.abc import Callable
from typing import Any, Protocol, TypeVar, cast

from slowcat_memory.records import Memory
from slowcat_memory.store import Snapshot


class SharedView(Protocol):
    """A view of a namespace's memories; only changed by ``WorkingSet.view``."""

    @property
    def beginnings(self) -> tuple[str, ...]:
        """The beginnings of the ids of the memories that it has."""

    def put(self, memory: Memory, snapshot: Snapshot) -> None:
        """Add or replace a memory."""

    def drop(self, id: str) -> None:
        """Remove a memory that is gone, if it is there."""


V = TypeVar("V", bound=SharedView)


class WorkingSet:
    """The views in use, by kind and namespace. Not thread-safe."""

    def __init__(self) -> None:
        self._views: dict[tuple[Any, ...], tuple[Any, int, int]] = {}

    def view(self, make: Callable[..., V], snapshot: Snapshot, scope: str, *of: object) -> V:
        """Return a view of a namespace, as of a snapshot.

        What changed is read; everything is after forgetting, or where an index was published.

        Args:
            make: Makes an empty view: its class.
            of: Its arguments, such as the vector space; another view has others.
        """
        at, manifest = (make, scope, *of), snapshot.manifest(scope)
        forgets, last = snapshot.forget_epoch(), snapshot.last_change()
        view, epoch, since = self._views.get(at, (None, forgets, last))
        if view is None or epoch != forgets or (manifest is not None and manifest.changes > since):
            view = make(*of)
            for beginning in view.beginnings:
                for memory in snapshot.memories(scope, beginning):
                    view.put(memory, snapshot)
        elif since != last:
            for id in snapshot.changed(scope, since):
                if not id.startswith(view.beginnings):
                    continue
                if changed := snapshot.memory(scope, id):
                    view.put(changed, snapshot)
                else:
                    view.drop(id)
        self._views[at] = view, forgets, last
        return cast(V, view)

    def clear(self) -> None:
        self._views.clear()
