"""What happens in a life and how it is told: states that change, and people and animals.

Each event is a function of the `Builder` that changes what is true today and returns the exchanges
that tell it; none if it cannot happen now.
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from typing import Any

from benchmarks.lives import builder
from benchmarks.lives.builder import Builder, Said
from benchmarks.lives.model import Claim, Exchange

Event = Callable[[Builder], Sequence[Exchange]]
PETS = ("dog", "cat")


def _first(slot: str, kind: str, name: str) -> Event:
    """Return the event that tells what has held of a slot since before the first day."""

    def tell(b: Builder) -> list[Exchange]:
        value = b.value(name)
        return _was(b, slot, kind, {name: value}, value)

    return tell


def _was(b: Builder, slot: str, kind: str, slots: Mapping[str, str], value: str) -> list[Exchange]:
    """Tell of a claim that has held since before the first day."""
    claim = b.add(slot, value)
    return [b.exchange(b.phrase(kind, slots), says=[claim.id])]


def _stated(slot: str, kind: str, name: str, *, telling: bool = False) -> Event:
    """Return the event that states a value of an open slot, once.

    Args:
        telling: Whether its telling word alone shows it.
    """

    def tell(b: Builder) -> list[Exchange]:
        value, alike = b.value(name), (slot, "likes", "dislikes")
        if any(one.value == value and one.slot in alike for one in b.claims.values()):
            return []
        words = (telling_word(value, b.language) if telling else value.lower(),)
        claim = b.add(slot, value, begins=b.today, words=words)
        return [b.exchange(b.phrase(kind, {name: value}), says=[claim.id])]

    return tell


def _changed(slot: str, kind: str, name: str) -> Event:
    """Return the event that tells of a new value of an exclusive slot."""

    def tell(b: Builder) -> list[Exchange]:
        value = b.value(name)
        return _replaced(b, slot, kind, {name: value}, value)

    return tell


def _named(slot: str, *, once: bool = False) -> Event:
    """Return the event that names somebody; ``once``: not while there is one."""

    def tell(b: Builder) -> list[Exchange]:
        if once and b.holding(slot):
            return []
        is_woman, name = _person(b)
        gender = "name_f" if is_woman else "name_m"
        try:
            said = b.phrase(f"{slot}_named", {gender if b.language == "de" else "name": name})
        except IndexError:  # no wording for this gender in this half
            return []
        claim = b.add(slot, name)
        return [b.exchange(said, says=[claim.id])]

    return tell


def _of_friend(slot: str, kind: str, name: str, value_of: Callable[[Builder], str]) -> Event:
    """Return the event that tells something of a person whom the user knows."""

    def tell(b: Builder) -> list[Exchange]:
        value = value_of(b)
        return _told_of(b, slot, kind, {name: value}, value)

    return tell


home_now = _first("home", "home_now", "city")
home_moved = _changed("home", "home_moved", "city")
employer_now = _first("employer", "employer_now", "employer")
employer_new = _changed("employer", "employer_new", "employer")
phone_changed = _changed("phone", "phone_changed", "phone")
car_changed = _changed("car", "car_changed", "car")
friend_named, colleague_named = _named("friend"), _named("colleague")
boss_named = _named("boss", once=True)
likes = _stated("likes", "likes", "thing")
dislikes = _stated("dislikes", "dislikes", "thing")
allergy = _stated("allergy", "allergy", "allergen")
goal = _stated("goal", "goal", "goal", telling=True)
decision = _stated("decision", "decision", "decision", telling=True)
diet_now = _stated("diet", "diet_now", "diet")
other_home = _of_friend("home", "other_home", "city", Builder.elsewhere)
other_likes = _of_friend("likes", "other_likes", "thing", lambda b: str(b.some("thing")))


def _ended(
    b: Builder, claims: Sequence[Claim], kind: str, slots: Mapping[str, str], today: bool = False
) -> list[Exchange]:
    """Tell that claims are over, since the day that the sentence names; ``today``: since today."""
    if not claims:
        return []
    said = b.phrase(kind, slots)
    day = b.today if today else said.day or b.today
    return [b.exchange(said, ends=[b.end(claim, day) for claim in claims])]


def _began(
    b: Builder, slot: str, kind: str, slots: Mapping[str, str], value: str, **more: Any
) -> list[Exchange]:
    """Tell of a new claim, true since the day that the sentence names."""
    said = b.phrase(kind, slots)
    claim = b.add(slot, value, begins=said.day or b.today, **more)
    return [b.exchange(said, says=[claim.id])]


def home_moving(b: Builder) -> list[Exchange]:
    before = b.current("home")
    if before is None or any(one.begins and one.begins > b.today for one in b.claims.values()):
        return []
    city = b.value("city")
    said = b.phrase("home_moving", {"city": city, "old": before.value}, past=False, dated=True)
    assert said.day is not None
    made, ended = b.replace_current("home", city, said.day)
    return [b.exchange(said, says=[made], ends=[ended])]


def job_now(b: Builder) -> list[Exchange]:
    name = _job(b)
    return _was(b, "job", "job_now", builder.job(b, name), name)


def job_started(b: Builder) -> list[Exchange]:
    before, name = b.current("job"), _job(b)
    slots = builder.job(b, name) | (builder.job(b, before.value, "old_") if before else {})
    said = b.phrase("job_started", slots)
    made, ended = b.replace_current("job", name, said.day or b.today)
    return [b.exchange(said, says=[made], ends=[ended])]


def job_left(b: Builder) -> list[Exchange]:
    job, employer = b.current("job"), b.current("employer")
    if job is None:
        return []
    ends = [claim for claim in (job, employer) if claim]
    return _ended(b, ends, "job_left", builder.job(b, job.value, "old_"))


def kin_named(b: Builder) -> list[Exchange]:
    is_woman = b.rng.random() < 0.5
    slot, words = builder.relative(b, is_woman)
    if b.holding(slot):
        return []
    name = b.value("woman" if is_woman else "man")
    if b.rng.random() < 0.25:
        return _misnamed(b, slot, words, name, is_woman)
    return _was(b, slot, "kin_named", words | {"name": name}, name)


def _misnamed(
    b: Builder, slot: str, words: dict[str, str], name: str, is_woman: bool
) -> list[Exchange]:
    wrong = b.add(slot, b.value("woman" if is_woman else "man"), ends=b.today)
    right = b.add(slot, name)
    first = b.phrase("kin_named", words | {"name": wrong.value})
    again = b.phrase("correct_name", words | {"name": name, "wrong": wrong.value})
    made = [
        b.exchange(first, says=[wrong.id]),
        b.exchange(again, "correction", says=[right.id], ends=[wrong.id]),
    ]
    b.end(wrong, b.today)
    return made


def partner_now(b: Builder) -> list[Exchange]:
    is_woman, name = _other(b)
    return _was(b, "partner", "partner_now", builder.mate(b, is_woman) | {"name": name}, name)


def partner_new(b: Builder) -> list[Exchange]:
    if b.current("partner"):
        return []
    is_woman, name = _other(b)
    said = b.phrase("partner_new", builder.mate(b, is_woman) | {"name": name})
    made, _ = b.replace_current("partner", name, said.day or b.today)
    return [b.exchange(said, says=[made])]


def partner_left(b: Builder) -> list[Exchange]:
    held = b.holding("partner")[-1:]
    return _ended(b, held, "partner_left", {"name": held[0].value} if held else {})


def pet_now(b: Builder) -> list[Exchange]:
    kind = b.rng.choice(PETS)
    name = b.value(kind)
    return _was(b, kind, "pet_now", builder.animal(b, kind) | {"pet": name}, name)


def pet_got(b: Builder) -> list[Exchange]:
    free = [kind for kind in PETS if not b.holding(kind)]
    if not free:
        return []
    kind = b.rng.choice(free)
    name = b.value(kind)
    return _began(b, kind, "pet_got", builder.animal(b, kind) | {"pet": name}, name)


def pet_died(b: Builder) -> list[Exchange]:
    alive = [claim for kind in PETS for claim in b.holding(kind)]
    if not alive:
        return []
    gone = b.rng.choice(alive)
    return _ended(b, [gone], "pet_died", builder.animal(b, gone.slot) | {"pet": gone.value})


def turned(b: Builder) -> list[Exchange]:
    """A like turns into a dislike."""
    liked = b.holding("likes")
    if not liked:
        return []
    before = b.rng.choice(liked)
    said = b.phrase("dislikes_now", {"thing": before.value})
    after = b.add("dislikes", before.value, begins=b.today, opposite=before.id)
    return [b.exchange(said, says=[after.id], ends=[b.end(before, b.today)])]


def hobby_began(b: Builder) -> list[Exchange]:
    name = b.value("hobby")
    return _began(b, "hobby", "hobby_began", {"hobby": name}, name)


def hobby_stopped(b: Builder) -> list[Exchange]:
    held = b.holding("hobby")
    if not held:
        return []
    before = b.rng.choice(held)
    return _ended(b, [before], "hobby_stopped", {"hobby": before.value})


def diet_changed(b: Builder) -> list[Exchange]:
    name = b.value("diet")
    before = b.current("diet")
    if before is None or before.value == name or _avoids(before.value) != _avoids(name):
        return []
    return _replaced(b, "diet", "diet_changed", {"diet": name}, name)


def _avoids(diet: str) -> bool:
    """Return whether a diet leaves something out beside any other: vegetarian and gluten-free."""
    return any(word in diet.lower() for word in ("gluten", "lactose", "laktose"))


def condition_began(b: Builder) -> list[Exchange]:
    row = b.value("conditions")
    if any(one.value == row["name"] for one in b.holding("condition")):
        return []
    slots = {"condition": row["name"]}
    return _began(b, "condition", "condition_began", slots, row["name"], words=tuple(row["words"]))


def condition_over(b: Builder) -> list[Exchange]:
    held = b.holding("condition")
    if not held:
        return []
    the = {row["name"]: row["the"] for row in b.words.tables["conditions"]}[held[0].value]
    return _ended(b, held[:1], "condition_over", {"the_condition": the}, today=True)


def thread_opened(b: Builder) -> list[Exchange]:
    matter = b.value("matter")
    if any(one.value == matter for one in b.holding("thread")):
        return []
    said = b.phrase("thread_opened", matter_words(b, matter))
    claim = b.add("thread", matter, begins=b.today, outcome="open", words=(matter_word(matter),))
    return [b.exchange(said, says=[claim.id])]


def thread_closed(b: Builder) -> list[Exchange]:
    held = b.holding("thread")
    if not held:
        return []
    said = b.phrase("thread_closed", matter_words(b, held[0].value))
    return [b.exchange(said, ends=[b.end(held[0], b.today, "happened")])]


def matter_words(b: Builder, matter: str) -> dict[str, str]:
    """Return the words of an open matter, a German one in the dative too."""
    if b.language == "en":
        return {"matter": matter}
    dative = matter.replace("die ", "der ", 1)
    parts = dative.split()
    if len(parts) == 3:  # "der kaputte Heizung" is "der kaputten Heizung"
        dative = f"{parts[0]} {parts[1]}n {parts[2]}"
    return {"matter": matter, "matter_dat": dative}


def matter_word(matter: str) -> str:
    """Return the word that shows an open matter in any case: its last two words in English."""
    parts = matter.lower().split()
    return " ".join(parts[-2:]) if parts[0] in ("the", "my") else parts[-1]


def telling_word(value: str, language: str) -> str:
    """Return the word of a phrase that shows it: the last, or the longest noun of a German one."""
    parts = value.split()
    nouns = [part for part in parts if part[0].isupper()]
    return (max(nouns, key=len) if language == "de" and nouns else parts[-1]).lower()


def other_job(b: Builder) -> list[Exchange]:
    if b.language == "de":
        field = str(b.some("field"))
        return _told_of(b, "job", "other_job", {"field": field}, field)
    taken = {one.value for one in b.claims.values() if one.slot == "job"}
    name = b.rng.choice([one for one in b.words.values["job"] if one not in taken])
    return _told_of(b, "job", "other_job", builder.job(b, name), name)


def other_animal(b: Builder) -> list[Exchange]:
    friend = _friend(b)
    if friend is None:
        return []
    words = builder.animal(b, b.rng.choice(PETS)) | {"name": friend.value}
    return [b.exchange(b.phrase("other_animal", words), "other")]


def _told_of(b: Builder, slot: str, kind: str, slots: dict[str, str], value: str) -> list[Exchange]:
    friend = _friend(b)
    if friend is None or b.holding(slot, subject=friend.value):
        return []
    said = b.phrase(kind, {"name": friend.value, **slots})
    claim = b.add(slot, value, subject=friend.value, begins=said.day)
    return [b.exchange(said, "other", says=[claim.id])]


def _friend(b: Builder) -> Claim | None:
    known = [
        one for slot in ("friend", "colleague", "sister", "brother") for one in b.holding(slot)
    ]
    return b.rng.choice(known) if known else None


def _replaced(
    b: Builder, slot: str, kind: str, slots: dict[str, str], value: str
) -> list[Exchange]:
    """Tell that a new value of an exclusive slot holds instead of the one before."""
    before = b.current(slot)
    if before and before.value == value or _is_moving(b, slot):
        return []
    said: Said = b.phrase(kind, slots | ({"old": before.value} if before else {}))
    day = said.day or b.today
    if before and before.begins and before.begins >= day:
        day = before.begins + timedelta(days=1)
        said = b.phrase(kind, slots | {"old": before.value}, on=min(day, b.today))
    made, ended = b.replace_current(slot, value, min(day, b.today))
    return [b.exchange(said, says=[made], ends=[ended])]


def _is_moving(b: Builder, slot: str) -> bool:
    return any(
        one.slot == slot and one.begins and one.begins > b.today for one in b.claims.values()
    )


def _job(b: Builder) -> str:
    lists = {"en": "job", "de": "job_woman" if b.is_woman else "job_man"}
    return str(b.value(lists[b.language]))


def _person(b: Builder) -> tuple[bool, str]:
    is_woman = b.rng.random() < 0.5
    return is_woman, b.value("woman" if is_woman else "man")


def _other(b: Builder) -> tuple[bool, str]:
    is_woman = not b.is_woman if b.rng.random() < 0.8 else b.is_woman
    return is_woman, b.value("woman" if is_woman else "man")
