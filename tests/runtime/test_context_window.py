"""The conversation that the LLM reads is cut to whole exchanges."""

import pytest

from slowcat_memory.runtime.injection import ContextOptions, trimmed

SYSTEM = {"role": "system", "content": "Be kind."}


def exchange(n: int, words: int = 3) -> list[dict]:
    return [
        {"role": "user", "content": f"question {n} {'word ' * words}"},
        {"role": "assistant", "content": "", "tool_calls": [{"id": str(n)}]},
        {"role": "tool", "content": "result", "tool_call_id": str(n)},
        {"role": "assistant", "content": f"answer {n}"},
    ]


def talk(count: int) -> list[dict]:
    return [SYSTEM, *(one for n in range(count) for one in exchange(n)), exchange(count)[0]]


def questions(messages: list[dict]) -> list[int]:
    return [int(one["content"].split()[1]) for one in messages if one["role"] == "user"]


@pytest.mark.parametrize("most", [1, 2, 5])
def test_trimmed_keeps_the_last_exchanges_whole_and_the_instructions(most: int) -> None:
    stay = trimmed(talk(9), ContextOptions(exchanges=most))
    assert stay is not None and stay[0] is SYSTEM
    assert questions(stay) == list(range(9 - most + 1, 10))
    calls = {call["id"] for one in stay for call in one.get("tool_calls", ())}
    assert calls == {one["tool_call_id"] for one in stay if one["role"] == "tool"}


def test_trimmed_drops_the_oldest_until_the_rest_fits_but_never_the_last() -> None:
    stay = trimmed(talk(9), ContextOptions(max_tokens=120))
    assert stay is not None and 1 < len(questions(stay)) < 10 and questions(stay)[-1] == 9
    less = trimmed(talk(9), ContextOptions(max_tokens=120), reserved=60)
    assert less is not None and len(questions(less)) < len(questions(stay))
    assert questions(trimmed(talk(9), ContextOptions(max_tokens=1)) or []) == [9]
