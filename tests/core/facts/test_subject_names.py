"""Which names of a subject mean one."""

from datetime import UTC, datetime

import numpy as np
from msgspec.structs import replace

from slowcat_memory.core.extraction.options import MergeOptions
from slowcat_memory.core.facts.fact_index import FactIndex, Subjects
from slowcat_memory.core.text.normalize import Tokenizer
from slowcat_memory.records import Memory, Statement

AT = datetime(2026, 5, 12, tzinfo=UTC)


def entity(id: str, name: str, also: str = "") -> Memory:
    facets = {"name": name} | ({"also": also} if also else {})
    return Memory(id=f"entity/{id}", kind="entity/person", scope="mira", speaker="Mira", text=name, valid_from=AT, facets=facets)  # fmt: skip


def sister(id: str, of: str, object: str) -> Memory:
    said = Statement(
        predicate="has_sister", subject_id=f"entity/{of}", object_id=f"entity/{object}"
    )
    return Memory(id=f"fact/{id}", kind="fact/person", scope="mira", speaker="Mira", text="", valid_from=AT, statement=said)  # fmt: skip


def test_an_entity_has_its_other_names_and_what_it_is_to_somebody() -> None:
    names = Subjects()
    for one in (
        entity("1", "Mira"),
        entity("2", "Hana", "Hanni; Schwesterherz"),
        sister("3", "1", "2"),
    ):
        names.put(one)
    assert set(names.same("hana", ["hanni", "mira's sister", "tom"])) == {"hanni", "mira's sister"}
    assert names.same("mira's sister", ["hana", "tom"]) == ["hana"]
    names.put(entity("4", "Bea"))
    names.put(sister("5", "1", "4"))
    assert names.same("mira's sister", ["hana", "bea"]) == [], "she has two"


def test_a_retired_entity_joins_no_names() -> None:
    names = Subjects()
    names.put(entity("2", "Hana", "Hanni"))
    names.put(replace(entity("2", "Hana", "Hanni"), retired_at=AT))
    assert names.same("hana", ["hanni"]) == []


def test_facts_of_two_names_of_one_person_are_compared_with_their_cosine() -> None:
    index = FactIndex(Tokenizer("english"))
    every = [
        Memory(id=f"fact/{n}", kind="fact/plan", scope="mira", speaker="Mira", text=text, valid_from=AT, statement=Statement(subject=subject), sources=(n,))
        for n, subject, text in (
            (1, "Priya Nair", "Priya Nair brings the cake on 9 May."),
            (2, "Priya", "Priya brings the cake on 16 May."),
            (3, "Tom", "Tom brings the cake on 16 May."),
        )
    ]  # fmt: skip
    for one in every:
        index.put(one, np.array([1.0, 0.0], np.float32))
    found = index.candidates(every[1], MergeOptions())
    assert [(one.id, near) for one, near in found] == [("fact/1", 1.0)]
