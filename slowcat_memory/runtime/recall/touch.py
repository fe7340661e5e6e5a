"""A recall whose result is thrown away, so that the next one finds all it needs warm."""

import time
from collections.abc import Sequence
from typing import Any

from msgspec.structs import replace

from slowcat_memory.runtime.namespaces.namespace import Namespace
from slowcat_memory.runtime.recall.pipeline import Pipeline, Progress
from slowcat_memory.runtime.recall.query import Query

WORDS = 12  # of the latest memory: as many as a question has
WARM_UP = "warm up"  # for a scope without a memory


def touch(
    pipeline: Pipeline, namespaces: Sequence[Namespace], query: Query, progress: Progress
) -> float:
    """Recall with the words of each scope's latest memory, on the caller's thread.

    No cache keeps them, and nothing of it is counted. It stops once ``progress`` is abandoned.

    Returns:
        The processor time that it took, in seconds.
    """
    began = time.thread_time()
    for namespace in namespaces:
        wanted = replace(query, **_latest(pipeline, namespace), floor=0.0, local=True)
        pipeline.run(namespace, wanted, progress, ahead=True)
    return time.thread_time() - began


def _latest(pipeline: Pipeline, namespace: Namespace) -> dict[str, Any]:
    """Return words, and their vector unless embedding them costs nobody else anything."""
    memory = namespace.latest()
    if memory is None:
        return {"text": WARM_UP}
    text = " ".join(memory.text.split()[:WORDS])
    if pipeline.has_own_model:
        return {"text": text}
    return {"text": text, "vector": namespace.searcher.vector(memory.id)}
