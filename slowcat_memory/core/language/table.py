"""The tables of a language: word lists, patterns and sentences, grouped by the code that uses them.

Word lists come from the folder's ``words.toml``, sentences from ``sentences.toml``, patterns from
its modules. Patterns are regular expressions without flags; most are compiled to ignore case.
The test of languages names required fields that are empty.
"""

import re
from collections.abc import Mapping
from importlib import import_module
from typing import Any, Literal

from msgspec import Struct
from msgspec.structs import asdict, fields

from slowcat_memory.core.language.data import filled, read_toml, read_words
from slowcat_memory.core.language.facts import FactWords, NameWords, PersonWords, StatementWords
from slowcat_memory.core.language.gate import GateWords
from slowcat_memory.core.language.time import TenseWords, TimeWords
from slowcat_memory.core.language.word_classes import IntentWords, OrderWords

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
        max_words: Length limit of the argument.
    """

    kind: CommandKind
    says: str
    needs: str = ""
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
        leading: Words before a topic to forget that are not part of it ("my", "the").
    """

    before: tuple[str, ...]
    after: tuple[str, ...]
    after_plain: tuple[str, ...]
    parts: Mapping[str, str]
    rules: tuple[CommandRule, ...]
    intents: IntentWords
    no_order: str
    answers: tuple[CommandRule, ...]
    right_value: str
    right_and_wrong: str
    spelt: str
    right_vague: str
    own: str
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
    """All generated sentences.

    Attributes:
        replies: Spoken replies by name, with ``{…}`` placeholders.
    """

    replies: Mapping[str, str]
    dates: DateWords
    memory_block: MemoryBlockSentences
    preamble: PreambleSentences
    blocks: BlockSentences
    icebreakers: IcebreakerSentences


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
        denials: Words that negate what is after them.
    """

    clause: frozenset[str]
    points_back: str
    own: str
    advice: str
    advice_begins: str = ""
    denials: frozenset[str]


class ExtractWords(Struct, frozen=True, kw_only=True):
    """Words by which summaries by rule cut sentences into clauses, and choose clauses.

    Attributes:
        conjunctions: They begin a clause after a comma.
        contrasts: They begin a clause anywhere.
        additions: They begin a clause before one of ``subjects``.
        subjects: Words that begin a main clause.
        openings: Beginnings that say nothing ("well", "I think").
        tails: Ends that say nothing ("you know").
        listener: Words for whom one speaks to.
        fillers: Emphasis, which can be dropped anywhere ("really").
        function: Words without content of their own ("the").
        light: Words of any conversation, which distinguish none.
        articles: Words before a noun ("the", "my").
        changes: Words for what changes somebody's life ("moved", "sold").
        chatter: Talk about the conversation itself ("can you hear me").
    """

    conjunctions: tuple[str, ...]
    contrasts: tuple[str, ...]
    additions: tuple[str, ...]
    subjects: tuple[str, ...]
    openings: tuple[str, ...]
    tails: tuple[str, ...]
    listener: tuple[str, ...]
    fillers: frozenset[str]
    function: frozenset[str]
    light: frozenset[str]
    articles: frozenset[str]
    changes: frozenset[str]
    chatter: tuple[str, ...]


class TalkWords(Struct, frozen=True, kw_only=True):
    """Talk that says nothing by itself, and what questions ask for; see `core.query`.

    Attributes:
        empty: Words of which a reaction consists ("that sounds like a great idea").
        persons: Words by which a sentence of empty words may still say something about somebody
            ("she is nice"): such a sentence of the user's is no reaction.
        question: Matches a folded sentence that asks, without a question mark.
        tells_first: Words that begin a statement, though it may end in "okay?".
        telling: Matches a folded question that says something or asks for a task ("did I tell you
            that …", "can you remind me to …").
        asks_name: Matches a folded question for what somebody or something is called.
        about_people: Matches a folded question about the user or people around them.
        ignorance: Matches the part of the agent's sentence that says that it does not know.
        no_answer: Matches a whole sentence of the user's that only says so.
        about_talk: Matches a folded query for what was asked earlier.
        joins: Matches the beginning of a follow-up ("and", "what about").
        refers: Words that stand for what was spoken of before.
        own: Words for oneself, with which a question stands on its own.
        change: Matches a folded statement that something is different from before.
        renewal: Matches one that is so only if both statements are about the same matter.
        asked: The predicates that answer a question for a fact about the user, then patterns of such
            folded questions; a group is the thing, ``{thing}`` in the predicates.
        asking: Matches the word of a folded text with which a question for such a fact begins.
        former: Matches a folded question for what held before something else.
        ahead: Matches a folded question for what is ahead, or when something is.
        when: Matches one that asks when a certain thing is.
        ahead_words: Matches the words of such a question, and of an appointment, that name no thing.
        values: Matches a folded question for a value; the group "counted" is the thing whose number
            is asked for.
        amounts: Values in words that are neither numbers nor times ("none", "later").
        past: Matches a folded question about what happened.
        definite: Matches a folded question about something definite, not about the world.
        name_places: Words after which a name is expected, in a text without capitals or in a
            language that writes all nouns with one.
        alike: Predicates that hold for several things, separated by spaces, with those things.
    """

    empty: frozenset[str]
    persons: frozenset[str]
    question: re.Pattern[str]
    tells_first: frozenset[str]
    telling: re.Pattern[str]
    asks_name: re.Pattern[str]
    about_people: re.Pattern[str]
    ignorance: re.Pattern[str]
    no_answer: re.Pattern[str]
    about_talk: re.Pattern[str]
    joins: re.Pattern[str]
    refers: frozenset[str]
    own: frozenset[str]
    change: re.Pattern[str]
    renewal: re.Pattern[str]
    asked: tuple[tuple[str, ...], ...]
    asking: re.Pattern[str]
    former: re.Pattern[str]
    ahead: re.Pattern[str]
    when: re.Pattern[str]
    ahead_words: re.Pattern[str]
    values: re.Pattern[str]
    amounts: frozenset[str]
    past: re.Pattern[str]
    definite: re.Pattern[str]
    name_places: frozenset[str]
    alike: Mapping[str, str]


class Language(Sentences, frozen=True, kw_only=True):
    """One language's tables.

    Attributes:
        name: English name in lower case, also the name of its Snowball stemmer.
        code: Two-letter code.
        native: Its name in the language itself.
        other_names: Further names, e.g. the three-letter code.
        orders: The grammar of orders to the agent.
        capital_nouns: Whether nouns are written like names, with a capital letter.
        noted: What notes of other programs call the user: "the user".
        importance: Patterns of important words and the weight each adds to an ordinary text's 0.5;
            together below 0.5, so that pins stay above.
    """

    name: str
    code: str
    native: str
    other_names: tuple[str, ...]
    commands: CommandWords
    gate: GateWords
    tense: TenseWords
    time: TimeWords
    statements: StatementWords
    facts: FactWords
    persons: PersonWords
    names: NameWords
    overview: OverviewWords
    orders: OrderWords
    importance: tuple[tuple[str, float], ...]
    proactive: ProactiveWords
    summary: SummaryWords
    extracts: ExtractWords
    noted: tuple[str, ...]
    talk: TalkWords
    capital_nouns: bool = False


MODULES = ("patterns", "statements", "talk", "time")


def language_of_tables(package: str, **names: Any) -> Language:
    """Return the language of a package.

    Its modules have a table for each field in a constant of its name: ``GATE``, ``TALK``.

    Args:
        names: The fields that are no tables.
    """
    words = read_words(package)
    modules = [import_module(f"{package}.{name}") for name in MODULES]
    tables = {
        field.name: getattr(module, constant)
        for module in modules
        for field in fields(Language)
        if hasattr(module, constant := field.name.upper())
    }
    return Language(
        **names,
        **tables,
        persons=read_toml(package, "persons.toml", PersonWords),
        extracts=filled(ExtractWords, words["extracts"]),
        **asdict(read_toml(package, "sentences.toml", Sentences)),
    )
