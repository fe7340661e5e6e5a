"""What the memory put into a context that another person reads."""

from datetime import UTC, datetime

import pytest
from pipecat.processors.aggregators import async_tool_messages
from pipecat.processors.aggregators.llm_context import LLMSpecificMessage

from slowcat_memory.core.render.memory_block import Packed, PackOptions, pack
from slowcat_memory.processor.owned_messages import OwnedMessages
from slowcat_memory.records import Hit, Memory
from slowcat_memory.runtime import injection
from slowcat_memory.runtime.injection import FORGOTTEN
from slowcat_memory.runtime.recall.query import Recollection

NOON = datetime(2026, 5, 12, 12, tzinfo=UTC)


def hit(scope: str, text: str) -> Hit:
    memory = Memory(id=text, kind="note", scope=scope, speaker=scope, text=text, valid_from=NOON)
    return Hit(memory=memory, score=1.0)


def packed(found: Recollection) -> Packed:
    return pack(found.hits, NOON, UTC, PackOptions())


def context(blocks: OwnedMessages, *hits: Hit, parts: bool = False) -> list[dict]:
    found = Recollection(hits=list(hits))
    content = [{"type": "text", "text": "hello"}] if parts else "hello"
    message = {"role": "user", "content": content}
    injection.prefix(message, packed(found).text)
    blocks.add_block(packed(found))
    return [{"role": "system", "content": "x"}, message, {"role": "assistant", "content": "hi"}]


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
    owned = OwnedMessages()
    owned.strip([[]], ("anna", "home"))
    owned.strip([messages], scopes)
    return messages


@pytest.mark.parametrize(
    "result", [DOCTOR, [{"type": "text", "text": DOCTOR}]], ids=["text", "parts"]
)
def test_owned_messages_strip_empties_a_memory_tools_call_and_result(result) -> None:
    arguments = '{"query": "Zqxdoctor"}'
    messages = anna_then(asked(*exchange("1", "search_memory", result, arguments)), "ben", "home")
    assert "Zqxdoctor" not in str(messages) and answered_calls(messages) and len(messages) == 3


def test_owned_messages_strip_leaves_the_calls_of_who_still_speaks() -> None:
    messages = anna_then(asked(*exchange("1", "search_memory", DOCTOR)), "anna", "home")
    assert "Zqxdoctor" in str(messages)


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
    owned, messages = OwnedMessages(), asked(*timer, *found)
    owned.strip([messages], ("anna",))
    assert "77" in str(messages) and "Zqxdoctor" not in str(messages)


def test_owned_messages_strip_thoughts_about_another_go() -> None:
    thought = LLMSpecificMessage("anthropic", {"type": "thought", "text": DOCTOR})
    known = LLMSpecificMessage("anthropic", {"type": "given"})
    owned, context = OwnedMessages(), [known]
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
    owned = OwnedMessages()
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
    owned = OwnedMessages()
    owned.add_head(f"Who you talk to: {DOCTOR}.", "anna")
    owned.strip([messages], ("ben",))
    assert "Zqxdoctor" not in str(messages) and "You are a cat." in str(messages)
    owned.strip([messages], ())
    owned.strip([messages], ("anna",))
    assert messages[0]["content"] == content


def test_owned_messages_without_memories_is_what_was_said() -> None:
    owned = OwnedMessages()
    messages = context(owned, hit("anna", "cellar"))
    messages += exchange("1", "search_memory", DOCTOR, '{"query": "Zqxdoctor"}')
    before = str(messages)
    copied = owned.without_memories(messages)
    assert len(copied) == len(messages) and str(messages) == before
    assert "cellar" not in str(copied) and "Zqxdoctor" not in str(copied)
    assert "hello" in str(copied) and "hi" in str(copied)
