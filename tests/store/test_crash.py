"""The crash harnesses at the size of every pull request, each with its negative control."""

import json
import random
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def harness(name: str, *args: str) -> dict:
    seed = str(random.randrange(1 << 30))
    command = [sys.executable, "-m", f"tests.harness.{name}", "--seed", seed, *args]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=300)
    assert done.returncode == 0, done.stderr
    print(done.stdout)
    found = json.loads(done.stdout)
    if "skipped" in found:
        pytest.skip(found["skipped"])
    return found


def nothing(found: dict, *names: str) -> None:
    assert {name: found[name] for name in names} == dict.fromkeys(names, 0), found


def test_crash_kill9_loses_nothing_acknowledged():
    found = harness("kill9", "--kills", "30")
    assert found["acked"] > 50
    assert found["aged"] > 50
    nothing(found, "lost", "torn", "corrupt", "accused")


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
def test_crash_forget9_control_text_that_stays_in_a_dictionary_is_found():
    assert harness("forget9", "--kills", "30", "--control", "tiers")["residue"] > 0


def test_crash_powerloss_loses_nothing_acknowledged():
    found = harness("powerloss", "--images", "60")
    nothing(found, "bad", "lost", "corrupt", "undead", "died")
    assert found["syncs"] > 50


def test_crash_powerloss_relaxed_takes_the_last_transaction_at_most():
    found = harness("powerloss", "--images", "40", "--mode", "relaxed")
    nothing(found, "corrupt", "undead", "died")
    assert found["max_lost"] <= 1


def test_crash_powerloss_control_a_store_that_does_not_flush_is_found_out():
    assert harness("powerloss", "--images", "30", "--mode", "control")["bad"] > 5


def test_crash_damage_is_recognised_and_health_is_not_accused():
    found = harness("damage", "--damaged", "30", "--healthy", "30")
    nothing(found, "accused", "missed")
    assert found["cut_caught"] >= 7  # of 10; one that takes only free pages harms nothing


@pytest.mark.parametrize(
    ("what", "images"), [("backup", 24), ("restore", 24), ("salvage", 8), ("index", 24)]
)
def test_crash_powerloss_every_other_writer_keeps_its_promise(what, images):
    nothing(harness("powerloss", "--what", what, "--images", str(images)), "bad", "lost", "corrupt")


@pytest.mark.slow
@pytest.mark.parametrize("what", ["backup", "restore", "salvage", "index"])
def test_crash_powerloss_control_another_writer_that_does_not_flush_is_found_out(what):
    found = harness("powerloss", "--what", what, "--images", "40", "--mode", "control")
    assert found["lost"] + found["corrupt"] > 0


def test_crash_damage_a_salvage_loses_little_and_brings_nothing_back():
    found = harness("damage", "--pages", "24")
    nothing(found, "poor", "cut_lost", "undead", "died")


def test_crash_damage_control_a_salvage_of_what_the_trees_reach_is_found_to_be_poor():
    found = harness("damage", "--pages", "40", "--control", "trees")
    assert found["poor"] + found["cut_lost"] > 0


def test_crash_damage_control_a_salvage_of_forgotten_turns_is_found_out():
    assert harness("damage", "--pages", "40", "--control", "undead")["undead"] > 0


def test_crash_restores_that_are_killed_leave_the_old_memory_or_the_new_one():
    found = harness("restores", "--restores", "12")
    nothing(found, "lost", "corrupt", "undead", "reused", "leftovers", "died")


@pytest.mark.slow
def test_crash_restores_control_a_file_that_is_not_swapped_in_one_step_is_found_out():
    found = harness("restores", "--restores", "12", "--control", "swap")
    assert found["lost"] + found["corrupt"] > 0
