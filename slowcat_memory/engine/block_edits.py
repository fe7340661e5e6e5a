"""What a person writes into a block: theirs from then on, and no job writes over it."""

import re
from typing import TYPE_CHECKING

from msgspec.structs import replace

from slowcat_memory.core.blocks.block import PROFILE, block, current, history, revised
from slowcat_memory.core.memory.kinds import BLOCK
from slowcat_memory.idle.jobs.reflection.blocks import LABELS, task_of
from slowcat_memory.records import Memory, WriteBatch
from slowcat_memory.runtime.namespaces.registry import check_scope

if TYPE_CHECKING:
    from slowcat_memory.engine import MemoryEngine

EDIT = "edit"
MOST_CHARS = 4000
_LABEL = re.compile(r"[a-z][a-z0-9_]{0,40}")


def edit_block(engine: "MemoryEngine", scope: str, label: str, text: str) -> Memory | None:
    """Write a block as a person wants it. Blocks until it is durable.

    Args:
        engine: Open for writing.
        scope: Whose.
        label: Which block; one of one's own is made by naming it.
        text: What it says; "" takes it away.

    Returns:
        The block; None when it is taken away.

    Raises:
        ValueError: That is no label, or the text is too long.
        StoreError: It cannot be saved.
    """
    if not _LABEL.fullmatch(label):
        raise ValueError(f"{label!r} is no label: small letters, digits and _")
    if len(text) > MOST_CHARS:
        raise ValueError(f"a block holds {MOST_CHARS} characters at most")
    with engine.store.snapshot() as snapshot:
        versions = history(snapshot.memories(check_scope(scope), f"{BLOCK}/"), label)
    user = engine.config.memory.user_name
    new = block(label, text.strip(), scope=scope, speaker=user, now=engine.clock())
    if label == PROFILE and (before := current(versions, label)):
        new = replace(new, facets=before.facets)
    changed = revised(versions, new, owner="user", limit=MOST_CHARS)
    engine.adopt(EDIT, WriteBatch(memories=changed))
    return next((memory for memory in changed if not memory.retired_at), current(changed, label))


def release_block(engine: "MemoryEngine", scope: str, label: str) -> None:
    """Give a block back to the jobs. Blocks until it is durable.

    Args:
        engine: Open for writing.
        scope: Whose.
        label: Which block.

    Raises:
        ValueError: There is no such block.
        StoreError: It cannot be saved.
    """
    with engine.store.snapshot() as snapshot:
        versions = history(snapshot.memories(check_scope(scope), f"{BLOCK}/"), label)
    there = current(versions, label)
    if there is None:
        raise ValueError(f"there is no block {label}")
    given = replace(there, facets={**there.facets, "owner": "agent"})
    wanted = (
        label in LABELS and engine.config.blocks.enabled and engine.config.blocks.chars_of(label)
    )
    tasks = (task_of(scope, label, engine.clock()),) if wanted else ()  # no plan sees a release
    engine.adopt(EDIT, WriteBatch(memories=(given,), tasks=tasks))
