"""Losses of power and damaged files, at the size of every pull request, each with its negative control."""

import pytest

from tests.support.harnesses import harness, nothing


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
