"""What a life is made with: its claims so far, unused values, and sentences for what happens.

A `Builder` knows which claims hold and which were said, so that an event can end what it ends and a
question knows what is right on its day.
"""

import random
import string
from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from benchmarks.lives import dates
from benchmarks.lives.model import Claim, Exchange, Kind
from benchmarks.lives.wordings import Half, Language, TimeWords, Wordings, wordings

KINDS_AHEAD = ("weekday", "date", "tomorrow", "weeks")
Slots = Mapping[str, Any]


class Said(Struct, frozen=True):
    """A sentence.

    Attributes:
        day: The day that it names; None if it names none.
        when: The words that name it.
    """

    text: str
    wording: str
    day: date | None = None
    when: str = ""


class Builder:
    """A life as far as it has come.

    Attributes:
        today: The day of the present session.
        claims: All so far, by id.
        said: Ids of the claims that were stated, in order of time.
        ended: Ids of the claims that were said to be over.
    """

    def __init__(self, language: Language, half: Half, rng: random.Random) -> None:
        self.language, self.rng, self.today = language, rng, date.min
        self.words: Wordings = wordings(language, half)
        self.claims: dict[str, Claim] = {}
        self.said: dict[str, date] = {}
        self.ended: dict[str, date] = {}
        self._ids = defaultdict[str, int](int)
        self._left = dict[str, list[Any]]()
        self.is_woman = rng.random() < 0.5
        self.user = self.value("woman" if self.is_woman else "man")

    # ------------------------------------------------------------------ values

    def value(self, name: str) -> Any:
        """Return a value of a list that was not used yet, or the one unused for longest."""
        if not self._left.get(name):
            every = list(self.words.values.get(name) or self.words.tables[name])
            self.rng.shuffle(every)
            self._left[name] = every
        return self._left[name].pop()

    def some(self, name: str) -> Any:
        """Return any value of a list, for what is no truth of this life."""
        return self.rng.choice(self.words.values.get(name) or self.words.tables[name])

    def elsewhere(self) -> str:
        """Return a city that is none of this life."""
        used = {claim.value for claim in self.claims.values() if claim.slot == "home"}
        left = [city for city in self.words.values["city"] if city not in used]
        return str(self.rng.choice(left[: len(left) // 2] or left))

    # ------------------------------------------------------------------ truth

    def add(self, slot: str, value: str, *, subject: str = "user", **more: Any) -> Claim:
        """Add a claim; its words are its value unless given."""
        self._ids[slot] += 1
        more.setdefault("words", (value.lower(),))
        claim = Claim(
            id=f"{slot}{self._ids[slot]}", subject=subject, slot=slot, value=value, **more
        )
        self.claims[claim.id] = claim
        return claim

    def end(self, claim: Claim, day: date, outcome: Any = None) -> str:
        """End a claim, as the user says today, and return its id."""
        self.claims[claim.id] = replace(claim, ends=day, outcome=outcome or claim.outcome)
        self.ended[claim.id] = self.today
        return claim.id

    def replace_current(self, slot: str, value: str, day: date, **more: Any) -> tuple[str, str]:
        """Begin a claim of an exclusive slot; return its id and that of the one it ends, or ""."""
        before = self.current(slot, day=day, subject=more.get("subject", "user"))
        made = self.add(slot, value, begins=day, **more)
        return made.id, self.end(before, day) if before else ""

    def current(self, slot: str, *, day: date | None = None, subject: str = "user") -> Claim | None:
        """Return the claim of an exclusive slot that was stated and holds on a day, or None."""
        held = self.holding(slot, day=day, subject=subject)
        return held[-1] if held else None

    def holding(self, slot: str, *, day: date | None = None, subject: str = "user") -> list[Claim]:
        """Return the claims of a slot that were stated and hold on a day."""
        when = day or self.today
        return [claim for claim in self._stated(slot, subject) if claim.holds(when)]

    def over(self, slot: str, subject: str = "user") -> list[Claim]:
        """Return the claims of a slot that were said to be over, the latest last."""
        return [
            claim
            for claim in self._stated(slot, subject)
            if claim.id in self.ended and claim.ends is not None and claim.ends <= self.today
        ]

    def _stated(self, slot: str, subject: str) -> list[Claim]:
        own = (claim for claim in self.claims.values() if claim.slot == slot)
        return [claim for claim in own if claim.subject == subject and claim.id in self.said]

    # ------------------------------------------------------------------ words

    def phrase(
        self, kind: str, slots: Slots, *, past: bool = True, on: date | None = None,
        dated: bool = False,
    ) -> Said:  # fmt: skip
        """Return a sentence of a kind.

        Args:
            slots: Its values; wordings that need others are not used.
            past: Whether a day that it names is past.
            on: The day to name; None for any.
            dated: Whether it must name a day.
        """
        fit = [
            (id, text)
            for id, text in self.words.sentences[kind]
            if (fields := _fields(text)) - {"when", "when_bare"} <= slots.keys()
            and (not dated or {"when", "when_bare"} & fields)
        ]
        id, text = self.rng.choice(fit)
        fields = _fields(text)
        if not {"when", "when_bare"} & fields:
            return Said(_capital(text.format(**slots)), id)
        bare, since = "when_bare" in fields, "ince {when}" in text
        named, day = self._time(past, on, bare=bare, since=since)
        made = text.format(**slots, when=named, when_bare=dates.bare(named))
        return Said(_capital(made.replace("ince on ", "ince ")), id, day, dates.bare(named))

    def _time(self, past: bool, on: date | None, *, bare: bool, since: bool) -> tuple[str, date]:
        if on is not None:
            return self._naming(on, past, bare), on
        kind = "" if past else self.rng.choice(KINDS_AHEAD[: 2 if bare else 4])
        fit = [
            one
            for one in self._times(past, bare)
            if (one.kind == kind or past) and not (since and "ago" in one.text)
        ]
        words = self.rng.choice(fit)
        day = dates.day_for(words, self.today, self.rng)
        return dates.in_words(words.text, day, self.language), day

    def _times(self, past: bool, bare: bool) -> list[TimeWords]:
        every = [one for one in self.words.times if one.looks(past)]
        return [one for one in every if not bare or one.text.startswith("on ")]

    def _naming(self, on: date, past: bool, bare: bool) -> str:
        fit = [
            one
            for one in self._times(past, bare)
            if _names(one, (on - self.today).days, self.today)
        ]
        if not fit:
            return dates.plainly(on, self.today, self.language)
        return dates.in_words(self.rng.choice(fit).text, on, self.language)

    def exchange(
        self, said: Said, kind: Kind = "fact", says: Sequence[str] = (), ends: Sequence[str] = (),
        agent: str | None = None, asks: Sequence[str] = (),
    ) -> Exchange:  # fmt: skip
        """Return an exchange, and note what it states."""
        for id in says:
            self.said.setdefault(id, self.today)
        value = self.claims[says[0]].value if says else ""
        return Exchange(
            user=said.text,
            agent=self.reply(value) if agent is None else agent,
            kind=kind,
            says=tuple(says),
            ends=tuple(id for id in ends if id),
            wording=said.wording,
            when=said.when,
            asks=tuple(asks),
        )

    def reply(self, value: str) -> str:
        """Return an agent's reply to a statement; one in four repeats its value."""
        kind = "agent_echo" if value and self.rng.random() < 0.25 else "agent_ack"
        return _capital(self.words.pick(kind, self.rng)[1].format(value=value))


def _fields(text: str) -> set[str]:
    return {name for _, name, _, _ in string.Formatter().parse(text) if name}


def _names(words: TimeWords, away: int, said: date) -> bool:
    if words.next_week:
        return 7 - said.weekday() <= away < 14 - said.weekday()
    return away == words.days if words.days is not None else words.first <= away <= words.last


def _capital(text: str) -> str:
    """Return a text with a capital at the beginning of each sentence."""
    made = text[:1].upper() + text[1:]
    for mark in ".?!":
        parts = made.split(f"{mark} ")
        made = f"{mark} ".join([parts[0], *(part[:1].upper() + part[1:] for part in parts[1:])])
    return made


# -------------------------------------------------------------------- relatives, partners and animals

KIN_SLOTS = {
    "sister": "sister", "daughter": "daughter", "mother": "mother", "aunt": "aunt",
    "brother": "brother", "son": "son", "father": "father", "uncle": "uncle",
    "Schwester": "sister", "Tochter": "daughter", "Mutter": "mother", "Tante": "aunt",
    "Bruder": "brother", "Sohn": "son", "Vater": "father", "Onkel": "uncle",
}  # fmt: skip
_FEMALE = frozenset({"cat"})
_NOUNS = {"dog": "Hund", "cat": "Katze"}


def relative(b: Builder, is_woman: bool) -> tuple[str, dict[str, str]]:
    """Return the slot of a relative who was not named yet, and the words for them."""
    noun = b.value("kin_woman" if is_woman else "kin_man")
    if b.language == "en":
        return KIN_SLOTS[noun], {"kin": noun}
    article, dative = ("meine", "meiner") if is_woman else ("mein", "meinem")
    return KIN_SLOTS[noun], {"kin": f"{article} {noun}", "kin_dat": f"{dative} {noun}"}


def mate(b: Builder, is_woman: bool) -> dict[str, str]:
    """Return the words for a partner."""
    noun = b.some("mate_woman" if is_woman else "mate_man")
    if b.language == "en":
        return {"mate": noun}
    return {"mate": f"{'meine' if is_woman else 'mein'} {noun}"}


def animal(b: Builder, kind: str) -> dict[str, str]:
    """Return the words for a dog or a cat."""
    if b.language == "en":
        return {"animal": kind, "pet_it": "her" if kind in _FEMALE else "him"}
    noun, is_female = _NOUNS[kind], kind in _FEMALE
    forms = ("eine", "unsere", "meine", "meiner", "meine") if is_female else (
        "einen", "unser", "mein", "meinem", "meinen"
    )  # fmt: skip
    names = ("a_animal", "our_animal", "my_animal", "my_animal_dat", "my_animal_acc")
    return {name: f"{form} {noun}" for name, form in zip(names, forms, strict=True)}


def job(b: Builder, name: str, prefix: str = "") -> dict[str, str]:
    """Return a job with its article: "a nurse"; a German one has none."""
    if b.language == "de":
        return {f"{prefix}job": name}
    article = "an" if name[0] in "aeiou" else "a"
    return {f"{prefix}job": name, f"{'an_old' if prefix else 'a'}_job": f"{article} {name}"}
