"""Replies with tools: each is logged once, with the turn it answers."""

from slowcat_memory.testing.server import ToolCall
from tests.support.processors import (
    blocks,
    last_said,
    ledger_of,
    logged_words,
    memory,
)
from tests.support.voice_pipeline import FunctionSchema, VoicePipeline, run


def test_reply_tool_follow_up_sees_the_memory_and_recalls_nothing(engine, config):
    def reply(request):
        if request["messages"][-1]["role"] == "tool":
            return "It rains on Max."
        return ToolCall("get_weather", {"city": "Oslo"})

    async def get_weather(params):
        params.context.add_message({"role": "developer", "content": "tool note"})
        await params.result_callback({"sky": "rain"})

    tool = FunctionSchema("get_weather", "The weather.", {}, [], handler=get_weather)

    async def scenario():
        async with VoicePipeline(
            reply, tools=[tool], memory=memory(config, engine=engine)
        ) as voice:
            assert (await voice.exchange("what is the weather for my dog")).content
            return voice

    voice = run(scenario())
    first, second = voice.server.requests
    assert last_said(first) == last_said(second) == "what is the weather for my dog"
    assert second["messages"][: len(first["messages"])] == first["messages"]
    assert blocks(first["messages"][-1]["content"]) == 1
    assert len(ledger_of(engine)) == 1
    assert [text for _, text in logged_words(engine)] == [
        "what is the weather for my dog",
        "It rains on Max.",
    ]
    with engine.store.snapshot() as snapshot:
        *_, asked, answered = snapshot.turns()
    assert answered.tools == ("get_weather",) and asked.tools == ()
    assert answered.reply_to == asked.id
