"""What a processor says of itself: the start line, slow turns, messages, spans, metrics."""

import asyncio
import sys

import pytest
from msgspec.structs import replace
from pipecat.frames.frames import MetricsFrame
from pipecat.pipeline.worker import PipelineParams
from pipecat.processors.frameworks.rtvi import RTVIServerMessageFrame

from slowcat_memory.core.memory import chunk_id
from slowcat_memory.errors import ConfigError
from slowcat_memory.processor.reports import (
    ClientMessages,
    MemoryLatencyMetricsData,
    Spans,
    latency_frame,
)
from slowcat_memory.processor.turn import SlowTurns
from slowcat_memory.records import Forget, MemoryEvent
from tests.support.memories import engine_of, remember
from tests.support.processors import MAX, QUESTION, logged, memory
from tests.support.voice_pipeline import VoicePipeline

SECRET = "My dog is called Max."


def test_reports_slow_turns_warn_once_a_minute_with_how_many() -> None:
    now = [0.0]
    slow = SlowTurns("memory", 8.0, lambda: now[0])
    with logged("WARNING") as lines:
        slow.add(7.9, "full")
        slow.add(9.0, "full")
        for second in range(1, 60):
            now[0] = float(second)
            slow.add(10.0 + second, "tail")
        now[0] = 61.0
        slow.add(8.5, "full")
        now[0] = 200.0
        slow.add(1.0, "full")
    assert len(lines) == 2, lines
    assert "1 of 2 turns" in lines[0] and "9.0 ms (stage full)" in lines[0]
    assert "60 of 60 turns" in lines[1] and "69.0 ms (stage tail)" in lines[1]


@pytest.mark.parametrize("content", ["ids", "texts"])
async def test_reports_a_client_hears_what_happens_and_no_more_than_wanted(config, content) -> None:
    pushed: list[RTVIServerMessageFrame] = []
    came, tasks = asyncio.Event(), set[asyncio.Task]()

    async def push(frame) -> None:
        pushed.append(frame)
        if frame.data["event"] == "forgotten":
            came.set()

    def spawn(work) -> None:
        tasks.add(asyncio.create_task(work))

    with engine_of(config) as engine:
        messages = ClientMessages(engine, ("anna",), content, push, spawn)
        private = await asyncio.to_thread(
            engine.remember, "The code is 4711", "anna", local_only=True
        )
        await asyncio.to_thread(engine.remember, "Ben likes tea", "ben")
        note = await asyncio.to_thread(engine.remember, SECRET, "anna")
        await asyncio.gather(*tasks)
        await asyncio.to_thread(engine.edit, "anna", note.id, muted=True)
        await asyncio.to_thread(engine.forget, Forget(scope="anna", memories=(private.id, note.id)))
        async with asyncio.timeout(30):
            await came.wait()
        messages.end()
        await asyncio.to_thread(engine.remember, "Nobody hears this", "anna")
        await asyncio.gather(*tasks)
    assert {frame.data["user"] for frame in pushed} == {"anna"}
    created = [frame.data for frame in pushed if frame.data["event"] == "created"]
    assert len(created) == 2 and all(data["kind"] == "note" and data["at"] for data in created)
    shown = repr([frame.data for frame in pushed])
    assert (SECRET in shown) == (content == "texts")
    assert "The code is" not in shown, "a local-only memory never leaves"
    marked = [frame.data for frame in pushed if frame.data["event"] == "marked"]
    assert SECRET not in repr(marked), "nor does a muted one"


async def test_reports_a_client_is_not_sent_what_is_being_forgotten(config) -> None:
    async def push(frame) -> None:
        raise AssertionError("nothing is sent here")

    with engine_of(config) as engine:
        note = await asyncio.to_thread(engine.remember, SECRET, "anna")
        messages = ClientMessages(engine, (), "texts", push, lambda work: None)
        event = MemoryEvent(what="retired", scope="anna", ids=(note.id,))
        before = messages._read(event)
        hide = engine.wiring.undo_log.hide
        await asyncio.to_thread(hide, "forget", "anna", [note.id], [], 0, 600.0)
        after = messages._read(event)
        messages.end()
    assert list(before.values()) == [SECRET] and after == {}


def spans_of(config, content, *, secret: bool = False):
    trace = pytest.importorskip("opentelemetry.sdk.trace")
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    exporter, provider = InMemorySpanExporter(), trace.TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    remember(config, MAX, scope="anna")
    with engine_of(config) as engine:
        spans = Spans(engine, ("anna",), content, provider.get_tracer("test"))
        with engine.snapshot() as snapshot:
            [turn] = snapshot.turns("anna")
        if secret:
            engine.edit("anna", chunk_id(turn.id), local_only=True)
            turn = replace(turn, local_only=True)
        found = engine.search(SECRET, "anna", local=True)
        found = replace(found, timings={**found.timings, "wait": 4.0})
        spans.recalled(turn, found, [hit.memory.id for hit in found.hits])
        note = engine.remember(SECRET, "anna")
        engine.remember("Of another person", "ben")
        engine.forget(Forget(scope="anna", memories=(note.id,)))
        spans.end()
        engine.remember("After the end", "anna")
    return exporter.get_finished_spans(), turn


@pytest.mark.parametrize("content", ["ids", "texts"])
def test_reports_spans_have_the_conventions_names_and_no_text_unless_wanted(
    config, content
) -> None:
    spans, turn = spans_of(config, content)
    assert [one.name for one in spans] == ["search_memory", "create_memory", "delete_memory"]
    assert all(one.attributes["gen_ai.operation.name"] == one.name for one in spans)
    search = spans[0]
    assert search.attributes["gen_ai.conversation.id"] == turn.session
    assert search.end_time - search.start_time == 4_000_000
    assert chunk_id(turn.id) in search.attributes["slowcat_memory.ids"]
    texts = repr([dict(one.attributes) for one in spans])
    assert (SECRET in texts) == (content == "texts")


def test_reports_spans_without_opentelemetry_name_the_remedy(config, monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry", None)
    with engine_of(config) as engine, pytest.raises(ConfigError) as error:
        Spans(engine, ("anna",), "ids")
    assert "[otel]" in str(error.value)


async def test_reports_percentiles_are_in_a_metrics_frame(config) -> None:
    with engine_of(config) as engine:
        assert latency_frame("memory", engine.metrics) is None, "before the first turn"
    seen: list[MemoryLatencyMetricsData] = []

    one = memory(config, user_id="anna")
    push = one.push_frame

    async def spy(frame, *direction) -> None:
        if isinstance(frame, MetricsFrame):
            seen.extend(d for d in frame.data if isinstance(d, MemoryLatencyMetricsData))
        await push(frame, *direction)

    one.push_frame = spy  # type: ignore[method-assign]
    one._reports._push = spy
    params = PipelineParams(enable_metrics=True)
    async with VoicePipeline(memory=one, params=params) as voice:
        await voice.exchange(QUESTION)
        async with asyncio.timeout(30):
            while not seen:
                await asyncio.sleep(0.01)
    assert seen and seen[-1].turn_wait["n"] >= 1
    assert {"p50", "p95", "p99"} <= seen[-1].turn_wait.keys() & seen[-1].recall.keys()


def test_reports_spans_have_no_local_only_text(config) -> None:
    spans, turn = spans_of(config, "texts", secret=True)
    search = dict(spans[0].attributes)
    assert chunk_id(turn.id) in search["slowcat_memory.ids"]
    assert "Max" not in repr(search)
