"""A plan gives way to a voice: its next read ends it, and other work goes on meanwhile."""

import pytest

from slowcat_memory.idle.job import Plan
from slowcat_memory.idle.options import IdleOptions
from slowcat_memory.records import WriteBatch
from tests.support.idle_doubles import Fake, memory

PATIENT = IdleOptions(lost_s=1e9)  # time runs while the disk works
TURNS = [f"said {n}" for n in range(20)]


class Reader(Fake):
    """A job whose plan reads all turns; somebody speaks during the first plans."""

    def __init__(self, name: str = "reader", interruptions: int = 1) -> None:
        super().__init__(name)
        self.left, self.reads, self.rig = interruptions, [], None

    def plan(self, context) -> Plan | None:
        self.reads.append(0)
        with context.snapshot() as snapshot:
            for _ in snapshot.turns():
                self.reads[-1] += 1
                if self.reads[-1] == 5 and self.left:
                    self.left -= 1
                    self.rig.gate.busy("user")
                    self.rig.gate.free("user")
        return super().plan(context)


def test_planner_somebody_who_speaks_ends_a_plan_at_its_next_read_and_it_is_made_again(rig):
    job = Reader()
    one = job.rig = rig(job, options=PATIENT)
    one.say(*TURNS)
    assert one.done() == 0
    assert job.reads[0] == 5, "it went on reading"
    assert job.reads[1] == len(TURNS)
    assert len(one.made()) == len(TURNS)


def test_planner_a_plan_that_is_always_interrupted_holds_up_no_other_work(rig):
    job, other = Reader(interruptions=10**9), Fake("other")
    one = job.rig = rig(job, other, options=PATIENT)
    one.say(*TURNS)
    one.run_until(lambda: len(one.made()) >= len(TURNS))
    assert len(other.steps) == len(TURNS)
    assert len(job.reads) > 1, "it was given up"


def read_turns(context):
    with context.snapshot() as snapshot:
        list(snapshot.turns())


def compute(context):
    list(context.pausing(TURNS))


@pytest.mark.parametrize("work", [read_turns, compute])
def test_planner_a_step_that_is_interrupted_between_awaits_costs_no_try(rig, work):
    one, began = None, []

    def step(task, context):
        began.append(task.key)
        if len(began) == 1:
            one.gate.busy("user")
            one.gate.free("user")
        work(context)
        return WriteBatch(memories=(memory("x"),))

    one = rig(Fake(behave=step), options=PATIENT)
    one.say("a")
    assert one.done() == 0
    assert one.outcomes() == ["interrupted", "done"] and one.made() == ["x"]
