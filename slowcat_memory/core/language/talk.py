"""Words of talk that says nothing by itself, by language; see `core.query.substance`."""

import re
from collections.abc import Mapping

from msgspec import Struct


class TalkWords(Struct, frozen=True, kw_only=True):
    """Fillers, reactions, questions and replies of not knowing, in one language.

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
        change: Matches a folded statement that something is different from before.
        named_days: Matches two words that only together name something: "last day".
        renewal: Matches one that is so only if both statements are about the same matter.
        asked: Patterns of folded questions for a fact about the user, each with the predicates that
            answer it (``type:goal``: facts of a type); a group is the thing, ``{thing}`` in them. With
            "!" only facts about that thing answer.
        asking: Matches the word of a folded text with which a question for such a fact begins.
        others: What makes a folded question about somebody else (``{name}`` in the pattern) one about
            oneself, with replacements.
        former: Matches a folded question for what held before something else.
        ahead: Matches a folded question for what is ahead, or when something is.
        when: Matches one that asks when a certain thing is.
        ahead_words: Matches the words of such a question that name no thing.
        synonyms: Words for the same kind of thing, a kind each.
        values: Patterns of folded questions for a value, each with what such a value matches; the
            group "counted" is the thing whose number is asked for.
        past: Matches a folded question about what happened.
        value: Matches a number, a day or a month in a folded statement.
        definite: Matches a folded question about something definite, not about the world.
        name_places: Words after which a name is expected, in a text without capitals or in a
            language that writes all nouns with one.
        alike: Predicates that hold for several things, with those.
        capital_nouns: Whether the language writes nouns like names.
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
    change: re.Pattern[str]
    named_days: re.Pattern[str]
    renewal: re.Pattern[str]
    asked: tuple[tuple[str, str], ...]
    asking: re.Pattern[str]
    others: tuple[tuple[str, str], ...]
    former: re.Pattern[str]
    ahead: re.Pattern[str]
    when: re.Pattern[str]
    ahead_words: re.Pattern[str]
    synonyms: tuple[str, ...]
    values: tuple[tuple[re.Pattern[str], re.Pattern[str]], ...]
    past: re.Pattern[str]
    value: re.Pattern[str]
    definite: re.Pattern[str]
    name_places: frozenset[str]
    alike: Mapping[str, str]
    capital_nouns: bool = False
