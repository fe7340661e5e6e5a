"""Does what somebody says need a memory, and does it ask for one?

"Okay, thanks", "louder", "turn off the lights" need none: looking one up would put words before the
LLM that have nothing to do with it. What is skipped is made of known words alone, from its first
word to its last: anything else may carry content, and is looked up.

A question that asks for a memory of the people here ("what's my sister's name", "when did Anna
move") is told from one about the world ("what is the capital of France"): only the first must be told
that there is no memory of it, lest the LLM make one up.
"""

import re
from collections.abc import Sequence

from msgspec import Struct

from slowcat_memory.core.language import language_of
from slowcat_memory.core.language.gate import GateWords, PhraseTable

MOST_WORDS = 16  # of an utterance that is no more than fillers or a command
MOST_COURTESY = 6  # words behind a command
MOST_CHARS = 300  # of a question, read for what it asks for
MOST_READ = 3000  # of an utterance, from its end: questions come last
_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
_SENTENCE = re.compile(r"[^.!?…;。！？؟\n]+[.!?…;。！？؟]*")
_LAUGHTER = re.compile(
    r"(?:ha|he|hi|ho|hah|heh){2,}h?|lo+l|h+m+|m+h+m+|m{2,}|u+h+|u+m+|a+h+|o+h+|e+h+m*"
)


class GateOptions(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which turns need no memory.

    Attributes:
        enabled: Skip recall for "okay", thanks, laughter and pure commands, and look up what follows
            a greeting without it. Off: everything is looked up as it was said.
    """

    enabled: bool = True


class Need(Struct, frozen=True, kw_only=True):
    """What an utterance needs.

    Attributes:
        query: What to look up; "" for nothing.
        asks: Whether it asks anything, but for advice or about the world in general.
        asks_memory: Whether it asks for a memory of the people here, or of what was talked about.
        asks_somebody: Whether it asks about somebody by name, and not about the world in general.
        asks_time: Whether it asks for the time or the date, or for what depends on it ("how long
            until my appointment").
    """

    query: str
    asks: bool = False
    asks_memory: bool = False
    asks_somebody: bool = False
    asks_time: bool = False

    @property
    def asks_at_all(self) -> bool:
        """Whether it may have to be told that nothing is remembered."""
        return self.asks or self.asks_memory or self.asks_somebody


def judge(text: str, language: str = "english") -> Need:
    """Judge an utterance.

    Args:
        language: Whose words, as in ``language_of``.
    """
    table = language_of(language).gate
    found = list(_WORD.finditer(text[:MOST_CHARS]))
    words = [_folded(match[0]) for match in found]
    if len(words) <= MOST_WORDS and len(text) <= MOST_CHARS:
        readings = _readings(words, table)
        if not table.time.isdisjoint(readings):
            return Need(query="", asks_time=True)
        if _after(words, table.fillers) == len(words) or _is_command(readings, table):
            return Need(query="")
    start = _after(words, table.greetings, laughter=False)
    query = text[found[start].start() :] if 0 < start < len(found) else text
    return _asked(query, table)


def _asked(query: str, table: GateWords) -> Need:
    """Read what the questions of a query ask for."""
    asked = [one for one in _SENTENCE.findall(query[-MOST_READ:]) if _asks(one, table)]
    lines = [_line(one, table) for one in asked]
    for_advice = [bool(table.advice.match(line)) for line in lines]
    open_ = [
        not advice and not table.general.search(line)
        for line, advice in zip(lines, for_advice, strict=True)
    ]
    return Need(
        query=query,
        asks=any(open_),
        asks_memory=any(
            not advice and table.memory.search(line)
            for line, advice in zip(lines, for_advice, strict=True)
        ),
        asks_somebody=any(
            is_open and table.named.search(one[-MOST_CHARS:])
            for one, is_open in zip(asked, open_, strict=True)
        ),
        asks_time=any(table.about_now.search(line) for line in lines),
    )


def _folded(word: str) -> str:
    return word.casefold().replace("’", "'")


def _after(words: Sequence[str], phrases: PhraseTable, *, laughter: bool = True) -> int:
    """Count the words at the beginning that phrases can be made of, as many as there are."""
    ends = {0}
    for place, word in enumerate(words):
        if place > max(ends):
            break
        if place in ends:
            known = phrases.get(word, ())
            ends |= {place + len(p) for p in known if tuple(words[place : place + len(p)]) == p}
            if laughter and _LAUGHTER.fullmatch(word):
                ends.add(place + 1)
    return max(ends)


def _readings(words: list[str], table: GateWords) -> set[str]:
    """Return the ways to leave out greeting and courtesy in front and behind."""
    words = [word for word in words if word not in table.please] or words
    first = _after(words, table.greetings)
    starts = {0, first, _after(words, table.courtesy)}
    starts.add(first + _after(words[first:], table.courtesy))
    size = len(words)
    ends = [
        end
        for end in range(max(1, size - MOST_COURTESY), size + 1)
        if _after(words[end:], table.courtesy) == size - end
    ]
    return {" ".join(words[start:end]) for start in starts for end in ends if start < end}


def _is_command(readings: set[str], table: GateWords) -> bool:
    if not table.commands.isdisjoint(readings):
        return True
    return any(_of_devices(one.split(), table) for one in readings)


def _of_devices(words: Sequence[str], table: GateWords) -> bool:
    """Return whether an utterance is a verb and a device, and words that go with them alone."""
    if table.verbs.isdisjoint(words) or table.devices.isdisjoint(words):
        return False
    known = (table.verbs, table.devices, table.other)
    return all(word.isdecimal() or any(word in some for some in known) for word in words)


def _asks(sentence: str, table: GateWords) -> bool:
    if sentence.rstrip().endswith(("?", "？", "؟")):
        return True
    first = [_folded(match[0]) for match in _WORD.finditer(sentence[:80])]
    start = _after(first, table.fillers)  # "so", "oh": recognisers leave the mark out
    start += _after(first[start:], table.courtesy)  # "and"
    return start < len(first) and first[start] in table.asking


def _line(sentence: str, table: GateWords) -> str:
    """Fold a sentence, without the fillers that it begins with."""
    words = [_folded(match[0]) for match in _WORD.finditer(sentence[-MOST_CHARS:])]
    return " ".join(words[_after(words, table.fillers) :] or words)
