"""The register of people and things: what is read, what it adds up to, and what changes it."""

import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from slowcat_memory.core.graph.portrait import Graph, relations_of
from slowcat_memory.core.memory import as_of, names_of
from slowcat_memory.idle.jobs.extraction.facts import NAME, Facts
from slowcat_memory.idle.jobs.options import FactsOptions
from slowcat_memory.providers import Prompt
from slowcat_memory.records import Forget, Memory
from slowcat_memory.testing import ScriptedLLM, check_job
from tests.support.idle_doubles import House, housing
from tests.support.memories import Look
from tests.support.rows import listed_texts
from tests.support.sessions import session

T1 = datetime(2025, 1, 6, 18, tzinfo=UTC)
MONTH = timedelta(days=30)
JOB = Facts()


def turn_numbers(prompt: Prompt) -> list[int]:
    [last] = re.findall(r"^Write the facts of the turns (.*)\.$", prompt.user, re.M)
    return [int(one) for one in last.split(", ")]


def by_words(*answers: tuple[str, dict[str, Any]]) -> ScriptedLLM:
    """An LLM that answers each turn with certain words; entities as given, the turn filled in."""

    def reply(prompt: Prompt) -> dict[str, Any]:
        lines = dict(re.findall(r"^\[(\d+)\] [^:]*: (.*)$", prompt.user, re.M))
        entities, facts = [], []
        for number in turn_numbers(prompt):
            for words, answer in answers:
                if words in lines[str(number)]:
                    entities += answer.get("entities", [])
                    facts += [{**one, "turn": number} for one in answer.get("facts", [])]
        return {"entities": entities, "facts": facts}

    return ScriptedLLM(reply)


def entity(name: str, type: str = "person", **attributes: str) -> dict[str, Any]:
    return {"name": name, "type": type, "attributes": attributes, "confidence": "high"}


def related(subject: str, predicate: str, object: str, quote: str, **more: Any) -> dict[str, Any]:
    content = f"{subject} {predicate.replace('_', ' ')} {object}."
    return {
        "type": "person", "subject": subject, "predicate": predicate, "object": object,
        "content": content, "quote": quote, "confidence": "high", **more,
    }  # fmt: skip


class Register(House):
    """What is known of whom."""

    def say(self, *texts: str, at: datetime = T1, **how: Any) -> int:
        return super().say(*texts, at=at, step_s=60, **how)[-1]

    def think(self, llm: Any = None, now: datetime = T1 + 24 * MONTH, **options: Any) -> None:
        self.llm, self.clock.now = llm, now
        assert super().think(JOB, **{NAME: FactsOptions(**options)}) == 0

    def rows(self) -> list[Memory]:
        said = {turn.id: turn.at for turn in Look(self.store).turns("anna")}
        known = self.entities().values()
        return list(relations_of(self.memories("fact/"), known, said)[1])  # type: ignore[arg-type]

    def entities(self) -> dict[str, Memory]:
        return {one.id: one for one in self.memories("entity/") if not one.retired_at}

    def names(self) -> Graph:
        return Graph(self.memories("entity/"), [], T1)

    def told(self, rows: list[Memory]) -> list[tuple[str, str, str]]:
        names, said = self.names(), (row.statement for row in rows)
        return sorted((names[one.subject], one.predicate, names[one.object]) for one in said)

    def now(self, predicate: str = "") -> list[tuple[str, str, str]]:
        rows = as_of(self.rows(), T1 + 24 * MONTH)
        return [one for one in self.told(rows) if predicate in ("", one[1])]

    def known(self) -> list[str]:
        return sorted(names_of(one)[0] for one in self.entities().values())


house = housing(Register)


# ------------------------------------------------------------------- the scenarios of the sources


def test_register_the_address_keeps_both_edges_with_their_intervals(house: Register) -> None:
    house.say("I live at 123 Main St.")
    house.say("I moved to 456 Oak Ave.", at=T1 + 5 * MONTH)
    house.think()
    names = house.names()
    rows = [one for one in as_of(house.rows(), None) if one.statement.predicate == "address"]
    spans = {names[one.statement.object]: (one.valid_from, one.valid_to) for one in rows}
    assert spans == {"123 Main St": (T1, T1 + 5 * MONTH), "456 Oak Ave": (T1 + 5 * MONTH, None)}
    for month in range(7):
        [one] = as_of(rows, T1 + month * MONTH)
        assert names[one.statement.object] == ("123 Main St" if month < 5 else "456 Oak Ave"), month
    assert as_of(rows, T1 - MONTH) == []


def test_register_two_johns_with_two_addresses_are_two(house: Register) -> None:
    house.say(
        "John Smith has the e-mail js@one.example.",
        "Another John Smith writes from john@two.example.",
        "John Miller came too.",
        "John is late.",
    )
    house.think(by_words(
        ("js@one", {"entities": [entity("John Smith", email="js@one.example")]}),
        ("john@two", {"entities": [entity("John Smith", email="john@two.example")]}),
        ("John Miller", {"entities": [entity("John Miller")]}),
        ("John is late", {"entities": [entity("John")],
                          "facts": [related("John", "status", "late", "John is late")]}),
    ), turns=1)  # fmt: skip
    mails = sorted(one.facets.get("attr.email", "") for one in house.entities().values())
    assert mails == ["", "john@two.example", "js@one.example"]
    assert house.rows() == [], "nobody knows which John is late"


def test_register_what_is_said_of_a_sister_does_not_move_the_speaker(house: Register) -> None:
    house.say("I live in Lisbon.", "My sister Clara lives in Rome.")
    wrong = related("Anna", "lives_in", "Rome", "My sister Clara lives in Rome")
    right = related("Clara", "lives_in", "Rome", "My sister Clara lives in Rome")
    house.think(by_words(
        ("I live", {"facts": [related("Anna", "lives_in", "Lisbon", "I live in Lisbon")]}),
        ("Clara", {"entities": [entity("Clara")], "facts": [wrong, right]}),
    ))  # fmt: skip
    assert house.now("lives_in") == [("Anna", "lives_in", "Lisbon"), ("Clara", "lives_in", "Rome")]


def test_register_a_user_says_their_name(house: Register) -> None:
    house.say("My name is Anna.", speaker="User")
    house.think()
    [user] = house.entities().values()
    assert set(names_of(user)) == {"User", "Anna"}


# ------------------------------------------------------------------- tiers


def test_register_a_wrong_reading_is_taken_back_and_stays_in_the_history(house: Register) -> None:
    house.say("I live in Lisbon.")
    turn = house.say("I live in Paris on paper.", at=T1 + MONTH)
    house.think()
    assert house.now() == [("Anna", "lives_in", "Paris")]
    found = T1 + 3 * MONTH
    fact = related("Anna", "registered_in", "Paris", "live in Paris on paper")
    house.think(by_words(("on paper", {"facts": [fact]})), now=found)
    assert house.now("lives_in") == [("Anna", "lives_in", "Lisbon")], turn
    then = found - timedelta(days=1)
    assert ("Anna", "lives_in", "Paris") in house.told(as_of(house.rows(), then, known=then))


# ------------------------------------------------------------------- forgetting


def test_register_what_a_forgotten_turn_had_ended_is_believed_again(house: Register) -> None:
    house.say("I live at 123 Main St.")
    turn = house.say("I moved to 456 Oak Ave.", at=T1 + 5 * MONTH)
    house.think()
    house.store.forget(Forget(turns=(turn,)))
    house.think()
    [row] = house.rows()
    assert house.names()[row.statement.object] == "123 Main St"
    assert row.valid_to is None and row.retired_at is None
    left = " ".join(str(one) for one in house.memories(""))
    assert "Oak" not in left and str(T1 + 5 * MONTH) not in left


# ------------------------------------------------------------------- whatever the order


TALK = (
    "I live in Lisbon. My dog Max is two.",
    "I work at Acme. I like hiking.",
    "I moved to Porto. My dog Max turned three.",
    "I no longer work at Acme. My sister Clara is a nurse.",
    "I just started at Globex. I live in Berlin now.",
)


def test_register_the_graph_does_not_depend_on_the_order_of_work(tmp_path: Path) -> None:
    contents = []
    for pace in (1, 2, 5):
        house = Register(tmp_path / str(pace))
        for at in range(0, len(TALK), pace):
            for n in range(at, min(at + pace, len(TALK))):
                house.say(TALK[n], at=T1 + n * MONTH)
            house.think()
        contents.append(house.memories("entity/") + house.rows())
        house.store.close()
    assert contents[0] == contents[1] == contents[2]
    assert len(contents[0]) > 10


# ------------------------------------------------------------------- what must not get in


@pytest.mark.parametrize(
    "payload", listed_texts("rules/register", "register_an_order_is_no_statement")
)
@pytest.mark.parametrize("obeying", [False, True])
def test_register_an_order_is_no_statement(house: Register, payload: str, obeying: bool) -> None:
    house.say(payload)
    quote = " ".join(payload.split()[-6:]).strip(".")
    hell = related("Anna", "lives_in", "Hell", quote)
    llm = by_words((" ", {"entities": [entity("Hell", "place")], "facts": [hell]}))
    house.think(llm if obeying else None)
    assert house.rows() == [] == house.memories("entity/")


def test_register_uncertain_names_of_an_llm_are_left_out(house):
    house.say("Clara and maybe Bob come with Rex.", "Clara is here.")
    named = [
        entity("Clara") | {"confidence": "high"},
        entity("Bob") | {"confidence": "low"},
        entity("Rex", "pet") | {"confidence": "medium"},
    ]
    house.think(by_words((" ", {"entities": named, "facts": []})))
    kept = {one.facets["name"] for one in house.memories("entity/")}
    assert {"Clara", "Rex"} <= kept and "Bob" not in kept


def test_register_keep_the_job_contract(tmp_path: Path) -> None:
    events = session("s", TALK[:1], T1)
    check_job(JOB, events)
    check_job(JOB, events, llm=by_words(("Lisbon", {"facts": [
        related("Anna", "lives_in", "Lisbon", "I live in Lisbon")]})))  # fmt: skip
