"""What the memory put into a context that another person reads: message by message, and in a pipeline."""

import pytest
from pipecat.frames.frames import LLMSummarizeContextFrame
from pipecat.processors.aggregators import async_tool_messages
from pipecat.processors.aggregators.llm_context import LLMSpecificMessage

from slowcat_memory import HybridContextualMemoryProcessor
from slowcat_memory.processor.context_messages import ContextMessages
from slowcat_memory.runtime.injection import FORGOTTEN
from slowcat_memory.testing.server import ToolCall
from tests.support.memories import engine_of, remember
from tests.support.processors import talking
from tests.support.stores import household

# ------------------------------------------------------------------- what the memory put into a context that another person reads

# ------------------------------------------------------------------- tools

DOCTOR = "My therapist is called Zqxdoctor"


def exchange(id_: str, name: str, result: object, arguments: str = "{}") -> list[dict]:
    """Return the messages of a tool's call and its result, in OpenAI's shape."""
    function = {"name": name, "arguments": arguments}
    call = {"id": id_, "type": "function", "function": function}
    return [
        {"role": "assistant", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": id_, "content": result},
    ]


def asked(*more: dict) -> list[dict]:
    return [{"role": "user", "content": "who is my therapist"}, *more]


def answered_calls(messages: list) -> bool:
    """Return whether each call has exactly one result."""
    calls = [c["id"] for m in messages if isinstance(m, dict) for c in m.get("tool_calls", ())]
    results = [m["tool_call_id"] for m in messages if isinstance(m, dict) and m["role"] == "tool"]
    return sorted(calls) == sorted(results)


def anna_then(messages: list, *scopes: str) -> list:
    """Let Anna be answered with these messages, and then another speak."""
    owned = ContextMessages(list, bool)
    owned.strip([[]], ("anna", "home"))
    owned.strip([messages], scopes)
    return messages


def test_owned_messages_strip_call_of_anthropics_shape() -> None:
    use = {"type": "tool_use", "id": "1", "name": "search_memory", "input": {"q": "Zqxdoctor"}}
    result = {"type": "tool_result", "tool_use_id": "1", "content": DOCTOR}
    messages = asked({"role": "assistant", "content": [use]}, {"role": "user", "content": [result]})
    assert "Zqxdoctor" not in str(anna_then(messages, "ben"))


def test_owned_messages_strip_results_of_tools_that_keep_running() -> None:
    started = async_tool_messages.build_started_message("1")
    middle = async_tool_messages.build_intermediate_result_message("1", DOCTOR)
    final = async_tool_messages.build_final_result_message("1", DOCTOR)
    call = exchange("1", "search_memory", "")[0]
    messages = anna_then(asked(call, started, middle, final), "ben")
    assert "Zqxdoctor" not in str(messages) and messages[2] == started
    assert async_tool_messages.parse_message(messages[4]).kind == "final"


def test_owned_messages_strip_empties_the_calls_of_other_tools_too() -> None:
    mail = exchange("2", "send_mail", '{"to": "Zqxdoctor"}', '{"text": "Dear Zqxdoctor"}')
    messages = anna_then(asked(*mail), "ben")
    assert "Zqxdoctor" not in str(messages) and answered_calls(messages)


def test_owned_messages_strip_the_applications_own_calls_stay() -> None:
    timer, found = exchange("3", "set_timer", '{"id": 77}'), exchange("1", "search_memory", DOCTOR)
    owned, messages = ContextMessages(list, bool), asked(*timer, *found)
    owned.strip([messages], ("anna",))
    assert "77" in str(messages) and "Zqxdoctor" not in str(messages)


def test_owned_messages_strip_thoughts_about_another_go() -> None:
    thought = LLMSpecificMessage("anthropic", {"type": "thought", "text": DOCTOR})
    known = LLMSpecificMessage("anthropic", {"type": "given"})
    owned, context = ContextMessages(list, bool), [known]
    owned.strip([context], ("anna",))
    context += [thought, {"role": "assistant", "content": "Noted."}]
    owned.strip([context], ("anna",))
    assert thought in context
    owned.strip([context], ("ben",))
    assert context == [known, {"role": "assistant", "content": "Noted."}]


# ------------------------------------------------------------------- answers and heads


@pytest.mark.parametrize("cut", [None, 30])
def test_owned_messages_strip_spoken_answer_of_a_command(cut) -> None:
    said = f"I know 1 thing about you: “{DOCTOR}”."
    owned = ContextMessages(list, bool)
    owned.strip([[]], ("anna",))
    owned.add_answer(said, ("anna",))
    messages = asked({"role": "assistant", "content": said[:cut]})
    owned.strip([messages], ("anna", "home"))
    assert said[:cut] in str(messages)
    owned.strip([messages], ("ben",))
    assert messages[-1] == {"role": "assistant", "content": FORGOTTEN}


@pytest.mark.parametrize("parts", [False, True])
def test_owned_messages_strip_head_goes_and_comes_back(parts) -> None:
    text = f"You are a cat.\n\nWho you talk to: {DOCTOR}."
    content = [{"type": "text", "text": text}] if parts else text
    messages = [{"role": "system", "content": content}, *asked()]
    owned = ContextMessages(list, bool)
    owned.add_head(f"Who you talk to: {DOCTOR}.", "anna")
    owned.strip([messages], ("ben",))
    assert "Zqxdoctor" not in str(messages) and "You are a cat." in str(messages)
    owned.strip([messages], ())
    owned.strip([messages], ("anna",))
    assert messages[0]["content"] == content


# ------------------------------------------------------------------- another person speaks: what the LLM is sent holds nothing of the one before, in

SPEAKERS = {"s1": "anna", "s2": "ben"}
SECRET = "Zqxdoctor"


@pytest.fixture
def home(tmp_path):
    config = household(tmp_path / "memory")
    remember(config, f"Anna: My therapist is called {SECRET}.", scope="anna", days=3)
    with engine_of(config) as engine:
        engine.remember(f"Anna sees {SECRET} on Mondays.", "anna", pinned=True)
    return config


def sent(body) -> str:
    return str(body["messages"])


def talk(config, *said, head=False, **how):
    """Let people speak in turn; return the requests that answered each of them."""
    processor = HybridContextualMemoryProcessor(config=config, speakers=SPEAKERS)

    async def instruction(_):
        return "You are a cat.\n\n" + await processor.session_context("anna")

    how = {"reply": lambda _: "Well.", "before": instruction if head else None} | how
    held = talking(processor, *said, **how)
    if processor.engine and head:
        processor.engine.close()
    return held.requests


@pytest.mark.parametrize("who", ["s2", "eve"])
def test_speaker_change_tools_answer_is_not_sent_for_another(home, who):
    def reply(request):
        last = request["messages"][-1]
        if last["role"] == "user" and "therapist" in str(last):
            return ToolCall("search_memory", {"query": "therapist called"})
        return "Well."

    anna, other, again = talk(
        home, ("s1", "please look up my therapist"), (who, "hello there"), ("s1", "and me"),
        reply=reply, tools=True,
    )  # fmt: skip
    assert SECRET in sent(anna[-1]), "the answer of the tool"
    assert all(SECRET not in sent(body) for body in other)
    calls = [m for m in other[0]["messages"] if m.get("tool_calls")]
    results = [m for m in other[0]["messages"] if m["role"] == "tool"]
    assert len(calls) == len(results) == 1 and again


def test_speaker_change_answer_of_a_command_is_not_sent_for_another(home):
    hello, command, other = talk(
        home, ("s2", "hello"), ("s1", "what do you know about me"), ("s2", "hello again")
    )
    assert hello and command == [] and SECRET not in sent(other[0])


@pytest.mark.parametrize("first", ["s2", "eve"])
def test_speaker_change_head_of_one_is_not_sent_for_another_and_comes_back(home, first):
    other, anna, again = talk(
        home, (first, "hello"), ("s1", "good day"), (first, "me again"), head=True
    )
    assert SECRET not in sent(other[0]) and SECRET not in sent(again[0])
    assert SECRET in anna[0]["messages"][0]["content"]
    assert "You are a cat." in other[0]["messages"][0]["content"]


def test_speaker_change_summary_of_the_context_is_made_of_what_was_said(home):
    async def summarise(voice):
        before = len(voice.server.requests)
        await voice.worker.queue_frame(LLMSummarizeContextFrame())
        await voice.server.wait_for_requests(before + 1)

    def reply(request):
        return "Well." if request.get("stream") else "A summary."

    bodies = []

    async def then(voice):
        if len(voice.turns) == 3:
            await summarise(voice)
            bodies.extend(body for body in voice.server.requests if not body.get("stream"))

    one, *_ = talk(
        home, ("s1", "where is my therapist called"), ("s1", "two"), ("s1", "three"),
        reply=reply, then=then,
    )  # fmt: skip
    assert SECRET in sent(one[0]), "a block"
    assert bodies and "my therapist called" in sent(bodies[-1])
    assert f"called {SECRET}" not in sent(bodies[-1])
