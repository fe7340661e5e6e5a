"""Days in words: a time expression for a day, and a day for a time expression."""

import random
from datetime import date, timedelta

from benchmarks.lives.wordings import TimeWords

WEEKDAYS = {
    "en": "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split(),
    "de": "Montag Dienstag Mittwoch Donnerstag Freitag Samstag Sonntag".split(),
}
MONTHS = {
    "en": "January February March April May June July August September October November "
    "December".split(),
    "de": "Januar Februar März April Mai Juni Juli August September Oktober November "
    "Dezember".split(),
}
_ONES = (
    "ersten zweiten dritten vierten fünften sechsten siebten achten neunten zehnten elften "
    "zwölften dreizehnten vierzehnten fünfzehnten sechzehnten siebzehnten achtzehnten neunzehnten "
    "zwanzigsten"
).split()
_UNITS = "ein zwei drei vier fünf sechs sieben acht neun".split()


def day_for(words: TimeWords, said: date, rng: random.Random) -> date:
    """Return a day that an expression names when it is said on a day."""
    if words.next_week:
        return said + timedelta(days=7 - said.weekday() + rng.randrange(5))
    if words.days is not None:
        return said + timedelta(days=words.days)
    return said + timedelta(days=rng.randint(words.first, words.last))


def in_words(template: str, day: date, language: str) -> str:
    """Return an expression with its slots filled from a day."""
    return template.format(
        weekday=WEEKDAYS[language][day.weekday()],
        month=MONTHS[language][day.month - 1],
        ordinal=_english_ordinal(day.day),
        number=day.day,
        ordinal_words=_german_ordinal(day.day),
        ordinal_words_dat=_german_ordinal(day.day),
    )


def plainly(day: date, said: date, language: str) -> str:
    """Return the plainest name of a day: its weekday within a week, else day and month."""
    if abs((day - said).days) < 7:
        return in_words({"en": "on {weekday}", "de": "am {weekday}"}[language], day, language)
    template = {"en": "on {month} {ordinal}", "de": "am {number}. {month}"}[language]
    return in_words(template, day, language)


def bare(words: str) -> str:
    """Return an expression without its leading preposition: "Friday" for "on Friday"."""
    return words.removeprefix("on ")


def _english_ordinal(number: int) -> str:
    ending = {1: "st", 2: "nd", 3: "rd"}.get(number % 10 if number not in (11, 12, 13) else 0, "th")
    return f"{number}{ending}"


def _german_ordinal(number: int) -> str:
    if number <= 20:
        return _ONES[number - 1]
    tens = "zwanzigsten" if number < 30 else "dreißigsten"
    return f"{_UNITS[number % 10 - 1]}und{tens}" if number % 10 else tens
