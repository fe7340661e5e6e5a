"""The lists that are kept: whole, with labels that the judge knows, halves of some size.

Assertions are about numbers and labels alone: a failing one must not show a row that is held out.
"""

from collections import Counter
from datetime import date

from benchmarks.unseen import facts, lists, utterances
from benchmarks.unseen.__main__ import LISTS
from tests.support.rows import each_row

FEWEST = {  # held-out rows, half of what findings of unseen inputs rest on
    "commands": 100,
    "lookalikes": 100,
    "gate": 140,
    "time": 75,
    "facts": 80,
    "traps": 60,
    "entities": 80,
    "misheard": 40,
    "ordinary": 40,
    "recall": 100,
}
LABELS = {
    "commands": ("kind", {*utterances.KINDS.values(), "remember shared"}),
    "gate": ("needs", {"yes", "no"}),
    "time": ("kind", {"event ahead", "event back", "question", "relative", "none"}),
    "entities": ("same", {"0", "1"}),
    "recall": ("kind", {"literal", "paraphrased", "unknown", "superseded"}),
}


def rows_of(name: str) -> list[lists.Row]:
    wanted = next(one for one in LISTS if one.name == name)
    return lists.read(lists.FOLDER / f"{wanted.file or wanted.name}.tsv", wanted.columns)


@each_row("name", [one.name for one in LISTS])
def test_unseen_a_list_is_large_enough_and_has_labels_that_the_judge_knows(name: str):
    rows = rows_of(name)
    halves = Counter(row["half"] for row in rows)
    assert halves["held out"] >= FEWEST[name] and halves["tuned"] >= FEWEST[name] // 2
    column, labels = LABELS.get(name, ("half", set(lists.HALVES)))
    assert {row[column] for row in rows} <= labels
    assert {lists.language(row) for row in rows} <= {"english", "german"}


def test_unseen_no_row_is_in_both_halves():
    for wanted in LISTS:
        words = {
            half: {tuple(row[c] for c in wanted.columns) for row in rows if row["half"] == half}
            for rows in [rows_of(wanted.name)]
            for half in lists.HALVES
        }
        in_both = len(words["tuned"] & words["held out"])
        assert in_both == 0, wanted.name


def test_unseen_every_date_ends_after_it_begins():
    dated = [row for row in rows_of("time") if row["kind"] != "none"]
    assert all(date.fromisoformat(row["first"]) <= date.fromisoformat(row["last"]) for row in dated)
    assert all(lists.moment(row["said"]) for row in rows_of("time"))


def test_unseen_every_row_of_facts_names_the_words_that_a_fact_must_have():
    goals = [goal for row in rows_of("facts") for goal in facts.wanted(row["facts"])]
    incomplete = sum(not (goal.subject and goal.words) for goal in goals)
    assert (incomplete, sum(not row["forbidden"] for row in rows_of("traps"))) == (0, 0)


def test_unseen_every_answer_is_said_in_its_store():
    stores = lists.read(lists.FOLDER / "recall_stores.tsv", ("store", "at", "who", "text"))
    said = {(row["half"], row["store"], row["text"]) for row in stores}
    asked = [row for row in rows_of("recall") if row["kind"] != "unknown"]
    answers = [
        (row["half"], row["store"], text.strip())
        for row in asked
        for text in (*row["answer"].split(" | "), *filter(None, [row["old"]]))
    ]
    missing = sum(answer not in said for answer in answers)
    assert missing == 0
