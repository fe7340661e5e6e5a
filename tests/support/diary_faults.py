"""What contradicts itself in a hand-written diary: ids, quotes, dates and references."""

from collections.abc import Iterator, Sequence

from benchmarks.written.diary import Conversation, Diary, Exchange, first_day
from slowcat_memory.core.text.normalize import fingerprint

FAULTS = (
    "wrong person", "wrong relation", "year off", "invented name", "leaked order",
    "copied example", "other language", "mixed up", "denied",
)  # fmt: skip


def check(diary: Diary) -> list[str]:
    """Return the contradictions, each with its place."""
    exchanges = [one.id for _, one in diary.exchanges()]
    facts = [fact.id for _, one in diary.exchanges() for fact in one.facts]
    conversations = [one.id for one in diary.conversations]
    return [
        *_repeated(exchanges, "turn"), *_repeated(facts, "fact"),
        *_repeated(conversations, "conversation"),
        *(fault for conversation, one in diary.exchanges() for fault in _of_turn(conversation, one)),
        *_unknown(_turns_named(diary), exchanges), *_unknown(_facts_named(diary), facts),
        *_of_order(diary),
        *(f"week {week.monday}: no Monday" for week in diary.weeks if week.monday.weekday()),
    ]  # fmt: skip


def _repeated(ids: Sequence[str], what: str) -> list[str]:
    return [f"{what} {id}: twice" for id in dict.fromkeys(ids) if ids.count(id) > 1]


def _unknown(named: Sequence[tuple[str, str]], known: Sequence[str]) -> list[str]:
    return [f"{place}: no {id!r}" for place, id in named if id not in known]


def _turns_named(diary: Diary) -> list[tuple[str, str]]:
    return [
        *((one.id, id) for _, one in diary.exchanges() for id in one.answers),
        *((f"question {one.text!r}", id) for one in diary.questions for id in one.gold + one.old),
    ]


def _facts_named(diary: Diary) -> list[tuple[str, str]]:
    pairs = [
        *(("changes", (one.older, one.newer)) for one in diary.changes),
        *(("same", (one.older, one.newer)) for one in diary.same),
        *(("apart", (one.one, one.other)) for one in diary.apart),
    ]
    return [(place, id) for place, ids in pairs for id in ids]


def _of_turn(conversation: Conversation, one: Exchange) -> Iterator[str]:
    said = f" {fingerprint(one.user)} "
    for item in (*one.facts, *one.relations):
        quote = fingerprint(item.quote)
        if not quote or f" {quote} " not in said:
            yield f"{one.id}: {item.quote!r} is not said there"
    for fact in one.facts:
        for name, text in (("date", fact.date), ("since", fact.since)):
            if text and not is_day(text):
                yield f"{one.id}, {fact.id}: {name} {text!r} is no day like 2026-05-12, month or year"
    for wrong in one.wrong:
        if wrong.fault not in FAULTS:
            yield f"{one.id}: unknown fault {wrong.fault!r}"
        if not wrong.words:
            yield f"{one.id}: a wrong {wrong.kind} without words"
    if one is conversation.turns[0] and (made := conversation.wrong_summary):
        if made.fault not in FAULTS:
            yield f"{conversation.id}: unknown fault {made.fault!r}"


def _of_order(diary: Diary) -> Iterator[str]:
    times = [one.at for one in diary.conversations]
    if times != sorted(times) or (times and diary.asked_at <= times[-1]):
        yield "the conversations are not in the order of time before asked_at"
    placed = {one.id: place for place, (_, one) in enumerate(diary.exchanges())}
    spots = {id: placed[one.id] for id, (one, _) in diary.facts().items()}
    for pair in (*diary.changes, *diary.same):
        if spots.get(pair.older, 0) > spots.get(pair.newer, len(placed)):
            yield f"{pair.older} is said after {pair.newer}"


def is_day(text: str) -> bool:
    """Return whether a text is a day ("2026-05-12"), a month ("2026-05") or a year."""
    try:
        first_day(text)
    except ValueError:
        return False
    return True
