"""The lists that are kept: as they were written, with labels that the judge knows.

Assertions are about numbers and labels alone: a failing one must not show a row that is held out.
"""

import hashlib
from datetime import date, datetime

from benchmarks.unseen import facts, lists, utterances
from benchmarks.unseen.__main__ import LISTS
from tests.support.rows import each_row

LABELS = {
    "commands": ("kind", {*utterances.KINDS.values(), "remember shared"}),
    "gate": ("needs", {"yes", "no"}),
    "time": ("kind", {"event ahead", "event back", "question", "relative", "none"}),
    "entities": ("same", {"0", "1"}),
    "recall": ("kind", {"literal", "paraphrased", "unknown", "superseded"}),
}


def rows_of(name: str) -> list[lists.Row]:
    wanted = next(one for one in LISTS if one.name == name)
    return lists.read(lists.FOLDER / f"{wanted.name}.tsv", wanted.columns)


@each_row("name", [one.name for one in LISTS])
def test_unseen_a_list_has_labels_that_the_judge_knows(name: str):
    rows = rows_of(name)
    column, labels = LABELS.get(name, ("half", set(lists.HALVES)))
    assert {row[column] for row in rows} <= labels
    assert {lists.language(row) for row in rows} <= {"english", "german"}


def test_unseen_no_list_has_changed_since_it_was_written():
    sums = list(lists.FOLDER.parent.glob("*/SHA256SUMS"))
    assert {file.parent.name for file in sums} >= {"said_at_home", "unseen"}
    for file in sums:
        for line in file.read_text().splitlines():
            digest, name = line.split()
            content = (file.parent / name).read_bytes()
            assert hashlib.sha256(content).hexdigest() == digest, f"{file.parent.name}/{name}"


def test_unseen_every_date_ends_after_it_begins():
    dated = [row for row in rows_of("time") if row["kind"] != "none"]
    assert all(date.fromisoformat(row["first"]) <= date.fromisoformat(row["last"]) for row in dated)
    assert all(datetime.fromisoformat(row["said"]) for row in rows_of("time"))


def test_unseen_every_row_of_facts_names_the_words_that_a_fact_must_have():
    cells = [row["facts"] for row in rows_of("facts")]
    cells += [row[c] for row in rows_of("statements") for c in ("facts", "also", "forbidden")]
    goals = [goal for cell in cells for goal in facts.wanted(cell)]
    incomplete = sum(not (goal.subject and goal.words) for goal in goals)
    assert (incomplete, sum(not row["forbidden"] for row in rows_of("traps"))) == (0, 0)


def test_unseen_every_answer_is_said_in_its_store():
    stores = lists.read(lists.FOLDER / "recall_stores.tsv", "store at who text")
    said = {(row["half"], row["store"], row["text"]) for row in stores}
    asked = [row for row in rows_of("recall") if row["kind"] != "unknown"]
    answers = [
        (row["half"], row["store"], text.strip())
        for row in asked
        for text in (*row["answer"].split(" | "), *filter(None, [row["old"]]))
    ]
    missing = sum(answer not in said for answer in answers)
    assert missing == 0
