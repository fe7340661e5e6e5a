"""Whether the quoted words of a turn show a relation."""

from datetime import UTC, datetime

import pytest

from slowcat_memory.core.extraction.quoted import Related, unrelated
from slowcat_memory.core.extraction.slots import PREFERRED, canonical
from slowcat_memory.records import Turn
from tests.support.rows import listed

AT = datetime(2026, 5, 12, 18, tzinfo=UTC)

PEOPLE = ("Gareth", "Gerd", "Hana", "Piet", "Tom", "Otto", "Petra", "Jonas", "Ines", "Leo", "Button", "Knopf")  # fmt: skip


@pytest.mark.parametrize("change", [str, str.lower])
@pytest.mark.parametrize("language", ["english", "german"])
def test_a_wrong_relation_is_refused_and_a_right_one_kept(language: str, change) -> None:
    right, wrong, bad = [], [], []
    for text, quote, triple in listed("rules/related", language):
        words = triple.lstrip("!").split()
        at = next(n for n, word in enumerate(words) if "_" in word or word in PREFERRED)
        subject, predicate, object_ = " ".join(words[:at]), words[at], " ".join(words[at + 1 :])
        turn = Turn(id=1, session="s", scope="m", speaker="Mira", role="user", text=change(text), at=AT)  # fmt: skip
        one = Related(subject, canonical(predicate), predicate, object_, change(quote))
        kept = not unrelated(one, turn, PEOPLE)
        (wrong if triple.startswith("!") else right).append(kept)
        if kept == triple.startswith("!"):
            bad.append(f"{quote}: {triple}")
    assert sum(right) >= 0.95 * len(right) and sum(wrong) <= 0.1 * len(wrong), "\n".join(bad)
