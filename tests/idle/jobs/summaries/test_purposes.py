"""The table of purposes, and the jobs over it."""

import pytest

from slowcat_memory.idle.jobs.options import SHARED_SECTION, SummariesOptions
from slowcat_memory.idle.jobs.summaries.job import SUMMARY_JOBS
from slowcat_memory.idle.jobs.summaries.purposes import PURPOSES
from tests.support.daily_talks import MONDAY


def test_summary_jobs_keep_the_names_that_users_know() -> None:
    names = ["session_summary", "window_summary", "meta_summary", "rollups", "topics"]
    assert list(SUMMARY_JOBS) == names and {row.job for row in PURPOSES.values()} == set(names[:-1])
    assert SHARED_SECTION == tuple(names[:-1])


def test_purposes_purpose_task_id_names_job_scope_and_key() -> None:
    task = PURPOSES["day"].task("anna", "day/2026-05-12", MONDAY)
    assert task.id == "rollups/anna/day/2026-05-12" and task.rank < PURPOSES["week"].rank


@pytest.mark.parametrize(
    ("options", "turns"),
    [
        (SummariesOptions(), 20),
        (SummariesOptions(domain="voice"), 5),
        (SummariesOptions(domain="interview"), 50),
        (SummariesOptions(domain="voice", window=30), 30),
        (SummariesOptions(window=1), 2),
    ],
)
def test_purposes_window_turns_come_from_the_number_or_the_domain(options, turns) -> None:
    assert options.window_turns == turns


def test_all_summary_jobs_but_topics_share_a_section_of_options() -> None:
    assert tuple(name for name in SUMMARY_JOBS if name != "topics") == SHARED_SECTION
