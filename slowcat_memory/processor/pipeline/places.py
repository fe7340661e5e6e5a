"""The order of processors in a pipeline, however its parts are nested.

A processor's place is its path: for each pipeline that it is in, from the outermost inwards, the
pipeline and the position in it. Branches of a parallel pipeline have no order among each other.
"""

from collections.abc import Iterator
from typing import Any

from msgspec import Struct
from pipecat.pipeline.base_pipeline import BasePipeline
from pipecat.pipeline.pipeline import Pipeline
from pipecat.processors.frame_processor import FrameProcessor


class Step(Struct, frozen=True):
    """A position in one pipeline; ``ordered`` is False for the branches of a parallel one."""

    pipeline: int  # its id()
    position: int
    ordered: bool


class Places:
    """The places of all processors of an outermost pipeline."""

    def __init__(self, outermost: Any) -> None:
        """Read the pipeline; None has no places."""
        self._paths: dict[int, tuple[Step, ...]] = {}
        self._processors: list[Any] = []
        if outermost is not None:
            self._add(outermost, ())

    def __contains__(self, processor: object) -> bool:
        return id(processor) in self._paths

    def of_kind(self, kind: type) -> list[Any]:
        """Return the processors of a kind, in the order in which they are written."""
        return [one for one in self._processors if isinstance(one, kind)]

    def precedes(self, one: Any, other: Any) -> bool | None:
        """Return whether frames reach one processor before another.

        None if they are in different branches, or one of them has no place.
        """
        for ours, theirs in zip(self._path(one), self._path(other), strict=False):
            if ours != theirs:
                same = ours.pipeline == theirs.pipeline and ours.ordered
                return ours.position < theirs.position if same else None
        return None

    def nearest(self, processor: Any, kind: type, *, before: bool) -> Any:
        """Return the nearest one of a kind before a processor, or behind it; None for none.

        Those in the innermost common pipeline come first. None too where several branches have
        one: which it is cannot be known.
        """
        found = [
            one
            for one in self.of_kind(kind)
            if one is not processor
            and self.precedes(*((one, processor) if before else (processor, one)))
        ]
        in_order = found[::-1] if before else found
        closest = sorted(in_order, key=lambda one: -self._common(one, processor))
        unsure = len(closest) > 1 and self.precedes(closest[0], closest[1]) is None
        return None if unsure or not closest else closest[0]

    def _common(self, one: Any, other: Any) -> int:
        pairs = zip(self._path(one), self._path(other), strict=False)
        return sum(ours == theirs for ours, theirs in pairs)

    def _path(self, processor: Any) -> tuple[Step, ...]:
        return self._paths.get(id(processor), ())

    def _add(self, processor: Any, path: tuple[Step, ...]) -> None:
        self._paths[id(processor)] = path
        self._processors.append(processor)
        if not isinstance(processor, BasePipeline):
            return
        ordered = isinstance(processor, Pipeline)
        for position, part in enumerate(_parts(processor)):
            self._add(part, (*path, Step(id(processor), position, ordered)))


def _parts(pipeline: Any) -> Iterator[FrameProcessor]:
    for part in getattr(pipeline, "processors", ()):
        if isinstance(part, FrameProcessor):
            yield part
