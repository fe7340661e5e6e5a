from datetime import timedelta

from slowcat_memory.idle.scheduler.options import IdleOptions
from slowcat_memory.idle.scheduler.results import after_failure
from slowcat_memory.idle.scheduler.task_queue import TaskQueue
from slowcat_memory.records import Task
from tests.support.idle_doubles import NOW


def test_task_queue_next_task_is_one_whose_retry_has_come():
    tired = Task(id="a/b/1", job="a", key="1", created=NOW)
    tired = after_failure(tired, "why", NOW, IdleOptions())
    dead = Task(id="a/b/2", job="a", key="2", created=NOW, state="dead")
    queue = TaskQueue([tired, dead])
    assert len(queue) == 1 and queue.jobs() == {"a"}
    assert queue.next_task(NOW, ["a"]) is None
    later = NOW + timedelta(seconds=30)
    assert queue.next_task(later, ["a"]) == tired
    assert queue.next_task(later, []) is None
    queue.remove(tired.id)
    queue.remove(tired.id)
    assert len(queue) == 0 and queue.next_task(later, ["a"]) is None


def test_task_queue_order_is_by_rank_then_the_oldest():
    def task(key: str, rank: int, minutes: int) -> Task:
        at = NOW + timedelta(minutes=minutes)
        return Task(id=f"a/b/{key}", job="a", key=key, created=at, rank=rank)

    queue = TaskQueue([task("old", 1, 0), task("late", 2, 9), task("new", 1, 5)])
    keys = []
    while one := queue.next_task(NOW, ["a"]):
        keys.append(one.key)
        queue.remove(one.id)
    assert keys == ["old", "new", "late"]
