"""The path of a user's words from the processor to the store's writer: its files, and its turns."""

import sys
from collections import Counter
from pathlib import Path
from types import FrameType
from typing import Any

from pipecat.frames.frames import Frame, LLMContextFrame
from pipecat.processors.aggregators.llm_context import LLMContext

import slowcat_memory
from slowcat_memory import HybridContextualMemoryProcessor
from slowcat_memory.records import Turn
from slowcat_memory.store.writer import WriteQueue
from tests.support.memories import said
from tests.support.processors import QUESTION, memory, through, user

PACKAGE = Path(slowcat_memory.__file__).parent
# Functions without state, as against stations; and the end of the path.
NOT_COUNTED = ("core/", "runtime/injection.py", "store/writer.py")
WORDS = "I have a dog."
FILES = 10
TURNS = 2  # the session tracker's, and the one that the store has numbered


class Trace:
    """Counts calls that are handed the words, by file, and the distinct turns among their arguments."""

    def __init__(self) -> None:
        self.files: Counter[str] = Counter()
        self.turns: dict[int, Turn] = {}

    def start(self) -> None:
        sys.setprofile(self._called)

    def stop(self) -> None:
        sys.setprofile(None)

    def _called(self, frame: FrameType, event: str, _: Any) -> None:
        file, code = Path(frame.f_code.co_filename), frame.f_code
        if event not in ("call", "return") or not file.is_relative_to(PACKAGE):
            return
        values = list(frame.f_locals.values())
        self.turns |= {id(turn): turn for value in values for turn in _turns(value)}
        name = str(file.relative_to(PACKAGE))
        arguments = [frame.f_locals.get(name) for name in code.co_varnames[: code.co_argcount]]
        if event == "call" and not name.startswith(NOT_COUNTED) and any(map(_carries, arguments)):
            self.files[name] += 1


def _turns(value: Any) -> list[Turn]:
    if isinstance(value, (list, tuple)):
        return [turn for one in value for turn in _turns(one)]
    return [value] if isinstance(value, Turn) else []


def _carries(value: Any) -> bool:
    """Return whether a value is or holds the words."""
    if isinstance(value, dict):
        return WORDS in str(value.get("content"))
    if isinstance(value, (list, tuple)):
        return any(map(_carries, value))
    if isinstance(value, LLMContextFrame):
        return True
    return WORDS in value if isinstance(value, str) else getattr(value, "text", "") == WORDS


def test_user_turn_path_is_short(config: Any, monkeypatch: Any) -> None:
    trace = Trace()
    add_events, process = WriteQueue.add_events, HybridContextualMemoryProcessor.process_frame

    def queued(self: WriteQueue, events: Any, *rest: Any, **named: Any) -> Any:
        try:
            return add_events(self, events, *rest, **named)
        finally:
            if isinstance(events[0], Turn):
                trace.stop()

    async def processed(self: Any, frame: Frame, direction: Any) -> None:
        if isinstance(frame, LLMContextFrame):
            trace.start()
        await process(self, frame, direction)

    monkeypatch.setattr(WriteQueue, "add_events", queued)
    monkeypatch.setattr(HybridContextualMemoryProcessor, "process_frame", processed)
    try:
        through(memory(config), LLMContextFrame(LLMContext(messages=[user(WORDS)])))
    finally:
        trace.stop()
    assert said(config) == [("User", WORDS)]
    assert len(trace.files) <= FILES, sorted(trace.files)
    assert len(trace.turns) <= TURNS, [*trace.turns.values()]


def test_the_ledger_hears_of_a_recall_when_its_frame_has_gone_on(config, engine, monkeypatch):
    order, note, told = list[str](), engine.note_recall, list[Any]()
    processor = memory(config, engine=engine)

    def noted(*arguments: Any) -> None:
        order.append("ledger")
        note(*arguments)

    async def pushed(_: Any, frame: Frame) -> None:
        if isinstance(frame, LLMContextFrame):
            order.append("frame")

    async def recalled(_: Any, found: Any, packed: Any) -> None:
        order.append("application")
        told.append(packed)

    monkeypatch.setattr(engine, "note_recall", noted)
    processor.add_event_handler("on_before_push_frame", pushed)
    processor.add_event_handler("on_memory_recalled", recalled)
    through(processor, LLMContextFrame(LLMContext(messages=[user(QUESTION)])))
    assert order == ["frame", "ledger", "application"] and len(told) == 1
