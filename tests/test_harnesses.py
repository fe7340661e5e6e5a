"""Short runs of the harnesses of whole conversations, and planted faults."""

import random

import pytest

from tests.harness import turns
from tests.harness.isolation import HARNESSES
from tests.harness.preempt import CONTROL, interrupt
from tests.harness.turn_faults import CONTROLS
from tests.harness.turn_laws import NAMES
from tests.support.harnesses import harness

# ------------------------------------------------------------------- nobody reads what another said: a short run of `tests.harness.isolation`, and pl


def test_isolation_nobody_reads_what_another_said():
    harness("isolation", "--count", "100")


@pytest.mark.parametrize("leak", ["cache", "local", "guest"])  # by night: every one
def test_isolation_a_planted_leak_is_caught_by_its_law(tmp_path, leak):
    one = HARNESSES["households"]
    found = one.run(tmp_path, one.controls[leak][1], 5, leak)
    assert one.judge(found, 0, leak) == [], found


# ------------------------------------------------------------------- the days of ``tests.harness.soak``, a few hours of them


def test_soak_hours_lose_nothing_and_leave_nothing():
    harness("soak", "--count", "80")


# ------------------------------------------------------------------- somebody speaks: the LLM is theirs at once. See the harness; here with fewer int


def test_preempt_idle_work_gives_way(tmp_path):
    assert interrupt(tmp_path, 10, 1, "")["broken"] == []


def test_preempt_a_thinker_whom_nobody_tells_is_caught(tmp_path):
    assert any("beside" in law for law in interrupt(tmp_path, 3, 1, CONTROL)["broken"])


# ------------------------------------------------------------------- random turn scripts, a few of them: `python -m tests.harness.turns --count 1000`


def faults(found) -> dict[str, int]:
    return {name: found[name] for name in NAMES if found[name]}


def test_turn_scripts_every_turn_is_given_its_memories_once_and_kept_once(capfd):
    seed = random.randrange(1 << 30)
    found = turns.run(list(range(seed, seed + 9)), tell=True)
    assert not faults(found), capfd.readouterr().err
    assert found["turns"] > 30 and found["blocks"] > 10


@pytest.mark.parametrize("control", CONTROLS)
def test_turn_scripts_control_a_planted_fault_is_found(control):
    found = (faults(turns.run([seed], control=control)) for seed in range(3))
    assert any(one.keys() - {"stuck"} for one in found)
