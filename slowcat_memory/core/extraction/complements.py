"""The objects of statements: names, things, lists and days, cut out of the words behind a verb."""

import re
from collections.abc import Callable, Mapping
from functools import cache

from msgspec import Struct

from slowcat_memory.core.extraction.bounded_names import can_be_name
from slowcat_memory.core.extraction.clauses import Signs, rewritten, signs_of
from slowcat_memory.core.language import LANGUAGES, Language, ordinary
from slowcat_memory.core.language.english.vocabulary import CALENDAR, EVERYDAY
from slowcat_memory.core.language.facts import Complement
from slowcat_memory.core.language.names import is_given_name

_SOMEWHERE = re.compile(r" (?:in|near|at|on|until|bei|im|am) ", re.IGNORECASE)
SPEAKER = "§"  # stands for the speaker in an object: "§'s mother"
MOST_WORDS = 12  # of an object
MOST_ITEM_WORDS = 2  # of an item of a list, but the last after commas
_EDGE = " ,.;:!?…-–—'"
_DETERMINERS = frozenset(
    "a an the my our his her their some der die das den ein eine einen".split()
)
_MARKED = re.compile(r"[*#_()\[\]{}<>\"\\]")
_FULL_STOP = re.compile(r"[,;!?]$|(?<!\b[Dd]r)(?<!\b[Mm]r)(?<!\b[Mm]rs)(?<!\b[A-Z])\.$")


class Words(Struct, frozen=True):
    """The words behind a verb, and whether their text has capitals.

    ``announced`` means that the words before say that a name follows ("called").
    """

    text: str
    cased: bool
    language: Language
    announced: bool = False


def complements(kind: Complement, words: Words) -> list[str]:
    """Return the objects of a kind that some words begin with; none if there is none."""
    return _KINDS[kind](words, signs_of(words.language.name))


def is_ordinary(word: str) -> bool:
    """Return whether a word in lower case is no name, as far as its spelling shows."""
    return word in _all_ordinary() or word in CALENDAR or ordinary.is_ordinary(word)


def is_everyday(word: str) -> bool:
    """Return whether a word in lower case is one that everybody uses daily."""
    return word in _all_ordinary() or word in CALENDAR or word in EVERYDAY


@cache
def _all_ordinary() -> frozenset[str]:
    return frozenset(
        part for one in LANGUAGES for word in one.statements.ordinary for part in word.split()
    )


@cache
def _function_words() -> frozenset[str]:
    return frozenset(word for one in LANGUAGES for word in one.statements.function)


def name_of(words: Words, most: int = 1, *, strong: bool = True) -> str:
    """Return the name that some words begin with; "" if they begin with none.

    Args:
        most: Words of a name in a text without capitals, where nothing shows its end.
        strong: Whether the words before announce a name, so that it may be an ordinary one (Rose).
    """
    tokens, found = words.text.split(), list[str]()
    signs = signs_of(words.language.name)
    if tokens and signs["titles"].fullmatch(tokens[0].strip(",")) and len(tokens) > 1:
        rest = Words(" ".join(tokens[1:]), words.cased, words.language)
        rest_name = name_of(rest, most)
        return (
            f"{tokens[0].title() if not words.cased else tokens[0]} {rest_name}"
            if rest_name
            else ""
        )
    for place, token in enumerate(tokens):
        bare = token.strip(_EDGE + '()"')
        if bare.endswith("'s"):
            return ""
        if not _continues(bare, found, words, strong) or (not words.cased and len(found) >= most):
            after = tokens[place + 1] if place + 1 < len(tokens) else ""
            joins = (
                signs["particles"].fullmatch(bare) and after.lower().strip(_EDGE) not in CALENDAR
            )
            if not (found and joins and words.cased and after[:1].isupper()):
                break
        found.append(bare if words.cased else bare.capitalize())
        if _FULL_STOP.search(token):
            break
    name = " ".join(found)
    return name if name and can_be_name(name, person=strong) else ""


def _continues(bare: str, found: list[str], words: Words, strong: bool) -> bool:
    lower = bare.lower()
    if not bare or lower in _function_words() or not any(map(str.isalpha, bare)):
        return False
    if lower in CALENDAR and not (strong and is_given_name(lower)):
        return False
    if words.cased:
        return bare[0].isupper() and not (bare.isupper() and len(bare) == 1 and not found)
    usual = not found and ((strong and is_given_name(lower)) or words.announced)
    return (usual or not is_ordinary(lower)) and len(lower) > 1


def cut(text: str, signs: Signs) -> str:
    """Return a text up to where an object ends, without trailing words."""
    if found := signs["stops"].search(text):
        text = text[: found.start()]
    text = text.strip(_EDGE)
    before = ""
    while text != before:
        before = text
        text = signs["trailing"].sub("", text).strip(_EDGE)
    return text


def fits(text: str, signs: Signs) -> bool:
    """Return whether a text can be an object in the third person."""
    return (
        0 < len(text.split()) <= MOST_WORDS
        and any(map(str.isalnum, text))
        and not signs["unfit"].search(text)
        and not signs["cut_short"].search(text)
        and not _MARKED.search(text)
    )


def _is_cut_off(text: str, whole: str, signs: Signs) -> bool:
    """Return whether a text ends within a noun phrase: "a red" of "a red, shiny kite"."""
    behind = whole[whole.find(text) + len(text) :]
    after = behind.lstrip(" ,").split(" ")[0].lower()
    return (
        behind.startswith(",")
        and bool(signs["unfinished"].search(text))
        and bool(after)
        and after not in _function_words()
    )


def _value(words: Words, signs: Signs) -> list[str]:
    text = rewritten(words.text.strip(_EDGE), words.language.statements.own)
    return [text] if text and not _MARKED.search(text) else []


def _text(words: Words, signs: Signs) -> list[str]:
    kept = cut(words.text, signs)
    text = rewritten(kept, words.language.statements.own)
    return [text] if fits(text, signs) and not _is_cut_off(kept, words.text, signs) else []


def _deed(words: Words, signs: Signs) -> list[str]:
    """Return a verb with what belongs to it; a German one may end with its prefix."""
    text = rewritten(cut(words.text, signs), words.language.statements.own)
    whole = text if words.language.statements.verb_second == "" else f"{text} ."
    return [text] if fits(whole, signs) else []


def _thing(words: Words, signs: Signs) -> list[str]:
    kept = cut(words.text, signs)
    if _is_cut_off(kept, words.text, signs):
        return []
    if when := signs["times"].search(kept):
        kept = kept[: when.start()]
    text = rewritten(cut(kept, signs), words.language.statements.own)
    return [text] if fits(text, signs) else []


def _things(words: Words, signs: Signs) -> list[str]:
    """Return the items of a list of short items; else what comes first."""
    stop = re.compile(signs["stops"].pattern.removesuffix("|, "), re.IGNORECASE)
    text = words.text[: found.start()] if (found := stop.search(words.text)) else words.text
    parts = signs["joins"].split(text)
    if any(len(part.split()) > MOST_ITEM_WORDS for part in parts[:-1]):
        return _thing(words, signs)
    lone = len(parts[0].split()) == 1 and not parts[0].endswith("ing")
    if len(parts) == 2 and lone and len(parts[1].split()) > 1:
        return _thing(Words(text, words.cased, words.language), signs)  # "sci-fi and fantasy books"
    made = list[str]()
    for part in parts:
        if made and part.split(" ")[0].lower() in _function_words() - _DETERMINERS:
            break
        item = _thing(Words(part, words.cased, words.language), signs)
        if not item or (made and len(item[0].split()) > MOST_ITEM_WORDS + 1):
            break
        made += item
    return made


def _person(words: Words, signs: Signs) -> list[str]:
    name = name_of(words)
    return [name] if name else []


def _people(words: Words, signs: Signs) -> list[str]:
    """Return the names of a list: Ida, Nils and Per."""
    made = list[str]()
    for part in signs["joins"].split(words.text):
        name = name_of(Words(part.strip(), words.cased, words.language, words.announced))
        sure = words.cased or words.announced or (name and is_given_name(name.split()[-1].lower()))
        if not name or not sure:
            break
        made.append(name)
        if len(part.split()) > len(name.split()):
            break
    return made


def _place(words: Words, signs: Signs) -> list[str]:
    text = words.text
    article = re.match(r"the ", text)
    name = name_of(
        Words(text[article.end() :] if article else text, words.cased, words.language),
        strong=False,
    )
    first = text.split(" ")[0].strip(_EDGE)
    if not name and not words.cased and words.language.capital_nouns:
        # "freiburg" looks like a compound of ordinary words.
        name = first.capitalize() if first.isalpha() and not is_everyday(first) else ""
    return [f"{article[0]}{name}" if article else name] if name else []


def _address(words: Words, signs: Signs) -> list[str]:
    """Return a house number with its street."""
    return _thing(words, signs) if words.text[:1].isdigit() else []


def _organisation(words: Words, signs: Signs) -> list[str]:
    if name := name_of(words, most=2, strong=False):
        return [name]
    first = words.text.split(" ")[0].strip(_EDGE)
    if not words.cased and first.isalpha() and not is_everyday(first):
        return [first.capitalize()]
    if not signs["articles"].match(words.text):
        return []
    return [one for one in _thing(words, signs) if len(one.split()) <= 6]


def _name(words: Words, signs: Signs) -> list[str]:
    name = name_of(words, most=2, strong=False)
    return [name] if name else []


def _given(words: Words, signs: Signs) -> list[str]:
    """Return a known given name."""
    return [one for one in _person(words, signs) if is_given_name(one.split()[0].lower())]


def _title(words: Words, signs: Signs) -> list[str]:
    text = (
        signs["articles"].sub("", words.text, count=1)
        if signs["articles"].match(words.text)
        else words.text
    )
    name = name_of(Words(text, words.cased, words.language))
    return [name] if name and signs["titles"].match(name) else []


def _date(words: Words, signs: Signs) -> list[str]:
    text = cut(words.text, signs)
    days = list(signs["dates"].finditer(" ".join(text.split()[:7])))
    return [text[: days[-1].end()]] if days else []


def _due(words: Words, signs: Signs) -> list[str]:
    text = words.text.strip(_EDGE)
    if not signs["due"].match(text):
        return [""]
    text = rewritten(cut(text, signs), words.language.statements.own)
    return [f" {text}" if fits(text, signs) else ""]


def _dated(words: Words, signs: Signs) -> list[str]:
    return [one for one in _text(words, signs) if signs["ahead"].search(one)]


def _somebody(words: Words, signs: Signs) -> list[str]:
    """Return a person, without where."""
    text = _SOMEWHERE.split(words.text, maxsplit=1)[0]
    return _thing(Words(text, words.cased, words.language), signs)


def _bought(words: Words, signs: Signs) -> list[str]:
    return [one for one in _thing(words, signs) if not signs["trifles"].search(one)]


def _nothing(words: Words, signs: Signs) -> list[str]:
    return [""]


_KINDS: Mapping[Complement, Callable[[Words, Signs], list[str]]] = {
    "nothing": _nothing,
    "value": _value,
    "text": _text,
    "thing": _thing,
    "things": _things,
    "person": _person,
    "people": _people,
    "pets": _people,
    "place": _place,
    "organisation": _organisation,
    "address": _address,
    "name": _name,
    "title": _title,
    "date": _date,
    "due": _due,
    "event": _text,
    "dated": _dated,
    "journey": _dated,
    "plan": _text,
    "action": _deed,
    "habit": _deed,
    "bought": _bought,
    "somebody": _somebody,
    "given": _given,
}
