"""What idle jobs would make of a turn and of the one before it: each quotes both turns."""

import numpy as np

from slowcat_memory.records import Context, Key, Run, Task, Vector, WriteBatch
from slowcat_memory.store import Ack, Snapshot, Store
from tests.harness import samples
from tests.support.memories import Look, ids

SPACE = "e"


def think(store: Store, n: int) -> Ack:
    """Write a context, a key with its vector, a task and a run about a turn."""
    sources = (n - 1, n) if n > 1 else (n,)
    words = " ".join(samples.token(source) for source in sources)
    about = {"scope": "anna", "memory": f"chunk/{n}", "sources": sources}
    key = Key(**about, id=f"chunk/{n}?q", kind="question", text=f"why {words}")
    given = {"job": "place", "scope": "anna", "key": f"chunk/{n}", "created": samples.at(n)}
    task = Task(id=f"place/anna/chunk/{n}", note=words, sources=sources, **given)
    batch = WriteBatch(
        contexts=(Context(**about, text=f"about {words}"),),
        keys=(key,),
        vectors=(Vector(scope="anna", memory=key.id, values=np.ones(2, np.float32)),),
        embedder=SPACE,
        tasks=(task,),
        run=Run(task=task.id, job="place", at=samples.at(n), ms=1.0, outcome="done"),
    )
    return store.apply("place", batch)


def sources(snapshot: Snapshot) -> set[int]:
    """Return the source turns of all of it, the runs' included."""
    made = [*snapshot.contexts("anna"), *snapshot.keys("anna"), *snapshot.tasks()]
    named = {int(run.task.rpartition("/")[2]) for run in snapshot.runs() if run.task}
    return {n for one in made for n in one.sources} | named


def orphans(store: Store) -> int:
    """Count keys without their vector, and vectors without their key."""
    vectors = {vector.memory for vector in Look(store).vectors(SPACE, "anna")}
    return len(vectors.symmetric_difference(ids(Look(store).keys("anna"))))
