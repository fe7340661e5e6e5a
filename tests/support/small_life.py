"""A life of a few days, what a truthful memory shows of it, and what breaks each law."""

from datetime import date, datetime, timedelta

from msgspec.structs import replace

from benchmarks.lives.model import Life, load
from benchmarks.lives.record import Answer, Derived, Held, Line, Opener, Record, Seen
from tests.support.rows import DATA

MONDAY = datetime(2026, 3, 2, 12)
HOME, MOVED, ASKED, LATER = (MONDAY + timedelta(days=days) for days in (0, 7, 9, 40))
FRIDAY = date(2026, 3, 13)


def life() -> Life:
    return load(DATA / "small_life.toml")


def fact(text: str, place: tuple[int, int], **more: object) -> Derived:
    given: dict = {"since": HOME.date() if place[0] == 0 else MOVED.date(), **more}
    kind = given.pop("kind", "fact/person")
    return Derived(f"{kind}/{text}", kind, text, ((*place, False),), **given)


OLD_HOME = fact("Nora lives in York.", (0, 0), until=date(2026, 3, 7))
OLD_TASTE = fact("Nora likes tea.", (0, 1), retired=MOVED.date())
NEW_HOME = fact("Nora lives in Derby.", (1, 0), since=date(2026, 3, 7))
NEW_TASTE = fact("Nora dislikes tea.", (1, 1))
DENTIST = fact("Nora has a dentist appointment.", (1, 2), kind="fact/event", day=FRIDAY)
DERIVED = (OLD_HOME, OLD_TASTE, NEW_HOME, NEW_TASTE, DENTIST)
BLOCK = Line("- (on Monday) Nora: I moved to Derby on Saturday.", "chunk", ((1, 0, False),))


def truthful() -> Record:
    """Return what a memory shows that gets everything right."""
    return Record(
        answers=(Answer(0, BLOCK.text, (BLOCK,)), Answer(1, "nothing", unknown=True)),
        heads=(Seen(LATER, "About Nora: lives in Derby.\nNora dislikes tea."),),
        openers=(Opener(LATER, "Ask how the dentist appointment went.", ((1, 2, False),)),),
        held=(Held(LATER, DERIVED),),
        spoken=(Seen(LATER, "I know 3 things about you: “Nora lives in Derby”; “Nora dislikes tea”."),),
    )  # fmt: skip


def held(*derived: Derived) -> Record:
    return replace(truthful(), held=(Held(LATER, derived),))


def answered(*answers: Answer) -> Record:
    return replace(truthful(), answers=answers)


def opened(at: datetime, times: int = 1) -> Record:
    opener = Opener(at, "Ask how the dentist appointment went.", ((1, 2, False),))
    return replace(truthful(), openers=(opener,) * times)


YORK = Line("- (on Monday) Nora: I live in York.", "chunk", ((0, 0, False),))
FALSIFIED: dict[str, Record] = {
    "dates": held(*DERIVED[:-1], replace(DENTIST, day=FRIDAY - timedelta(7))),
    "read": held(*DERIVED[:-1]),
    "traps": held(*DERIVED, fact("Nora lived in Bonn.", (0, 2))),
    "superseded": answered(Answer(0, YORK.text, (YORK, BLOCK)), truthful().answers[1]),
    "current": answered(Answer(0, ""), truthful().answers[1]),
    "icebreakers": opened(MOVED + timedelta(days=1)),
    "stale": held(replace(OLD_HOME, until=None), *DERIVED[1:]),
    "opposites": held(replace(OLD_TASTE, retired=None), *DERIVED[2:], OLD_HOME),
    "spoken": replace(truthful(), spoken=(Seen(LATER, "First of all: “Nora lives in York”."),)),
}
"""By law, a record that only this law, or it and those that follow from it, must catch."""
