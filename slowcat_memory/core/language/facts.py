"""Words for extracting, checking and comparing facts and relations, by language."""

from collections.abc import Mapping
from functools import cached_property
from typing import Literal

from msgspec import Struct

from slowcat_memory.core.language.data import any_of, filled, phrase_list, word_set

Complement = Literal[
    "nothing", "value", "text", "thing", "things", "deed", "person", "people", "given", "name",
    "place", "organisation", "date", "due", "dated", "bought",
]  # fmt: skip
Whose = Literal["", "speaker", "other", "unnamed", "me", "request"]


class StatementRule(Struct, frozen=True):
    """A fact that follows when a subject's words match a pattern.

    Attributes:
        type: Of the fact.
        predicate: Of the fact; {kin} for the group of that name.
        content: Its sentence: {s} the subject, {o} the object, {kin} and {n} groups.
        pattern: Of the words behind the subject, from their beginning; group ``o`` is the object.
        complement: What the object is; see `complements`.
        whose: Which subjects it is about: any, the speaker, somebody else, a relative without a name; "me" for a
            pattern of a whole clause in which the speaker is the object, "request" for a request.
        inflect: Whether the object begins with a verb that the third person inflects.
        present: Whether that verb must be in the present tense.
        front: Pattern of the adverbial before the subject, without which it is no fact.
        reverse: Whether the subject is what the speaker has: "Ingrid is my friend".
        over: Whether it says only that something is over.
        ends: Predicates that it ends for the same object; "*" for all of them, "" for all facts
            about the subject.
        denies: Whether its words are a negation.
    """

    type: str
    predicate: str
    content: str
    pattern: str
    complement: Complement = "thing"
    whose: Whose = ""
    inflect: bool = False
    present: bool = False
    front: str = ""
    reverse: bool = False
    over: bool = False
    ends: tuple[str, ...] = ()
    denies: bool = False


# Predicates that end together, for ``ends``.
WORK = ("works_at", "works_as")
LOVE = (
    "has_partner", "has_husband", "has_wife", "has_boyfriend", "has_girlfriend", "has_fiancé",
    "has_fiancée", "has_fiance", "has_fiancee", "married_to", "engaged_to", "relationship_status",
    "has_mann", "has_frau", "has_freund", "has_freundin", "has_verlobter", "has_verlobte",
)  # fmt: skip
TASTE = ("likes", "prefers", "drinks", "habit", "smokes", "plays", "learns", "diet")
THINGS = ("owns", "bought", "has_pet")
DATED = ("plans", "appointment", "event", "operation", "has_to")
AHEAD = (*DATED, "goal", "decided", "")

Rewrites = tuple[tuple[str, str], ...]
"""Patterns and what replaces them, in order."""


class StatementWords(Struct, frozen=True, kw_only=True):
    """The grammar of statements in the first and third person.

    Attributes:
        rules: Facts, in order.
        endings: Rules of what ends; tried before the others.
        over: Rules of what holds no longer and no other rule knows.
        expand: Rewrites of a clause: contractions and colloquial forms written out.
        fillers: Words without meaning at the beginning of a clause.
        adverbs: Light adverbs among the first words behind a subject.
        breaks: What separates two clauses.
        false_turn: Signs that nothing in a turn is meant: jokes, role play.
        false_sentence: Signs that a sentence is supposed, quoted, or of a story.
        false_clause: Signs that a clause is supposed, or only of the moment.
        asks: Beginning of a question.
        request: A request to be reminded; group ``o`` is its statement.
        negation: Signs of a negation behind a subject, which only some rules allow.
        no_longer: Signs that what is said holds no longer.
        positive: Rewrites that remove them.
        first: The speaker as a subject.
        possessive: The speaker's possessives.
        others: Pronouns of a third person, then their possessives.
        men, women: Those of ``others`` for each, with possessives.
        male, female: Relatives who are men, and women.
        kin: Persons and animals that one has.
        pets: Those of them that are animals.
        alone: Relatives who need no possessive.
        titled: Words before a name: "uncle".
        before_kin: Adjectives before ``kin``.
        finite: Verbs that follow the name of a person.
        third_form: Verbs that the speaker is not the subject of.
        am: The verb left out before an adjective.
        elided: Beginnings of a clause in which "I" is left out.
        and_me: Patterns of a named person as a second subject; group ``n``.
        with_: "with".
        front: Adverbials before a subject.
        stops: Where an object ends.
        joins: What separates the items of a list.
        times: Beginnings of expressions of time and place that objects end before.
        due: Expressions of time, and of what a child is expected with.
        ahead: Signs of a day, or of a journey's end, without which a plan is none.
        dates: Signs of a date.
        not_in_object: Words that an object in the third person cannot contain.
        cut_short: Words that cannot end an object.
        trailing: Words to remove from the end of an object.
        trifles: What is bought and used up at once.
        articles: Articles, before the name of an organisation.
        announcing: Words directly before a name.
        a: Indefinite articles, or none.
        titles: Titles before a name.
        particles: Words inside a name.
        past: Past forms of verbs.
        own: Rewrites of an object: the speaker's possessives.
        third: Rewrites of a verb into the third person.
        denied: Rewrites of a fact's sentence into one that it holds no longer.
        relative: A relative without a name: {s}, {kin}.
        called: A fact on the name of a relative: {s}, {kin}, {o}.
        has_pet: A fact on the name of an animal, likewise.
        had: A dead relative or animal: {s}, {kin}, {o}, {when}.
        died: One without a name: {s}, {when}.
        gender: Rewrites of a fact's sentence into the right articles.
        plural: Relatives or animals with their names as a list; groups ``kin``, ``o``.
        oblique: Possessives behind which a noun may be another object; "" for none.
        unfinished: End of an object that a noun is to follow ("a red"); "" for none.
        no_name: Endings of words that are no names, in a text without capitals; "" for none.
        plain_kin: Relatives as facts call them, by a familiar word.
        singular: Relatives and animals by their plurals.
        same_kin: Names of relatives in predicates, by word.
        verb_second: Finite verbs, where these stand before the subject if anything else does; ""
            for a language in which they do not.
        time_word: Words without a capital letter that an expression of time begins with.
        function: Words by which a sentence of the language is recognised.
        ordinary: Words that are no names.
    """

    rules: tuple[StatementRule, ...]
    endings: tuple[StatementRule, ...]
    over: tuple[StatementRule, ...]
    expand: Rewrites
    fillers: str
    adverbs: str
    breaks: str
    false_turn: str
    false_sentence: str
    false_clause: str
    asks: str
    request: str
    negation: str
    no_longer: str
    positive: Rewrites
    first: str
    possessive: str
    others: tuple[str, str]
    men: str
    women: str
    male: str
    female: str
    kin: str
    pets: str
    alone: str
    titled: str
    before_kin: str
    finite: str
    third_form: str
    am: str
    elided: str
    and_me: tuple[str, ...]
    with_: str
    front: str
    stops: str
    joins: str
    times: str
    due: str
    ahead: str
    dates: str
    not_in_object: str
    cut_short: str
    trailing: tuple[str, ...]
    trifles: str
    articles: str
    announcing: str
    a: str
    titles: str
    particles: str
    past: str
    own: Rewrites
    third: Rewrites
    denied: Rewrites
    relative: str
    called: str
    has_pet: str
    had: str
    died: str
    gender: Rewrites = ()
    oblique: str = ""
    unfinished: str = ""
    no_name: str = ""
    plural: str
    plain_kin: Mapping[str, str]
    singular: Mapping[str, str]
    same_kin: Mapping[str, str]
    verb_second: str = ""
    time_word: str
    function: frozenset[str]
    ordinary: frozenset[str]


class FactWords(Struct, frozen=True, kw_only=True):
    """Patterns that classify a fact or a relation; ``pleasantries`` are words.

    Attributes:
        reported: About the conversation itself, which is no fact.
        passing: True only for the moment.
        one_off: Acts without a trace, of any type of fact: lights turned off, timers set.
        denied: Negation; two facts that differ in it differ.
        corrects: Beginnings of a correction of an earlier statement.
        pleasantries: Words of turns without other content, which need no description.
        regimes: Diets of which a person has one at a time.
        single: Words for somebody without a partner.
        moved: Forms of "to move" of a home.
        consuming: Words for eating and drinking, which add nothing to what is liked.
        joining: Words that join the parts of a sentence and state nothing.
        weighty: Words of health, birth and death, which make a fact important.
        renewed: A new thing of a kind of which a new one replaces the old; group ``kind``.
        roles: What the object of a relation is to its subject, by predicate ("sister"), and the
            words "of", "from" and "until".
    """

    reported: str
    passing: str
    one_off: str
    denied: str
    corrects: str
    pleasantries: frozenset[str]
    regimes: frozenset[str]
    single: frozenset[str]
    moved: frozenset[str]
    consuming: frozenset[str]
    joining: frozenset[str]
    weighty: frozenset[str]
    renewed: str
    roles: Mapping[str, str]


class PersonWords(Struct, frozen=True, kw_only=True, dict=True):
    """Words that show who a clause is about, what relates two names, and what was read aloud.

    Patterns, and lists of words that are separated by spaces.

    Attributes:
        words: The lists by name, those that follow.
        i, we, he, she, they, it, you: Pronouns that are subjects.
        me, my: Other forms of the speaker.
        them, his, her, their: Other forms of third persons.
        anybody: Persons without a name: "a man".
        kin: Words for relatives that the grammar of statements does not have.
        roles: Persons by what they do; their names are appointments as well ("physio's tomorrow").
        articles: Articles.
        says: Verbs with which somebody reports something.
        titles: Before a name.
        before_object: Words after which a name is no subject.
        starts: Words between which and its verb only a subject stands.
        verbs: Frequent verbs behind a subject.
        helpers: Words of a statement that are not what it says about its subject.
        denials: Negations.
        scam: Words by which one tells of a text that asks for something.
        plain: Phrases with a negation that deny nothing.
        ended: Words that end or deny something without a negation.
        ending: Signs that something does not take place.
        supposed: Signs that nothing was stated.
        read_aloud: Beginnings of a text that somebody reads aloud or repeats.
        own_doing: Those of a source that speaks about the reader: a recipe, a doctor's report.
        demands: What addresses a reader who is to pay, call or confirm something.
        statement_tag: End of a statement in the form of a question ("isn't it?").
        evidence: What shows a relation, by predicate.
    """

    plain: str
    ended: str
    ending: str
    supposed: str
    read_aloud: str
    own_doing: str
    demands: str
    statement_tag: str
    words: Mapping[str, str]
    evidence: Mapping[str, str]

    @cached_property
    def sets(self) -> Mapping[str, frozenset[str]]:
        """The lists of ``words``, by name."""
        return {name: word_set(text) for name, text in self.words.items()}


class NameWords(Struct, frozen=True, kw_only=True):
    """Parts of a name that do not distinguish it.

    Attributes:
        titles: Before a name.
        suffixes: Generations: "jr".
        roles: Also before a name: "my boss Linda".
        pets: Kinds of pets, also before a name.
        articles: Articles and possessives.
        fillers: Other words to remove from the name of a thing.
        legal: Legal forms of companies.
        orders: Words for an order, which only its number distinguishes.
        abbreviations: With their long forms; also spellings and numerals.
        introduces: Pattern of the words before the speaker's own name: "my name is".
        presents: The same, of words that are followed by other things too: "I'm".
    """

    titles: frozenset[str]
    suffixes: frozenset[str]
    roles: frozenset[str]
    pets: frozenset[str]
    articles: frozenset[str]
    fillers: frozenset[str] = frozenset()
    legal: frozenset[str]
    orders: frozenset[str]
    abbreviations: Mapping[str, str] = {}
    introduces: str
    presents: str


def name_words(lists: Mapping[str, str], abbreviations: Mapping[str, str] = {}) -> NameWords:
    patterns = {
        name: any_of(phrase_list(lists[name])).replace("ss", "(?:ss|ß)")
        for name in ("introduces", "presents")
    }
    return filled(NameWords, lists, **patterns, abbreviations=abbreviations)
