"""Parses a query before a search: named speakers, times, and the turns that a follow-up refers to.

All by rules, in some tens of microseconds. In a language without rules a query is only its words.

A query for an overview ("what did we talk about last week?") is answered not by a turn but by the
week's summary; any other by the person's own words, without summaries.

Turns are read with the same words: how much does one say, and can it answer a later question at
all? Fillers, reactions ("great idea"), replies of not knowing and questions about oneself say
nothing, but share the words of a question better than its answer does: "where did we get the
scooter?" is nearest to its own earlier copies. Such turns stay in the index as neighbours, which
give the turns beside them their context, and are not proposed; see `Searcher.candidates`.
"""

import re
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta, tzinfo
from typing import Annotated

from msgspec import Meta, Struct

from slowcat_memory.core.language import LANGUAGES, language_of
from slowcat_memory.core.language.data import lazy_pattern
from slowcat_memory.core.language.english import vocabulary as english
from slowcat_memory.core.memory import CHUNK
from slowcat_memory.core.query.recall_gate import SENTENCE, judge
from slowcat_memory.core.text.normalize import WORD, asking, begins_sentence, content_words, fold
from slowcat_memory.core.text.pronunciations import MisheardWord
from slowcat_memory.core.text_caches import text_cache
from slowcat_memory.core.time.expressions import Interval, asked_about, times
from slowcat_memory.records import Memory

OTHER_QUESTION = 0.3  # weight of the words of a question that is not about the people here
MOST_IN_FILLER = 10  # words of a sentence that may be a filler or a command to a device
MOST_IN_FRAGMENT = 6  # words of a question without a verb that asks ("my dog's name?")
MOST_CHARS = 2000  # of a turn, that are read
MOST_IN_OVERVIEW = 160  # letters of a question for an overview; longer utterances are statements


_OVERVIEW = lazy_pattern(
    *(text for table in LANGUAGES for text in table.overview.asks), flags=re.IGNORECASE
)
_ABOUT_A_THING = lazy_pattern(  # followed by a thing: not an overview question
    *(text for table in LANGUAGES for text in table.overview.about_a_thing), flags=re.IGNORECASE
)


class Substance(Struct, frozen=True):
    """How much a memory says.

    Attributes:
        share: Share of its words that say something, 0 to 1; those of most questions count
            ``OTHER_QUESTION``. 0: it is not recalled.
        asks: It only asks about the people here; what the agent answers repeats a memory.
    """

    share: float = 1.0
    asks: bool = False


SAYS = Substance()


def substance(memory: Memory, language: str) -> Substance:
    """Return how much a memory says; anything but the words of a turn says all."""
    if memory.kind != CHUNK or memory.pinned:
        return SAYS
    return of_words(memory.text[:MOST_CHARS], memory.role == "assistant", language)


def of_words(text: str, by_agent: bool, language: str) -> Substance:
    """Return how much the words of a turn say."""
    content, every, about_people = 0.0, 0, False
    for sentence in SENTENCE.findall(text):
        words = [fold(match[0].replace("’", "'")) for match in WORD.finditer(sentence)]
        weight = _weight(sentence, words, by_agent, language) if words else None
        if weight is not None:
            every += len(words)
            content += weight * len(words)
            about_people = about_people or weight == 0 and _about_people(words, language)
    if not every:
        return Substance(0.0)
    return Substance(content / every, about_people and not content and not by_agent)


def asks_about_talk(query: str, language: str) -> bool:
    """Return whether a query is for what was asked earlier: questions answer it."""
    return bool(language_of(language).talk.about_talk.search(fold(query)))


def asks_overview(text: str) -> bool:
    """Return whether a question asks for an overview ("catch me up"), in any language."""
    short = len(text) <= MOST_IN_OVERVIEW
    return short and bool(_OVERVIEW.search(text)) and not _ABOUT_A_THING.search(text)


def _weight(sentence: str, words: list[str], by_agent: bool, language: str) -> float | None:
    """Return what a sentence's words count, 0 to 1; None for a filler, which counts as no words."""
    talk, line = language_of(language).talk, " ".join(words)
    if len(words) <= MOST_IN_FILLER and not judge(sentence, language).query:
        return None
    if talk.no_answer.fullmatch(line) or by_agent and talk.ignorance.search(line):
        return None
    asks = talk.question.match(line)
    if asks or sentence.rstrip().endswith(("?", "？", "؟")):
        if talk.telling.search(line):
            return 1.0
        fragment = len(words) <= MOST_IN_FRAGMENT and words[0] not in talk.tells_first
        about_people = (asks or fragment) and _about_people(words, language)
        return 0.0 if by_agent or about_people else OTHER_QUESTION
    if talk.empty.issuperset(words) and (by_agent or talk.persons.isdisjoint(words)):
        return None
    return 1.0


def _about_people(words: list[str], language: str) -> bool:
    """Return whether a question is about the people here, or an earlier conversation."""
    line, table = " ".join(words), language_of(language)
    return bool(table.talk.about_people.search(line) or table.gate.memory.search(line))


CONTEXT_WORDS = 8  # words that a follow-up takes from the dialogue
CONTEXT_S = 600.0  # age from which follow-ups no longer refer to a turn
_JOINS = ("and", "or", "but", "und", "oder", "aber")
_TALKING = frozenset(("i", "you", "ich", "du"))
_CAPITAL = re.compile(r"[^\W\d_a-z]")


class AskOptions(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How a query is parsed.

    Attributes:
        names: Find speakers' names: the named speaker's own words count more (``rank.named``), and
            the query's vector is made without the name.
        sounds: Search also for names that a word may be misheard for: a word that was never said in
            the namespace and sounds like one of its names.
        sounds_weight: Weight of such a name, as a share of a spoken name's; lower it for a better
            STT. From 0.5 to 1 misheard questions improve (LoCoMo, R@10: 66.2 to 68.1 by words
            alone), and others lose nothing.
        times: Find time expressions ("last week", "in May"): memories of that time count more
            (``rank.when``).
        follow_up: Add words of the last turns to a follow-up ("and what about him?").
        dialogue: Weight of the last two turns' vectors in the query's vector; 0 for none. Lower it
            if users change the subject often.
    """

    names: bool = True
    sounds: bool = True
    sounds_weight: Annotated[float, Meta(ge=0, le=1)] = 0.85
    times: bool = True
    follow_up: bool = True
    dialogue: Annotated[float, Meta(ge=0, le=10)] = 0.5


class DialogueTurn(Struct, frozen=True):
    """A turn of the dialogue before a query; ``memory`` is the id of its memory, or ""."""

    text: str
    at: datetime
    memory: str = ""


class ParsedQuery(Struct, frozen=True, kw_only=True):
    """A parsed query.

    Attributes:
        words: The text for the lexical search.
        also: Names possibly meant, each with its share of a spoken name's weight.
        meaning: The text to embed.
        named: The speakers that it names.
        times: The past times that it mentions.
        about_talk: It is about what was asked: earlier questions answer it.
    """

    words: str
    meaning: str
    also: tuple[tuple[str, float], ...] = ()
    named: tuple[str, ...] = ()
    times: tuple[Interval, ...] = ()
    about_talk: bool = False


def parse_query(
    text: str,
    now: datetime,
    zone: tzinfo,
    *,
    speakers: Iterable[str] = (),
    heard: Sequence[MisheardWord] = (),
    dialogue: Sequence[DialogueTurn] = (),
    language: str = "english",
    options: AskOptions,
) -> ParsedQuery:
    """Parse a query; ``heard`` are possibly misheard names, ``dialogue`` is oldest first."""
    if options.follow_up and dialogue:
        text = with_context(text, dialogue, now, language)
    spans: tuple[Interval, ...] = ()
    if options.times and asking(text):  # times in statements do not help
        spans = asked_about(text, times(text, now, zone, language), now)
    about_talk = asks_about_talk(text, language)
    also = tuple((guess.name, options.sounds_weight * guess.confidence) for guess in heard)
    corrected = _with_heard_names(text, heard)
    speakers = tuple(speakers) if options.names else ()
    return ParsedQuery(
        words=text,
        meaning=without_names(corrected, speakers),
        also=also,
        named=tuple(speakers_named(corrected, speakers)),
        times=spans,
        about_talk=about_talk,
    )


def _with_heard_names(text: str, heard: Sequence[MisheardWord]) -> str:
    """Replace misheard words by the names, for checks on the whole text."""
    for guess in heard:
        words = r"\s+".join(map(re.escape, guess.said.split()))
        text = re.sub(rf"\b{words}\b", lambda _: guess.name, text, count=1)  # noqa: B023  # at once
    return text


def with_context(
    text: str, dialogue: Sequence[DialogueTurn], now: datetime, language: str = "english"
) -> str:
    """Complete a follow-up with up to ``CONTEXT_WORDS`` words of the dialogue's last two turns.

    Names come first, then the longest words. Other texts are unchanged. ``dialogue`` is oldest
    first.
    """
    if not leans(text, language):
        return text
    oldest = now - timedelta(seconds=CONTEXT_S)
    asked = {word.lower() for word in WORD.findall(text)}
    weights: dict[str, float] = {}
    for turn in dialogue[-2:]:
        within = (m for m in WORD.finditer(turn.text) if not begins_sentence(turn.text, m.start()))
        names = {match[0] for match in within if _CAPITAL.match(match[0])}
        for word in content_words(turn.text) if turn.at >= oldest else ():
            if word.lower() not in asked:
                weights[word] = len(word) + (1e6 if word in names else 0.0)
    best = sorted(weights, key=lambda word: -weights[word])[:CONTEXT_WORDS]
    return " ".join([text, *(word for word in weights if word in best)])


def leans(text: str, language: str = "english") -> bool:
    """Return whether a question depends on the dialogue ("and what about him?", "why?")."""
    words = [word.lower().replace("’", "'") for word in WORD.findall(text)]
    if not words or len(words) > 14:
        return False
    table = language_of(language)
    talk, function = table.talk, table.extracts.function
    content = [word for word in content_words(text) if word.casefold() not in function]
    bare = {word.partition("'")[0] for word in words}
    joined = bool(talk.joins.match(text)) and (
        words[0] not in _JOINS or "?" in text or len(words) < 6
    )
    asks = joined or bool(asking(text))
    pronoun = not talk.refers.isdisjoint(bare)
    if not content:  # "why?", but not "how are you"
        return asks and (pronoun or bare.isdisjoint(_TALKING))
    if any(_CAPITAL.match(word) for word in content[1:]) and not joined:
        return False
    if joined:
        return len(content) <= 2 or (pronoun and len(content) <= 3)
    return asks and pronoun and len(content) <= 1 and bare.isdisjoint(talk.own)


# ------------------------------------------------------------------- speakers

_CALENDAR = lazy_pattern(  # what makes "May" a month
    r"(?:\b(?:in|since|last|next|this|until|by|early|mid|late|during|of|and|\d\d?(?:st|nd|rd|th)?)\s+)$",
    flags=re.IGNORECASE,
)
_DAY = lazy_pattern(r",?\s*\d")
_MONTHS = frozenset(("april", "may", "june", "august", "summer", "autumn", "winter"))
_NO_SPACES = lazy_pattern(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]"
)
_WORD = lazy_pattern(r"[^\W_]+(?:['’][^\W_]+)?")


class _Compiled(Struct, frozen=True):
    """The pattern that finds names, and the speakers of each."""

    pattern: re.Pattern[str]
    owners: dict[str, tuple[str, ...]]


def without_names(text: str, names: Iterable[str]) -> str:
    """Return a query for the dense field, with speakers' names replaced by "they" and "their".

    Parts of a name count as well ("Anna" of "Anna Berg"). The original text is returned if it has
    no name, or if nothing meaningful would be left.
    """
    compiled = _compile(frozenset(names))
    if compiled is None:
        return text
    bare = compiled.pattern.sub(
        lambda match: ("their" if match["s"] else "they") if _is_name(match) else match[0], text
    )
    if bare == text:
        return text
    words = (word for word in _WORD.findall(bare.lower()))
    return bare if any(word.partition("'")[0] not in english.STOP_WORDS for word in words) else text


def speakers_named(text: str, names: Iterable[str]) -> list[str]:
    """Return the speakers that a query names, in query order; for a shared name, all of them."""
    compiled = _compile(frozenset(names))
    if compiled is None:
        return []
    keys = (_key(match[1]) for match in compiled.pattern.finditer(text) if _is_name(match))
    return list(dict.fromkeys(name for key in keys for name in compiled.owners.get(key, ())))


@text_cache(256)
def _compile(names: frozenset[str]) -> _Compiled | None:
    owners: dict[str, list[str]] = {}
    for name in sorted(names):
        parts = _WORD.findall(name)
        whole = [" ".join(name.split())] if parts else []
        long = (part for part in parts if len(part) > 2 or _NO_SPACES.search(part))
        for part in dict.fromkeys([*whole, *long]):
            if _key(part) not in english.ROLES and not part.isdecimal():
                owners.setdefault(_key(part), []).append(name)
    if not owners:
        return None
    longest_first = sorted(owners, key=len, reverse=True)
    pattern = "|".join(_bounded(part) for part in longest_first)
    return _Compiled(
        pattern=re.compile(rf"({pattern})(?P<s>['’]s\b|(?<=s)['’](?!\w))?", re.IGNORECASE),
        owners={part: tuple(many) for part, many in owners.items()},
    )


def _bounded(part: str) -> str:
    escaped = re.escape(part).replace(r"\ ", r"\s+").replace("'", "['’]")
    return escaped if _NO_SPACES.search(part) else rf"(?<!\w){escaped}(?!\w)"


def _key(name: str) -> str:
    return " ".join(name.lower().replace("’", "'").split())


def _is_name(match: re.Match[str]) -> bool:
    """Return whether an ambiguous word is a name: capitalised, and not for another reason."""
    key = _key(match[1])
    if key not in english.COMMON_NAMES:
        return True
    begins = begins_sentence(match.string, match.start()) and not match["s"]
    if begins or not match[1][0].isupper():
        return False
    before = match.string[: match.start()]
    rest = match.string[match.end() : match.end() + 6]
    return key not in _MONTHS or not (_CALENDAR.search(before) or _DAY.match(rest))
