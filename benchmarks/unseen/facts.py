"""Facts by rule: what idle work without an LLM stores of one utterance, or of a few.

Each row has a scope of its own, so that no row explains another; turns of a later day are a
conversation of their own.

A wanted fact is *found* when a stored one has all its content words, is about its subject, and is
of its sense: an ending only where an ending is wanted (a dislike ends a liking), a dislike only
where a dislike is. A stored fact is *right* when it is one that was wanted; when it has no content
word besides those of a wanted one ("Ada has a sister", where "sister, Clara" is wanted); or when it
says in words of the utterance who the subject of a wanted one is ("Clara is Ada's sister"). Facts
that a row allows besides ("also") make others right, and need not be found. A row that forbids
facts is *as wanted* if all are found and none is forbidden; if none is wanted, all must be right.
"""

import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from msgspec import Struct

from benchmarks.unseen.homes import facts_of, home
from benchmarks.unseen.lists import Row, Verdict, language, one, zone_name
from benchmarks.unseen.wording import contains, stems
from slowcat_memory.core.language import LANGUAGES
from slowcat_memory.core.language.english.vocabulary import STOP_WORDS
from slowcat_memory.records import Memory

SPEAKER, SAID = "Alex", "2026-05-12T18:30"  # of a trap
JOBS = "facts", "merge"
# An utterance whose fact is over: in so many words, or by what happened.
_OVER = re.compile(
    r"\b(?:no longer|not\b.*\bany ?(?:more|longer)|\w+n't\b.*\bany ?(?:more|longer)|used to|"
    r"formerly|former|nicht mehr|kein\w*\b.*\bmehr|früher\w*|ehemalig\w*)\b",
    re.IGNORECASE,
)
_ENDED = re.compile(
    r"\b(?:stopped|g[ai]ven? up|quit|left|ended|over|died|dead|passed away|(?:broke|split|broken) up|"
    r"separated|divorced|sold|gone|lost|finished|cancelled|until|was|had|ex|retired|"
    r"moved (?:out|away|from)|"
    r"gestorben|starb|tot|getrennt|geschieden|aufgehört|gekündigt|verkauft|verlassen|verloren|"
    r"beendet|abgesagt|bis|war|hatte|ausgezogen|aufgegeben)\b",
    re.IGNORECASE,
)
_AVERSE = re.compile(
    r"\b(?:not|\w+n't|cannot|dislikes?|hates?|avoids?|never|nicht|kein\w*|hasst|verabscheut|ungern)\b",
    re.IGNORECASE,
)
_SENSES = ("likes", "dislikes")  # types of facts that differ by a negation alone
# Words that say nothing by themselves, of a stored sentence in either language.
_EMPTY = STOP_WORDS | frozenset(
    "called named name names der die das den dem des ein eine einen einem einer hat ist sind war "
    "heißt namens und in im am an auf von zu zum zur bei mit seit ihr ihre ihren sein seine".split()
)


class WantedFact(Struct, frozen=True):
    """A fact that a row wants: its type, "user" or a name, and the words it must have."""

    type: str
    subject: str
    words: tuple[str, ...]


def wanted(cell: str) -> list[WantedFact]:
    """Read the facts of a row: "type; subject; word, word | …".

    Raises:
        ValueError: One has not three parts.
    """
    parts = (one.split(";") for one in cell.split("|") if one.strip())
    return [
        WantedFact(type_.strip(), subject.strip(), _phrases(words))
        for type_, subject, words in parts
    ]


def _phrases(cell: str) -> tuple[str, ...]:
    return tuple(phrase.strip() for phrase in cell.split(",") if phrase.strip())


def facts(rows: Sequence[Row]) -> list[Verdict]:
    """Judge what is stored of utterances with facts."""
    return [_judged(row, stored) for row, stored in _stored(rows)]


def _judged(row: Row, stored: Sequence[Memory]) -> Verdict:
    spoken, goals = language(row), wanted(row["facts"])
    allowed = [*goals, *wanted(row.get("also", ""))]

    def is_any(fact: Memory, some: Sequence[WantedFact]) -> bool:
        return any(meets(fact, goal, row["speaker"], spoken) for goal in some)

    found = [any(is_any(one, [goal]) for one in stored) for goal in goals]
    right = [
        any(
            agrees(one, goal, row["speaker"], spoken) or introduces(one, goal, row, spoken)
            for goal in allowed
        )
        for one in stored
    ]
    marks = {
        "precision": (float(sum(right)), float(len(right))),
        "recall": (float(sum(found)), float(len(found))),
    }
    endings = [hit for hit, goal in zip(found, goals, strict=True) if goal.type == "ended"]
    if endings:
        marks["endings found"] = (float(sum(endings)), float(len(endings)))
    if "forbidden" in row:
        forbidden = wanted(row["forbidden"])
        taken = any(is_any(one, forbidden) and not is_any(one, allowed) for one in stored)
        marks["forbidden fact"] = one(taken)
        marks["as wanted"] = one(all(found) and not taken and (goals or all(right)))
    came_out = " / ".join(one.text for one in stored) or "nothing"
    return Verdict(
        row, marks, not (all(found) and all(right)), f"{came_out}; wanted {row['facts']}"
    )


def meets(fact: Memory, goal: WantedFact, speaker: str, spoken: str) -> bool:
    """Return whether a stored fact is a wanted one."""
    return _suits(fact, goal, speaker, spoken) and contains(_dated(fact), goal.words, spoken)


def _dated(fact: Memory) -> str:
    """Return a fact's text with the day of its date, and the month in both languages."""
    _, month, day = (*fact.statement.date.split("-"), "", "", "")[:3]
    names = [one.dates.months[int(month) - 1] for one in LANGUAGES] if month else []
    return " ".join((fact.text, *names, day.lstrip("0")))


def agrees(fact: Memory, goal: WantedFact, speaker: str, spoken: str) -> bool:
    """Return whether a stored fact is a wanted one, or a part of it."""
    if not _suits(fact, goal, speaker, spoken):
        return False
    content = _content(fact, f"{speaker} {goal.subject}", spoken)
    asked = {stem for phrase in goal.words for stem in stems(phrase, spoken)}
    return contains(_dated(fact), goal.words, spoken) or bool(content) and content <= asked


def introduces(fact: Memory, goal: WantedFact, row: Row, spoken: str) -> bool:
    """Return whether a stored fact says who a wanted one's subject is, as the utterance does."""
    if goal.subject == "user" or not contains(fact.text, [goal.subject, row["speaker"]], spoken):
        return False
    content = _content(fact, f"{row['speaker']} {goal.subject}", spoken)
    return bool(content) and content <= set(stems(row["sentence"], spoken))


def _content(fact: Memory, besides: str, spoken: str) -> set[str]:
    """Return a stored fact's content words, as stems, without some names."""
    return set(stems(fact.text, spoken)) - set(stems(f"{besides} {' '.join(_EMPTY)}", spoken))


def _suits(fact: Memory, goal: WantedFact, speaker: str, spoken: str) -> bool:
    """Return whether a fact has a wanted one's subject and sense."""
    subject = speaker if goal.subject == "user" else goal.subject
    if not contains(f"{fact.text} {fact.statement.subject}", [subject], spoken):
        return False
    text = fact.text.replace("’", "'")
    over = bool(_OVER.search(text)) or fact.valid_to is not None
    averse = bool(_AVERSE.search(text))
    if goal.type == "ended":
        return over or averse or bool(_ENDED.search(text))
    return not over and averse == (goal.type == "dislikes") if goal.type in _SENSES else not over


def traps(rows: Sequence[Row]) -> list[Verdict]:
    """Judge utterances of which no fact, or not the obvious one, may be stored."""
    return [_trap(row, stored) for row, stored in _stored(rows)]


def _trap(row: Row, stored: Sequence[Memory]) -> Verdict:
    words = _phrases(row["forbidden"])
    taken = any(contains(fact.text, words, language(row)) for fact in stored)
    marks = {"forbidden fact": one(taken), "any fact": one(stored)}
    return Verdict(row, marks, bool(stored), " / ".join(fact.text for fact in stored))


# ------------------------------------------------------------------------ what is stored


def _stored(rows: Sequence[Row]) -> list[tuple[Row, list[Memory]]]:
    """Return the facts that idle work stores of each row, in the order of the rows."""
    made: dict[int, list[Memory]] = {}
    for spoken in {language(row) for row in rows}:
        made |= _stored_of({n: row for n, row in enumerate(rows) if language(row) == spoken})
    return [(row, made[number]) for number, row in enumerate(rows)]


def _stored_of(rows: Mapping[int, Row]) -> dict[int, list[Memory]]:
    """Return the facts of rows of one language, by number."""
    first = next(iter(rows.values()))
    zone = ZoneInfo(zone_name(first))
    told = sorted((at, n, text) for n, row in rows.items() for at, text in _turns(row, zone))
    with home(language(first), str(zone), told[0][0]) as place:
        for at, number, text in told:
            speaker = rows[number].get("speaker") or SPEAKER
            place.say(f"row-{number}", at, text, speaker=speaker)
        place.hang_up()
        place.wait_until(told[-1][0] + timedelta(hours=8))
        place.engine.idle.until_done(JOBS)
        with place.engine.snapshot() as snapshot:
            return {number: facts_of(snapshot, f"row-{number}") for number in rows}


def _turns(row: Row, zone: ZoneInfo) -> list[tuple[datetime, str]]:
    """Return a row's turns in order, with their moments."""
    moments = (row.get("said") or SAID).split(" | ")
    return [
        (datetime.fromisoformat(at).replace(tzinfo=zone).astimezone(UTC), text)
        for at, text in zip(moments, row["sentence"].split(" | "), strict=True)
    ]
