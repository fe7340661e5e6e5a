"""Views of a namespace's memories that the steps of one stretch of work share.

A step that reads all memories of a kind takes time in their number, and many such steps take its
square. A view is built once, and then only reads what changed since the step before. The loop
discards all views when it rests, so that they take memory only while it works.
"""

from collections.abc import Callable
from typing import Any, Protocol, TypeVar, cast

from slowcat_memory.records import Memory
from slowcat_memory.store import Snapshot


class View(Protocol):
    """A view of a namespace's memories; only changed by ``WorkingSet.view``."""

    @property
    def beginnings(self) -> tuple[str, ...]:
        """The beginnings of the ids of the memories that it has."""

    def put(self, memory: Memory, snapshot: Snapshot) -> None:
        """Add or replace a memory."""

    def drop(self, id: str) -> None:
        """Remove a memory that is gone, if it is there."""


V = TypeVar("V", bound=View)


class WorkingSet:
    """The views in use, by kind and namespace. Not thread-safe."""

    def __init__(self) -> None:
        self._views: dict[tuple[Any, ...], _Current] = {}

    def view(self, make: Callable[..., V], snapshot: Snapshot, scope: str, *of: object) -> V:
        """Return a view of a namespace, as of a snapshot.

        Args:
            make: Makes an empty view: its class.
            of: Its arguments, such as the vector space; another view has others.
        """
        at = (make, scope, *of)
        current = self._views.get(at)
        if current is None or not current.update(snapshot):
            current = self._views[at] = _Current(make(*of), scope, snapshot)
        return cast(V, current.view)

    def clear(self) -> None:
        self._views.clear()


class _Current:
    """A view, and the change number up to which it is complete."""

    def __init__(self, view: View, scope: str, snapshot: Snapshot) -> None:
        self.view, self._scope = view, scope
        self._epoch, self._changes = snapshot.forget_epoch(), snapshot.last_change()
        for beginning in view.beginnings:
            for memory in snapshot.memories(scope, beginning):
                view.put(memory, snapshot)

    def update(self, snapshot: Snapshot) -> bool:
        """Read what changed; False if that is not known: after forgetting, or a new index."""
        manifest = snapshot.manifest(self._scope)
        pruned = manifest is not None and manifest.changes > self._changes
        if pruned or snapshot.forget_epoch() != self._epoch:
            return False
        last = snapshot.last_change()
        if last != self._changes:
            for id in snapshot.changed(self._scope, self._changes):
                if not id.startswith(self.view.beginnings):
                    continue
                if memory := snapshot.memory(self._scope, id):
                    self.view.put(memory, snapshot)
                else:
                    self.view.drop(id)
        self._changes = last
        return True
