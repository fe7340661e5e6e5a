"""Random turn scripts, a few of them: `python -m tests.harness.turns --count 1000` plays many."""

import random

import pytest

from tests.harness import turns
from tests.harness.turn_faults import CONTROLS
from tests.harness.turn_laws import NAMES


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
