from datetime import timedelta

from slowcat_memory.idle.options import IdleOptions
from slowcat_memory.idle.scheduler.step import after_failure, revived
from slowcat_memory.idle.scheduler.task_queue import seconds_until_due
from slowcat_memory.records import Task
from tests.support.idle_doubles import NOW

TASK = Task(id="a/b/c", job="a", key="c", created=NOW)


def test_after_failure_the_third_is_final_and_the_user_may_revive():
    task, states = TASK, []
    for _ in range(3):
        task = after_failure(task, "why", NOW, IdleOptions())
        states.append((task.state, task.not_before and seconds_until_due(task, NOW)))
    assert states == [("waiting", 30.0), ("waiting", 120.0), ("dead", None)]
    again = revived(task)
    assert again.attempts == 0 and seconds_until_due(again, NOW) == 0 and again.error == "why"


def test_after_failure_a_clock_put_back_by_years_blocks_no_task():
    task = after_failure(TASK, "why", NOW, IdleOptions())
    assert seconds_until_due(task, NOW - timedelta(days=365 * 30)) == 0
