"""The tables of a language: word lists, patterns and sentences, grouped by the code that uses them.

Word lists come from the folder's ``words.toml``, sentences from ``sentences.toml``, patterns from
its modules. Patterns are regular expressions without flags; most are compiled to ignore case.
``missing`` lists required fields that are empty.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Literal

import msgspec
from msgspec import Struct
from msgspec.structs import asdict, fields

from slowcat_memory.core.language.data import read_data
from slowcat_memory.core.language.extracts import ExtractWords
from slowcat_memory.core.language.facts import FactWords, NameWords, PersonWords, StatementWords
from slowcat_memory.core.language.gate import GateWords
from slowcat_memory.core.language.intents import IntentWords
from slowcat_memory.core.language.note_words import NotedWords
from slowcat_memory.core.language.orders import OrderWords
from slowcat_memory.core.language.talk import TalkWords
from slowcat_memory.core.language.tense import TenseWords
from slowcat_memory.core.language.time import TimeWords

CommandKind = Literal[
    "remember",
    "forget_that",
    "forget_about",
    "forget_span",
    "forget_everything",
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
    "confirm",
]


class CommandRule(Struct, frozen=True, kw_only=True):
    """One pattern of a voice command.

    A pattern is a regular expression over words in lower case that are separated by single spaces,
    without punctuation. ``{x}`` is the argument; ``{name}`` inserts one of the table's ``parts``. A
    rule matches when its pattern is the whole utterance, apart from filler words around it.

    Attributes:
        kind: The command.
        says: The pattern.
        needs: Pattern that the argument must begin with; "" for anything.
        never: Pattern that the argument must not begin with; "" for nothing.
        max_words: Length limit of the argument.
    """

    kind: CommandKind
    says: str
    needs: str = ""
    never: str = ""
    max_words: int = 60


class CommandWords(Struct, frozen=True, kw_only=True):
    """Voice commands.

    Attributes:
        before: Filler words before a command.
        after: Filler words after a command.
        after_plain: More of them, after a command without an argument.
        parts: Named patterns that rules insert.
        rules: In order; the first match counts.
        intents: The classes of words by which the linear model judges what none of ``rules`` matches.
        statement: Pattern of the beginning of a whole statement, which can be remembered.
        no_order: Pattern of the beginning of a question about a state ("is this off the record"),
            or of a reproach ("you never remember anything"): neither changes anything.
        answers: Answers to a question of the memory; ignored at any other time.
        right_value: Pattern of a correction's beginning that only a value follows ("it's").
        right_and_wrong: Pattern of a correction with the right value as ``x`` or ``w``, and the
            wrong one as ``y`` or ``z``.
        spelt: Pattern of how a name is spelt, behind it ("with K").
        right_vague: Pattern of a beginning that refers to something else ("she"): such a correction
            says nothing alone.
        own: Pattern of words by which users refer to themselves.
        everything: Words for everything stored ("forget everything", "forget about me").
        leading: Words before a topic to forget that are not part of it ("my", "the").
    """

    before: tuple[str, ...]
    after: tuple[str, ...]
    after_plain: tuple[str, ...]
    parts: Mapping[str, str]
    rules: tuple[CommandRule, ...]
    intents: IntentWords
    statement: str
    no_order: str
    answers: tuple[CommandRule, ...]
    right_value: str
    right_and_wrong: str
    spelt: str
    right_vague: str
    own: str
    everything: frozenset[str]
    leading: frozenset[str]


class DateWords(Struct, frozen=True, kw_only=True):
    """Words for dates and times that are read aloud.

    Attributes:
        months: January first.
        weekdays: Monday first.
        parts: Parts of the day, by the hour at which they begin.
        on: A day of this week; ``{}`` is its name.
        last: A day of last week, likewise.
        day: ``{day}`` and ``{month}``.
        until: ``{}`` is the end.
        ago: "today", then ``{}`` for the number in "days", "weeks", "months", "years".
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
    """Sentences of the memory block.

    Attributes:
        instruction: System prompt text about the block; ``{tag}`` is its opening tag.
        search: System prompt text about the search tool ``{tool}``.
        now: ``{weekday}``, ``{date}`` and ``{time}``.
        agent: The agent as the speaker of a memory.
        earlier: When a memory was said that a later one changes: ``{}``.
        unchanged: For a turn that asks for a change of the memory and is no command.
    """

    instruction: str
    search: str
    now: str
    unknown: str
    unchanged: str
    agent: str
    earlier: str


class PreambleSentences(Struct, frozen=True, kw_only=True):
    """Sentences of the session preamble.

    Attributes:
        noted: Precedes everything: ``{open}`` and ``{close}`` are the marks around the notes.
        said: A quote: ``{who}``, ``{text}``.
        somebody: Who said what has no known speaker.
        headings: By block label.
        about: ``{user}``, ``{facts}``.
        once: After one earlier session: ``{date}``, ``{ago}``, ``{weekday}``, ``{today}``.
        times: After several: also ``{times}``.
        last_time: The last session's ``{summary}``.
        pinned: Precedes the pinned memories.
        icebreaker: ``{text}`` of what may be brought up.
    """

    noted: str
    said: str
    somebody: str
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
        tones: Changes of tone: ``{tones}``.
        tone_of_day: One step of ``{tones}``: ``{tone}``, ``{day}``.
        then: Separates two steps.
        tone_names: By tone, with the keys of ``Language.tones``.
        advised: Advice of the agent: ``{day}``, ``{text}``.
        recent: ``{text}`` of the last session's summary.
        of_week: ``{text}`` of the latest week's summary, which began on ``{day}``.
        of_day: The same of a day.
        profile: By profile field; ``{}`` is the value.
    """

    tone: str
    tones: str
    tone_of_day: str
    then: str
    tone_names: Mapping[str, str]
    advised: str
    recent: str
    of_week: str
    of_day: str
    profile: Mapping[str, str]


class IcebreakerSentences(Struct, frozen=True, kw_only=True):
    """What the agent is to ask, or to remind of; each has ``{quote}`` and ``{day}``."""

    open_thread: str
    event: str
    reminder: str


class Sentences(Struct, frozen=True, kw_only=True):
    """All generated sentences; ``Language`` has fields of the same names."""

    replies: Mapping[str, str]
    dates: DateWords
    memory_block: MemoryBlockSentences
    preamble: PreambleSentences
    blocks: BlockSentences
    icebreakers: IcebreakerSentences


def read_sentences(package: str) -> dict[str, Any]:
    """Return a language package's ``sentences.toml`` as arguments of ``Language``.

    Raises:
        msgspec.ValidationError: A sentence is missing; the message names it.
    """
    return asdict(msgspec.toml.decode(read_data(package, "sentences.toml"), type=Sentences))


class ReactionWords(Struct, frozen=True, kw_only=True):
    """Patterns over lower-case words for corrections and confirmations of a reply.

    Attributes:
        lead: Leading filler words.
        no: Denials.
        wrong: Beginnings of a correction; the correction follows.
        denied: Beginnings of a correction, only after one of ``no``.
        right: Whole utterances that confirm.
        thanks: Words that may follow a confirmation.
    """

    lead: str
    no: str
    wrong: tuple[str, ...]
    denied: tuple[str, ...]
    right: tuple[str, ...]
    thanks: str


class OverviewWords(Struct, frozen=True, kw_only=True):
    """Patterns of questions that ask for an overview of a period.

    Attributes:
        asks: Patterns of overview questions.
        about_a_thing: Patterns of questions about a single thing; these are no overview questions.
    """

    asks: tuple[str, ...]
    about_a_thing: tuple[str, ...]


class ProactiveWords(Struct, frozen=True, kw_only=True):
    """Patterns for open threads and icebreakers.

    Attributes:
        dated: Dated events worth asking about.
        own: First-person words.
        reminds: Words that ask to be reminded.
        off: Words for what does not take place any more.
        moved: Words for what takes place at another time.
        done: Words for a result: the matter is closed.
        did: Beginnings of what a person says to have done.
        still_open: Words for what was not done, or is still open.
        arrived: Words that say that something came, or is there.
        awaited: Words of a matter that is over once something came.
        helpers: Verbs beside which the matter's own verb says that it was done.
        generic: Words that do not tell what a matter is about, separated by spaces.
    """

    dated: str
    own: str
    reminds: str
    off: str
    moved: str
    done: str
    did: str
    still_open: str
    arrived: str
    awaited: str
    helpers: str
    generic: str


class SummaryWords(Struct, frozen=True, kw_only=True):
    """Words for choosing and cutting sentences.

    Attributes:
        clause: Words before which speech without punctuation may be cut.
        points_back: Pattern of a beginning that refers to the sentence before.
        own: First-person words that mark a statement.
        advice: Patterns of advice anywhere in a sentence.
        advice_begins: Patterns of advice at its beginning.
        denials: Words that negate the tone word after them.
        eased: Words behind a tone of distress that say that it passes ("my anxiety is gone").
        feels: Pattern of what begins a statement of one's own feeling: "I am", "my".
        unreal: Pattern of clauses that state no feeling of one's own now.
        degrees: Words between such a beginning and the tone word.
        polite: Words right behind a tone word that make it a phrase: "happy to help".
    """

    clause: frozenset[str]
    points_back: str
    own: str
    advice: str
    advice_begins: str = ""
    denials: frozenset[str]
    eased: frozenset[str]
    feels: str
    unreal: str
    degrees: frozenset[str]
    polite: frozenset[str]


class Language(Struct, frozen=True, kw_only=True):
    """One language's tables.

    Attributes:
        name: English name in lower case, also the name of its Snowball stemmer.
        code: Two-letter code.
        native: Its name in the language itself.
        other_names: Further names, e.g. the three-letter code.
        replies: Spoken replies by name, with ``{…}`` placeholders.
        tones: Words that show a speaker's tone, separated by spaces, by tone.
        orders: The grammar of orders to the agent.
        importance: Patterns of important words and the weight each adds to an ordinary text's 0.5;
            together below 0.5, so that pins stay above.
    """

    name: str
    code: str
    native: str
    other_names: tuple[str, ...]
    commands: CommandWords
    replies: Mapping[str, str]
    gate: GateWords
    tense: TenseWords
    time: TimeWords
    dates: DateWords
    memory_block: MemoryBlockSentences
    preamble: PreambleSentences
    blocks: BlockSentences
    icebreakers: IcebreakerSentences
    statements: StatementWords
    facts: FactWords
    persons: PersonWords
    names: NameWords
    reactions: ReactionWords
    tones: Mapping[str, str]
    overview: OverviewWords
    orders: OrderWords
    importance: tuple[tuple[str, float], ...]
    proactive: ProactiveWords
    summary: SummaryWords
    extracts: ExtractWords
    noted: NotedWords
    talk: TalkWords


def missing(table: Struct, like: Struct | None = None, path: str = "") -> Iterator[str]:
    """Yield the dotted paths of required fields and keys that a table lacks.

    Keys are those of the mappings of ``like``, a complete table; ``path`` is that of ``table``.
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
    """Return whether a mapping's keys are names that code looks up, not words."""
    return not name.startswith(
        (
            "commands.",
            "gate.",
            "time.",
            "dates.parts",
            "names.",
            "orders.",
            "persons.",
            "talk.",
            "statements.",
        )
    )
