"""What a processor says of itself: the start line, slow turns, messages, spans."""

import asyncio
import sys

import pytest
from msgspec.structs import replace
from pipecat.processors.frameworks.rtvi import RTVIServerMessageFrame

from slowcat_memory.core.memory import chunk_id
from slowcat_memory.errors import ConfigError
from slowcat_memory.metrics import Metrics
from slowcat_memory.processor.reports import Spans, export, texts_of
from slowcat_memory.records import Forget, MemoryEvent
from tests.support.memories import Look, engine_of, remember
from tests.support.processors import MAX, QUESTION, logged, memory
from tests.support.voice_pipeline import VoicePipeline

SECRET = "My dog is called Max."


async def test_reports_one_line_says_what_the_memory_is(config) -> None:
    remember(config, MAX, scope="anna")
    with logged("INFO") as lines:
        async with VoicePipeline(memory=memory(config, user_id="anna")), asyncio.timeout(30):
            while not any("turns: " in line for line in lines):
                await asyncio.sleep(0.01)
    [line] = [line for line in lines if "turns: " in line]
    for part in ("'anna'", str(config.folder), "turns: 1", "embedding: "):
        assert part in line, line
    assert "configuration: given in code" in line


async def test_reports_slow_turns_warn_once_a_minute(config) -> None:
    slow = replace(config, recall=replace(config.recall, warn_ms=0.0))
    with logged("WARNING") as lines:
        async with VoicePipeline(memory=memory(slow, user_id="anna")) as voice:
            await voice.exchange(QUESTION)
            await voice.exchange(f"{QUESTION} again")
    [line] = [line for line in lines if "waited longer" in line]
    assert "1 turns waited longer than 0 ms" in line and "(stage " in line


@pytest.mark.parametrize("content", ["ids", "texts"])
async def test_reports_a_client_hears_what_happens_and_no_more_than_wanted(config, content) -> None:
    pushed: list[dict] = []

    with engine_of(config) as engine:
        one = memory(config, engine=engine, user_id="anna", rtvi=content)
        push = one.push_frame

        async def spy(frame, *direction) -> None:
            if isinstance(frame, RTVIServerMessageFrame):
                pushed.append(frame.data)
            await push(frame, *direction)

        one._deps.reports.push = spy
        async with VoicePipeline(memory=one):
            private = await asyncio.to_thread(
                engine.remember, "The code is 4711", "anna", local_only=True
            )
            await asyncio.to_thread(engine.remember, "Ben likes tea", "ben")
            note = await asyncio.to_thread(engine.remember, SECRET, "anna")
            async with asyncio.timeout(30):
                while len(pushed) < 2:
                    await asyncio.sleep(0.01)
            await asyncio.to_thread(engine.edit, "anna", note.id, muted=True)
            ids = private.id, note.id
            await asyncio.to_thread(engine.forget, Forget(scope="anna", memories=ids))
            async with asyncio.timeout(30):
                while not any(data["event"] == "forgotten" for data in pushed):
                    await asyncio.sleep(0.01)
        count = len(pushed)
        await asyncio.to_thread(engine.remember, "Nobody hears this", "anna")
        await asyncio.sleep(0.05)
    assert len(pushed) == count and {data["user"] for data in pushed} == {"anna"}
    created = [data for data in pushed if data["event"] == "created"]
    assert len(created) == 2 and all(data["kind"] == "note" and data["at"] for data in created)
    assert (SECRET in repr(pushed)) == (content == "texts")
    assert "The code is" not in repr(pushed), "a local-only memory never leaves"
    marked = [data for data in pushed if data["event"] == "marked"]
    assert SECRET not in repr(marked), "nor does a muted one"


async def test_reports_a_client_is_not_sent_what_is_being_forgotten(config) -> None:
    with engine_of(config) as engine:
        note = await asyncio.to_thread(engine.remember, SECRET, "anna")
        event = MemoryEvent(what="retired", scope="anna", ids=(note.id,))
        before = texts_of(engine, event)
        hide = engine.undo_log.hide
        await asyncio.to_thread(hide, "forget", "anna", [note.id], [], 0, 600.0)
        after = texts_of(engine, event)
    assert list(before.values()) == [SECRET] and after == {}


def spans_of(config, content, *, secret: bool = False):
    trace = pytest.importorskip("opentelemetry.sdk.trace")
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    exporter, provider = InMemorySpanExporter(), trace.TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    remember(config, MAX, scope="anna")
    with engine_of(config) as engine:
        spans = Spans(engine, content, provider.get_tracer("test"))
        [turn] = Look(engine).turns("anna")
        if secret:
            engine.edit("anna", chunk_id(turn.id), local_only=True)
            turn = replace(turn, local_only=True)
        found = engine.search(SECRET, "anna", local=True)
        found = replace(found, timings={**found.timings, "wait": 4.0})
        spans.recalled(turn, found, found.hits)
        end = engine.subscribe(on_event=spans.happened)
        note = engine.remember(SECRET, "anna")
        engine.forget(Forget(scope="anna", memories=(note.id,)))
        end()
    return exporter.get_finished_spans(), turn


@pytest.mark.parametrize("content", ["ids", "texts"])
def test_reports_spans_have_the_conventions_names_and_no_text_unless_wanted(config, content):
    spans, turn = spans_of(config, content)
    assert [one.name for one in spans] == ["search_memory", "create_memory", "delete_memory"]
    assert all(one.attributes["gen_ai.operation.name"] == one.name for one in spans)
    search = spans[0]
    assert search.attributes["gen_ai.conversation.id"] == turn.session
    assert search.end_time - search.start_time == 4_000_000
    assert chunk_id(turn.id) in search.attributes["slowcat_memory.ids"]
    texts = repr([dict(one.attributes) for one in spans])
    assert (SECRET in texts) == (content == "texts")


def test_reports_metrics_are_exported_once_where_spans_are_written(monkeypatch) -> None:
    sdk = pytest.importorskip("opentelemetry.sdk.metrics")
    reader = pytest.importorskip("opentelemetry.sdk.metrics.export").InMemoryMetricReader()
    provider, metrics = sdk.MeterProvider([reader]), Metrics()
    monkeypatch.setattr("opentelemetry.metrics.get_meter", provider.get_meter)
    metrics.count("recalls", 3)
    metrics.observe("recall", 2.0)
    export(metrics)
    export(metrics)
    [scope] = reader.get_metrics_data().resource_metrics[0].scope_metrics
    points = {one.name: [point.value for point in one.data.data_points] for one in scope.metrics}
    assert points == {"slowcat_memory.count": [3], "slowcat_memory.latency": [2.0] * 3}


def test_reports_spans_without_opentelemetry_name_the_remedy(config, monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry", None)
    with engine_of(config) as engine, pytest.raises(ConfigError) as error:
        Spans(engine, "ids")
    assert "[otel]" in str(error.value)


def test_reports_spans_have_no_local_only_text(config) -> None:
    spans, turn = spans_of(config, "texts", secret=True)
    search = dict(spans[0].attributes)
    assert chunk_id(turn.id) in search["slowcat_memory.ids"]
    assert "Max" not in repr(search)
