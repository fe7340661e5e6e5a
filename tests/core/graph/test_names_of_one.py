"""Which names mean one person, place or company: names a person would not mix up."""

from slowcat_memory.core.extraction.options import DedupOptions
from slowcat_memory.core.graph.dedup import Candidate, same
from tests.support.rows import each_row, listed


def one(kind: str, first: str, second: str, **options: float) -> bool:
    candidates = Candidate(first, kind), Candidate(second, kind)
    return same(*candidates, None, DedupOptions(**options)) is not None


@each_row(
    ("kind", "first", "second"),
    listed("rules/names_of_one", "spellings_titles_and_aliases_of_one_name_are_joined"),
)
def test_spellings_titles_and_aliases_of_one_name_are_joined(
    kind: str, first: str, second: str
) -> None:
    assert one(kind, first, second) and one(kind, second, first)


@each_row(("kind", "first", "second"), listed("rules/names_of_one", "contrasting_names_stay_apart"))
def test_contrasting_names_stay_apart(kind: str, first: str, second: str) -> None:
    assert not one(kind, first, second) and not one(kind, second, first)
