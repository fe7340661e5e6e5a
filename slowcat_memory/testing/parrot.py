"""Replaces an LLM by quoting the memory blocks of its prompt.

The demo and tests use it to show, without an LLM, that a memory reached the prompt.
"""

import re
from typing import Any

from slowcat_memory.runtime.injection import message_text

_BLOCK = re.compile(r"\s*<memories>(.*?)</memories>", re.DOTALL)
_LINE = re.compile(
    r"- (?:\((?P<when>[^)]*)\) )?(?:(?P<who>[^\s:]+(?: [^\s:]+){0,2}): )?(?P<what>.*)"
)
_ASKS = re.compile(
    r"(who|what|when|where|which|whose|why|how|do|does|did|is|are|was|were|can|could|will|have|has)\b"
)
_EMPTY_WORDS = frozenset(
    "a an the this that and or but if so not no yes to of in on at for from by with about as into "
    "i me my mine you your yours he him his she her hers it its we us our they them their "
    "am is are was were be been do does did have has had can could will would shall should may "
    "who what when where which whose why how there here tell know remember please again "
    "s t m re ve ll d".split()
)


def parrot(request: dict[str, Any], *, trusting: bool = False) -> str:
    """Answer from the `<memories>` blocks of a request.

    A question is answered with the memory line that shares most content words with it, the newest
    of equals; "I don't know" when no line fits, "I am listening" when nothing is asked. Nothing
    else is read, so a quoted memory has reached the request in a block. Blocks of earlier user
    messages count too, because injected memories stay in the conversation.

    Args:
        trusting: When no line shares a word with the question, quote the last line of its own
            block, which recall ranked best.
    """
    turns = [message_text(m) for m in request.get("messages", []) if m.get("role") == "user"]
    words = _BLOCK.sub("", turns[-1]).strip() if turns else ""
    if not (words.endswith("?") or _ASKS.match(words.casefold())):
        return "I am listening."
    lines = [line for text in turns for line in _remembered(text)]
    if not lines:
        return "I don't know, I have no memory of that."
    asked = _content_words(words)
    shared = [len(asked & _content_words(line[0])) for line in lines]
    if any(shared):
        return _quote(lines[max(range(len(lines)), key=lambda i: (shared[i], i))])
    if trusting and (own := _remembered(turns[-1])):
        return _quote(own[-1])
    return "I don't know, nothing that I remember is about that."


def _remembered(text: str) -> list[re.Match[str]]:
    matches = (_LINE.match(line) for block in _BLOCK.findall(text) for line in block.splitlines())
    return [line for line in matches if line and line["when"] != "now" and line["what"][:1] != "("]


def _content_words(text: str) -> set[str]:
    words = set(re.findall(r"\w+", text.casefold())) - _EMPTY_WORDS
    return {re.sub(r"(?<=\w{3})(ing|ed|es|s|e)$", "", word) for word in words}


def _quote(line: re.Match[str]) -> str:
    when = f" ({line['when']})" if line["when"] else ""
    who = "I" if line["who"] == "You" else line["who"]  # in a block, "You" is the assistant
    return f"I remember{when}: {f'{who} said, ' if who else ''}“{line['what'].strip()}”"
