"""What a language must bring: every list of words and every sentence, by the job that uses it.

``Language`` is one language's whole table. Lists of words stand in the folder's ``words.toml``,
sentences in ``sentences.toml``, patterns in its modules. Patterns are regular expressions without
flags; the code that compiles them says which (most ignore case). A field without a default must be
filled in: ``missing`` names those that are not.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Literal

import msgspec
from msgspec import Struct
from msgspec.structs import asdict, fields

from slowcat_memory.core.language.data import read_data
from slowcat_memory.core.language.facts import FactWords, NameWords, StatementWords
from slowcat_memory.core.language.gate import GateWords
from slowcat_memory.core.language.time import TimeWords

CommandKind = Literal[
    "remember",
    "forget_that",
    "forget_about",
    "correct",
    "what_known",
    "why",
    "off_record",
    "on_record",
    "who_sees",
    "undo",
    "local",
    "yes",
    "no",
]


class CommandRule(Struct, frozen=True, kw_only=True):
    """One way to say a voice command.

    A pattern is a regular expression over words in lower case that are separated by single spaces,
    without punctuation. ``{x}`` is the argument; ``{name}`` inserts one of the table's ``parts``.
    A rule matches when its pattern is the whole utterance, apart from filler words around it.

    Attributes:
        kind: Which command.
        says: Its pattern, see above.
        needs: Pattern that the argument must begin with; "" for anything.
        never: Pattern that the argument must not begin with; "" for nothing.
        never_ends: Pattern that the argument must not end with; "" for nothing.
        max_words: Length limit of the argument.
        may_ask: Whether the command may be written as a question.
    """

    kind: CommandKind
    says: str
    needs: str = ""
    never: str = ""
    never_ends: str = ""
    max_words: int = 60
    may_ask: bool = True


def rules_of(kind: CommandKind, *patterns: str, **limits: Any) -> tuple[CommandRule, ...]:
    """Return rules for several ways to say a command, with the same limits."""
    return tuple(CommandRule(kind=kind, says=says, **limits) for says in patterns)


class CommandWords(Struct, frozen=True, kw_only=True):
    """Voice commands to the memory.

    Attributes:
        before: Filler words in front of a command.
        after: Filler words behind a command.
        after_plain: More of them, where the command has no argument.
        parts: Patterns by the name under which rules insert them.
        rules: In order; the first that matches counts.
        answers: Ways to answer a question that the memory asked; ignored at any other time.
        requests: Those of ``before`` that make a question a command: "could you remember that…?"
        own: Words by which users speak of themselves, a pattern.
        everything: Words for all that is stored ("forget everything", "forget about me").
        leading: Words in front of a topic to forget that are no part of it ("my", "the").
    """

    before: tuple[str, ...]
    after: tuple[str, ...]
    after_plain: tuple[str, ...]
    parts: Mapping[str, str]
    rules: tuple[CommandRule, ...]
    answers: tuple[CommandRule, ...]
    requests: tuple[str, ...]
    own: str
    everything: frozenset[str]
    leading: frozenset[str]


class DateWords(Struct, frozen=True, kw_only=True):
    """How dates and times are read aloud.

    Attributes:
        months: January first.
        weekdays: Monday first.
        today: The word; likewise ``yesterday``.
        yesterday: See ``today``.
        parts: Part of today by the hour at which it begins.
        on: A day of this week, ``{}`` for its name.
        last: A day of last week, likewise.
        day: ``{day}`` and ``{month}``.
        until: ``{}`` for the end.
        ago: How long ago: "today", then ``{}`` for the number in "days", "weeks", "months",
        "years".
    """

    months: tuple[str, ...]
    weekdays: tuple[str, ...]
    today: str
    yesterday: str
    parts: Mapping[int, str]
    on: str
    last: str
    day: str
    until: str
    ago: Mapping[str, str]


class MemoryBlockSentences(Struct, frozen=True, kw_only=True):
    """The block of recalled memories that goes before the LLM.

    Attributes:
        instruction: What the system prompt says about the block; ``{tag}`` is its opening tag.
        search: What it says about the ``{tool}`` that searches the memory.
        now: ``{weekday}``, ``{date}`` and ``{time}`` of now.
        unknown: Says that nothing is remembered.
        agent: The agent as the speaker of a memory.
        line: A memory: ``{when}``, ``{who}``, ``{text}``.
    """

    instruction: str
    search: str
    now: str
    unknown: str
    agent: str
    line: str


class PreambleSentences(Struct, frozen=True, kw_only=True):
    """The session preamble.

    Attributes:
        noted: Stands before the blocks.
        headings: By the label of a block.
        about: ``{user}``, ``{facts}``.
        once: One session before: ``{date}``, ``{ago}``, ``{weekday}`` and ``{today}``.
        times: Several: also ``{times}``.
        last_time: The last session's ``{summary}``.
        pinned: Stands before the pinned memories.
        icebreaker: ``{text}`` of what may be brought up.
    """

    noted: str
    headings: Mapping[str, str]
    about: str
    once: str
    times: str
    last_time: str
    pinned: str
    icebreaker: str


class BlockSentences(Struct, frozen=True, kw_only=True):
    """Lines of blocks that are written without an LLM.

    Attributes:
        tone: The user's ``{tone}``.
        tones: How it changed: ``{tones}``.
        tone_of_day: One step of that: ``{tone}``, ``{day}``.
        then: Between two steps.
        tone_names: By tone, as the tone words are keyed.
        advised: What the agent advised: ``{day}``, ``{text}``.
        recent: ``{text}`` of the last session's summary.
        topics: ``{topics}`` of the last day.
        profile: A profile field by its name, ``{}`` for the value.
    """

    tone: str
    tones: str
    tone_of_day: str
    then: str
    tone_names: Mapping[str, str]
    advised: str
    recent: str
    topics: str
    profile: Mapping[str, str]


class IcebreakerSentences(Struct, frozen=True, kw_only=True):
    """What the agent is told to ask: each with ``{quote}`` and ``{day}``."""

    open_thread: str
    event: str


class Sentences(Struct, frozen=True, kw_only=True):
    """All that the product writes in a language: fields of ``Language`` by the same names."""

    replies: Mapping[str, str]
    dates: DateWords
    memory_block: MemoryBlockSentences
    preamble: PreambleSentences
    blocks: BlockSentences
    icebreakers: IcebreakerSentences


def read_sentences(package: str) -> dict[str, Any]:
    """Return what a language package's ``sentences.toml`` holds, as arguments of ``Language``.

    Raises:
        msgspec.ValidationError: One is not there; the message names it.
    """
    return asdict(msgspec.toml.decode(read_data(package, "sentences.toml"), type=Sentences))


class ReactionWords(Struct, frozen=True, kw_only=True):
    """How users correct or confirm a reply: patterns over lower-case words.

    Attributes:
        lead: Filler words in front.
        no: Words that deny.
        wrong: Beginnings that correct; what follows is the correction.
        denied: Beginnings that correct only behind one of ``no``.
        right: Whole utterances that confirm.
        thanks: Words that may stand behind a confirmation.
    """

    lead: str
    no: str
    wrong: tuple[str, ...]
    denied: tuple[str, ...]
    right: tuple[str, ...]
    thanks: str


class OverviewWords(Struct, frozen=True, kw_only=True):
    """Questions that ask for an overview of a time: patterns.

    Attributes:
        asks: One of them asks for an overview.
        about_a_thing: One of them shows that a single thing is asked about after all.
    """

    asks: tuple[str, ...]
    about_a_thing: tuple[str, ...]


class ProactiveWords(Struct, frozen=True, kw_only=True):
    """What is worth asking about another time: patterns of words.

    Attributes:
        asks: Beginnings of an icebreaker that asks.
        dated: What is dated and worth asking about.
        has: Words by which somebody has something ahead of them.
        over: Words that show that it is over.
        own: First-person words.
    """

    asks: str
    dated: str
    has: str
    over: str
    own: str


class SummaryWords(Struct, frozen=True, kw_only=True):
    """Words that choosing and cutting sentences looks at.

    Attributes:
        clause: Words before which speech without punctuation may be cut.
        points_back: Pattern of a beginning that speaks of what the sentence before it named.
        own: First-person words that mark a statement.
        advice: Patterns of advice anywhere in a sentence.
        advice_begins: Patterns of advice at its beginning.
        denials: Words that deny the tone word after them.
    """

    clause: frozenset[str]
    points_back: str
    own: str
    advice: str
    advice_begins: str = ""
    denials: frozenset[str]


class Language(Struct, frozen=True, kw_only=True):
    """One language's tables.

    Attributes:
        name: English name in lower case, which is that of its Snowball stemmer.
        code: Two letters.
        native: What it calls itself.
        other_names: Further names, e.g. the three-letter code.
        replies: What the memory says aloud, by name; ``{…}`` are filled in.
        tones: Words that tell how somebody sounds, separated by spaces, by tone.
        injection: Patterns of text that reads like an instruction to an LLM.
        importance: Patterns of words that make a text important, and what each adds to the 0.5 of
            an ordinary text; all together stay below 0.5, which is a pin's.
    """

    name: str
    code: str
    native: str
    other_names: tuple[str, ...]
    commands: CommandWords
    replies: Mapping[str, str]
    gate: GateWords
    time: TimeWords
    dates: DateWords
    memory_block: MemoryBlockSentences
    preamble: PreambleSentences
    blocks: BlockSentences
    icebreakers: IcebreakerSentences
    statements: StatementWords
    facts: FactWords
    names: NameWords
    reactions: ReactionWords
    tones: Mapping[str, str]
    overview: OverviewWords
    injection: tuple[str, ...]
    importance: tuple[tuple[str, float], ...]
    proactive: ProactiveWords
    summary: SummaryWords


def missing(table: Struct, like: Struct | None = None, path: str = "") -> Iterator[str]:
    """Name what a language's table lacks.

    Args:
        table: The table, or a part of it.
        like: A complete table: each of its mappings' keys is expected as well.
        path: Where in the whole this part stands.

    Yields:
        Dotted paths of required fields that are empty, and of keys that are not there.
    """
    for field in fields(table):
        value, name = getattr(table, field.name), f"{path}.{field.name}".lstrip(".")
        other = getattr(like, field.name, None)
        if isinstance(value, Struct):
            yield from missing(value, other, name)
        elif field.required and not getattr(value, "pattern", value):
            yield name
        elif isinstance(value, Mapping) and isinstance(other, Mapping) and _same_keys(name):
            yield from (f"{name}[{key!r}]" for key in other if not value.get(key))


def _same_keys(name: str) -> bool:
    """Return whether the keys of a mapping are names that code looks up, and not words."""
    return not name.startswith(("commands.", "gate.", "time.", "dates.parts", "names."))
