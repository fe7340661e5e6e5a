"""Which names mean one person, place or company: names a person would not mix up."""

from slowcat_memory.core.graph.dedup import Candidate, same
from slowcat_memory.core.graph.options import DedupOptions
from tests.support.rows import each_row


def one(kind: str, first: str, second: str, **options: float) -> bool:
    candidates = Candidate(first, kind), Candidate(second, kind)
    return same(*candidates, None, DedupOptions(**options)) is not None


@each_row(
    ("kind", "first", "second"),
    [
        ("person", "Dr Ortega", "Doctor Ortega"),
        ("person", "Auntie Ruth", "Tante Ruth"),
        ("person", "Prof. Lindqvist", "Professor Lindqvist"),
        ("person", "Dr Banerjee", "Sunita Banerjee"),
        ("person", "Steffi Kranz", "Stefanie Kranz"),
        ("person", "Wojtek Nowak", "Wojciech Nowak"),
        ("person", "Mike O'Neil", "Michael O'Neill"),
        ("person", "P. Sandoval", "Pilar Sandoval"),
        ("person", "Lee Jae-won", "Jaewon Lee"),
        ("pet", "Oskar", "Oscar"),
        ("place", "Köln", "Cologne"),
        ("place", "golden gate brigde", "Golden Gate Bridge"),
        ("organisation", "VW Wolfsburg", "Volkswagen Wolfsburg"),
        ("organisation", "RSPB", "Royal Society Protection Birds"),
    ],
)
def test_spellings_titles_and_aliases_of_one_name_are_joined(
    kind: str, first: str, second: str
) -> None:
    assert one(kind, first, second) and one(kind, second, first)


@each_row(
    ("kind", "first", "second"),
    [
        ("person", "Emma Hall", "Emily Hall"),
        ("person", "William Hughes", "Wilma Hughes"),
        ("person", "Jack Black", "Jake Black"),
        ("person", "Omar A. Reyes", "Omar B. Reyes"),
        ("person", "Mr Castell", "Mrs Castell"),
        ("person", "Herr Vogel", "Frau Vogel"),
        ("person", "Grandma Jo", "Grandpa Jo"),
        ("person", "Mother of Finn", "Father of Finn"),
        ("person", "Eva-Marie Roth", "Eva-Luise Roth"),
        ("organisation", "Norwich City", "Norwich United"),
        ("place", "North Harbour", "South Harbour"),
        ("place", "Nordbahnhof Ost", "Nordbahnhof West"),
        ("event", "spring marathon", "spring half marathon"),
        ("product", "winter jacket", "summer jacket"),
    ],
)
def test_contrasting_names_stay_apart(kind: str, first: str, second: str) -> None:
    assert not one(kind, first, second) and not one(kind, second, first)


def test_the_threshold_of_people_is_an_option() -> None:
    assert not one("person", "Thurvald Ness", "Thorvald Ness", person_at=1.0)
    assert one("person", "Thurvald Ness", "Thorvald Ness", person_at=0.7)
