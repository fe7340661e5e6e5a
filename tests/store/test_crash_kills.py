"""Processes that are killed, at the size of every pull request, each with its negative control."""

import pytest

from tests.support.harnesses import harness, nothing


def test_crash_kill9_loses_nothing_acknowledged():
    found = harness("kill9", "--kills", "30")
    assert found["acked"] > 50
    assert found["aged"] > 50
    nothing(found, "lost", "torn", "corrupt", "accused", "torn_file")


def test_crash_kill9_control_pages_that_are_overwritten_are_found_by_the_canary():
    assert harness("kill9", "--kills", "1", "--control", "pages")["torn_file"] == 1


def test_crash_kill9_control_a_receipt_before_the_commit_is_found_out():
    assert harness("kill9", "--kills", "12", "--control", "early")["lost"] > 0


def test_crash_kill9_control_a_block_that_comes_after_its_rows_went_is_found_out():
    found = harness("kill9", "--kills", "4", "--control", "ageing")
    assert found["lost"] + found["torn"] > 0


def test_crash_forget9_loses_nothing_and_brings_nothing_back():
    found = harness("forget9", "--kills", "8")
    assert found["begun"] > 4 and found["forgotten"] > 0  # most are killed on their way
    nothing(found, "lost", "corrupt", "undead", "half", "residue", "torn", "orphans", "accused")
    nothing(found, "index", "backups", "drafts", "recalled", "unfound", "bad_backups")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("control", "law"),
    [("index", "index"), ("backups", "backups"), ("drafts", "drafts"), ("state", "half")],
)
def test_crash_forget9_control_copies_that_stay_are_found_by_their_own_law(control, law):
    assert harness("forget9", "--kills", "30", "--control", control)[law] > 0


def test_crash_forget9_control_what_was_made_of_a_forgotten_turn_is_found():
    found = harness("forget9", "--kills", "4", "--control", "thoughts")
    assert found["half"] + found["residue"] > 0


def test_crash_forget9_control_text_that_is_only_deleted_is_found():
    assert harness("forget9", "--kills", "4", "--control", "erase")["residue"] > 0


@pytest.mark.slow
def test_crash_forget9_control_text_that_stays_in_a_block_is_found():
    assert harness("forget9", "--kills", "30", "--control", "tiers")["residue"] > 0


def test_crash_restores_that_are_killed_leave_the_old_memory_or_the_new_one():
    found = harness("restores", "--restores", "12")
    nothing(found, "lost", "corrupt", "undead", "reused", "leftovers", "died")


@pytest.mark.slow
def test_crash_restores_control_a_file_that_is_not_swapped_in_one_step_is_found_out():
    found = harness("restores", "--restores", "12", "--control", "swap")
    assert found["lost"] + found["corrupt"] > 0
