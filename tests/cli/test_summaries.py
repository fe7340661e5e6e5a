"""``show summaries`` and ``show episodes``."""

import json
from datetime import UTC, datetime, timedelta

import pytest
from typer.testing import CliRunner

from slowcat_memory.cli.app import app
from slowcat_memory.core.summaries.summary import Subject, SummaryText, summary
from slowcat_memory.records import Made, Turn, WriteBatch
from slowcat_memory.store import Store

AT = datetime(2026, 5, 11, 9, tzinfo=UTC)


@pytest.fixture
def path(tmp_path):
    with Store.open(tmp_path / "store") as store:
        turn = Turn(session="s", scope="anna", speaker="Anna", role="user", text="I moved.", at=AT)
        id = store.append(turn).event.id
        made = []
        for name, kind, covers, model in (
            ("session/s", "summary/session", (), "m"),
            ("day/2026-05-11", "summary/day", ("summary/session/s",), ""),
        ):
            subject = Subject(
                id=f"summary/{name}", kind=kind, scope="anna", start=AT,
                until=AT + timedelta(hours=1), sources=(id,), digest="d", covers=covers, turns=1,
            )  # fmt: skip
            told = SummaryText(text=f"Anna moved ({name}).", topics=("moving",), model=model)
            made.append(summary(subject, told, Made(job="j"), AT))
        store.apply("test", WriteBatch(memories=tuple(made))).wait()
    return tmp_path / "store"


def run(path, *args):
    return CliRunner().invoke(app, ["--path", str(path), *args, "--scope", "anna"])


def test_summaries_a_list_of_what_there_is(path):
    done = run(path, "show", "summaries")
    assert done.exit_code == 0, done.output
    assert "2026-05-11" in done.output and "without an LLM" in done.output
    found = json.loads(run(path, "show", "summaries", "--json").output)
    assert [one["id"] for one in found] == ["summary/day/2026-05-11", "summary/session/s"]


def test_summaries_one_with_what_it_was_made_from(path):
    done = run(path, "show", "summary/day/2026-05-11")
    assert "Anna moved" in done.output and "summary/session/s" in done.output
    assert "I moved." in run(path, "show", "summary/session/s").output
    assert run(path, "show", "summary/none").exit_code == 1
