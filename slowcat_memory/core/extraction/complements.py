"""The objects of statements: names, things, lists and days, cut out of the words behind a verb."""

import re
from collections.abc import Callable, Mapping
from itertools import takewhile

from slowcat_memory.core.extraction.bounded_names import can_be_name
from slowcat_memory.core.extraction.clauses import Clause, rewritten
from slowcat_memory.core.language import names, words_of_any
from slowcat_memory.core.language.english.vocabulary import CALENDAR, EVERYDAY
from slowcat_memory.core.language.facts import Complement
from slowcat_memory.core.language.names import is_given_name

SPEAKER = "§"  # stands for the speaker in an object: "§'s mother"
MOST_WORDS = 12  # of an object
MOST_ITEM_WORDS = 2  # of an item of a list, but the last after commas
_EDGE = " ,.;:!?…-–—'"
_FUNCTION = words_of_any(lambda language: language.statements.function)
_ORDINARY = words_of_any(lambda language: frozenset(" ".join(language.statements.ordinary).split()))
_MARKED = re.compile(r"[*#_()\[\]{}<>\"\\]")
_FULL_STOP = re.compile(r"[,;!?]$|(?<!\b[Dd]r)(?<!\b[Mm]r)(?<!\b[Mm]rs)(?<!\b[A-Z])\.$")


def complements(kind: Complement, text: str, clause: Clause) -> list[str]:
    """Return the objects of a kind that some words of a clause begin with; none if there is none."""
    return _KINDS[kind](text, clause)


def is_ordinary(word: str) -> bool:
    """Return whether a word in lower case is no name, as far as its spelling shows."""
    return word in _ORDINARY or word in CALENDAR or names.is_ordinary(word)


def is_everyday(word: str) -> bool:
    """Return whether a word in lower case is one that everybody uses daily."""
    return word in _ORDINARY or word in CALENDAR or word in EVERYDAY


def name_of(text: str, clause: Clause, most: int = 1, *, strong: bool = True) -> str:
    """Return the name that some words begin with; "" if they begin with none.

    Args:
        most: Words of a name in a text without capitals, where nothing shows its end.
        strong: Whether the words before announce a name, so that it may be an ordinary one (Rose).
    """
    tokens, parts, signs = text.split(), list[str](), clause.signs
    if len(tokens) > 1 and signs["titles"].fullmatch(tokens[0].strip(",")):
        title = tokens[0] if clause.cased else tokens[0].title()
        rest = name_of(" ".join(tokens[1:]), clause, most)
        return f"{title} {rest}" if rest else ""
    for place, token in enumerate(tokens):
        bare = token.strip(_EDGE + '()"')
        if bare.endswith("'s"):
            return ""
        if not _continues(bare, parts, clause, strong) or (not clause.cased and len(parts) >= most):
            after = tokens[place + 1] if place + 1 < len(tokens) else ""
            day = after.lower().strip(_EDGE) in CALENDAR
            joins = signs["particles"].fullmatch(bare) and not day
            if not (parts and joins and clause.cased and after[:1].isupper()):
                break
        parts.append(bare if clause.cased else bare.capitalize())
        if _FULL_STOP.search(token):
            break
    name = " ".join(parts)
    return name if name and can_be_name(name, person=strong) else ""


def _continues(bare: str, parts: list[str], clause: Clause, strong: bool) -> bool:
    lower = bare.lower()
    if not bare or lower in _FUNCTION or not any(map(str.isalpha, bare)):
        return False
    if lower in CALENDAR and not (strong and is_given_name(lower)):
        return False
    if clause.cased:
        return bare[0].isupper() and not (bare.isupper() and len(bare) == 1 and not parts)
    usual = not parts and ((strong and is_given_name(lower)) or clause.announced)
    return (usual or not is_ordinary(lower)) and len(lower) > 1


def cut(text: str, clause: Clause) -> str:
    """Return a text up to where an object ends, without trailing words."""
    if match := clause.signs["stops"].search(text):
        text = text[: match.start()]
    text = text.strip(_EDGE)
    before = ""
    while text != before:
        before = text
        text = clause.signs["trailing"].sub("", text).strip(_EDGE)
    return text


def fits(text: str, clause: Clause) -> bool:
    """Return whether a text can be an object in the third person."""
    return (
        0 < len(text.split()) <= MOST_WORDS
        and any(map(str.isalnum, text))
        and not clause.signs["unfit"].search(text)
        and not clause.signs["cut_short"].search(text)
        and not _MARKED.search(text)
    )


def _is_cut_off(text: str, whole: str, clause: Clause) -> bool:
    """Return whether a text ends within a noun phrase: "a red" of "a red, shiny kite"."""
    behind = whole[whole.find(text) + len(text) :]
    after = behind.lstrip(" ,").split(" ")[0].lower()
    return (
        behind.startswith(",")
        and bool(clause.signs["unfinished"].search(text))
        and bool(after)
        and after not in _FUNCTION
    )


def _value(words: str, clause: Clause) -> list[str]:
    text = rewritten(words.strip(_EDGE), clause.words.own)
    return [text] if text and not _MARKED.search(text) else []


def _text(words: str, clause: Clause) -> list[str]:
    kept = cut(words, clause)
    text = rewritten(kept, clause.words.own)
    return [text] if fits(text, clause) and not _is_cut_off(kept, words, clause) else []


def _deed(words: str, clause: Clause) -> list[str]:
    """Return a verb with what belongs to it; a German one may end with its prefix."""
    text = rewritten(cut(words, clause), clause.words.own)
    whole = f"{text} ." if clause.words.verb_second else text
    return [text] if fits(whole, clause) else []


def _thing(words: str, clause: Clause) -> list[str]:
    kept = cut(words, clause)
    if _is_cut_off(kept, words, clause):
        return []
    if when := clause.signs["times"].search(kept):
        kept = kept[: when.start()]
    text = rewritten(cut(kept, clause), clause.words.own)
    return [text] if fits(text, clause) else []


def _things(words: str, clause: Clause) -> list[str]:
    """Return the items of a list of short items; else what comes first."""
    stop = re.compile(clause.signs["stops"].pattern.removesuffix("|, "), re.IGNORECASE)
    text = words[: match.start()] if (match := stop.search(words)) else words
    parts = clause.signs["joins"].split(text)
    if len(parts) < 2 or any(len(part.split()) > MOST_ITEM_WORDS for part in parts[:-1]):
        return _thing(words, clause)
    if len(parts) == 2 and len(parts[0].split()) < len(parts[1].split()):
        return _thing(text, clause)  # "sci-fi and fantasy books"
    items = takewhile(bool, (_thing(part, clause) for part in parts))
    return [item for (item,) in items if len(item.split()) <= MOST_ITEM_WORDS + 1]


def _person(words: str, clause: Clause) -> list[str]:
    return list(filter(None, [name_of(words, clause)]))


def _people(words: str, clause: Clause) -> list[str]:
    """Return the names of a list: Ida, Nils and Per."""
    parts = clause.signs["joins"].split(words)
    return [*takewhile(bool, (name_of(part.strip(), clause) for part in parts))]


def _place(words: str, clause: Clause) -> list[str]:
    article = "the " if words.startswith("the ") else ""
    name = name_of(words.removeprefix(article), clause, strong=False)
    first = words.split(" ")[0].strip(_EDGE)
    if not name and not clause.cased and clause.language.capital_nouns:
        # "freiburg" looks like a compound of ordinary words.
        name = first.capitalize() if first.isalpha() and not is_everyday(first) else ""
    return [article + name] if name else []


def _organisation(words: str, clause: Clause) -> list[str]:
    if name := name_of(words, clause, most=2, strong=False):
        return [name]
    if not clause.signs["articles"].match(words):
        return []
    return [thing for thing in _thing(words, clause) if len(thing.split()) <= 6]


def _name(words: str, clause: Clause) -> list[str]:
    return list(filter(None, [name_of(words, clause, most=2, strong=False)]))


def _given(words: str, clause: Clause) -> list[str]:
    """Return a known given name."""
    return [name for name in _person(words, clause) if is_given_name(name.split()[0].lower())]


def _date(words: str, clause: Clause) -> list[str]:
    text = cut(words, clause)
    days = list(clause.signs["dates"].finditer(" ".join(text.split()[:7])))
    return [text[: days[-1].end()]] if days else []


def _due(words: str, clause: Clause) -> list[str]:
    text = words.strip(_EDGE)
    if not clause.signs["due"].match(text):
        return [""]
    text = rewritten(cut(text, clause), clause.words.own)
    return [f" {text}" if fits(text, clause) else ""]


def _dated(words: str, clause: Clause) -> list[str]:
    return [text for text in _text(words, clause) if clause.signs["ahead"].search(text)]


def _bought(words: str, clause: Clause) -> list[str]:
    return [thing for thing in _thing(words, clause) if not clause.signs["trifles"].search(thing)]


_KINDS: Mapping[Complement, Callable[[str, Clause], list[str]]] = {
    "nothing": lambda words, clause: [""],
    "value": _value, "text": _text, "thing": _thing, "things": _things, "deed": _deed,
    "person": _person, "people": _people, "given": _given, "name": _name,
    "place": _place, "organisation": _organisation,
    "date": _date, "due": _due, "dated": _dated, "bought": _bought,
}  # fmt: skip
