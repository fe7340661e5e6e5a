"""The path of a user's words from the processor to the store's writer: its files, and its turns."""

from contextlib import ExitStack
from types import FrameType
from typing import Any

from pipecat.frames.frames import Frame, LLMContextFrame
from pipecat.processors.aggregators.llm_context import LLMContext

from slowcat_memory import HybridContextualMemoryProcessor
from slowcat_memory.records import Turn
from slowcat_memory.store.writer import WriteQueue
from tests.support.called_files import CalledFiles
from tests.support.memories import said
from tests.support.processors import QUESTION, memory, through, user

WORDS = "I have a dog."
FILES = 10
TURNS = 2  # the session tracker's, and the one that the store has numbered


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
    turns = dict[int, Turn]()

    def counts(frame: FrameType, event: str) -> bool:
        values = list(frame.f_locals.values())  # of a call, its arguments
        turns.update((id(turn), turn) for value in values for turn in _turns(value))
        return event == "call" and any(map(_carries, values))

    calls, counting = CalledFiles(counts), ExitStack()
    add_events, process = WriteQueue.add_events, HybridContextualMemoryProcessor.process_frame

    def queued(self: WriteQueue, events: Any, *rest: Any, **named: Any) -> Any:
        try:
            return add_events(self, events, *rest, **named)
        finally:
            if isinstance(events[0], Turn):
                counting.close()

    async def processed(self: Any, frame: Frame, direction: Any) -> None:
        if isinstance(frame, LLMContextFrame):
            counting.enter_context(calls.counted())
        await process(self, frame, direction)

    monkeypatch.setattr(WriteQueue, "add_events", queued)
    monkeypatch.setattr(HybridContextualMemoryProcessor, "process_frame", processed)
    with calls.hearing():
        through(memory(config), LLMContextFrame(LLMContext(messages=[user(WORDS)])))
    assert said(config) == [("User", WORDS)]
    files = calls.stations("runtime/injection.py", "store/writer.py")  # the end of the path
    assert 0 < len(files) <= FILES, files
    assert len(turns) <= TURNS, [*turns.values()]


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
