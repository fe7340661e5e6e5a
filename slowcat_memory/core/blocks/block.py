"""Blocks: short texts that an agent is given before a session, with a label, an owner, a history.

A block is a memory of the kind "block/<label>". Each version is a row of its own that supersedes
the previous one; a block written by a user belongs to the user, and no job overwrites it.
"""

from collections.abc import Iterable
from datetime import datetime
from typing import Annotated, Literal

from msgspec import Meta, Struct
from msgspec.structs import replace

from slowcat_memory.core.memory import BLOCK, family
from slowcat_memory.core.text.normalize import clean, hex_digest
from slowcat_memory.records import Made, Memory

Owner = Literal["user", "agent", "system"]
Chars = Annotated[int, Meta(ge=0, le=100_000)]
PERSONA, HUMAN, SELF = "persona", "human", "self_perception"
RELATIONSHIP, BACKGROUND, PROFILE = "relationship", "background_context", "profile"
OWNERS: dict[str, Owner] = {
    PERSONA: "agent",
    HUMAN: "agent",
    SELF: "agent",
    RELATIONSHIP: "agent",
    BACKGROUND: "system",
    PROFILE: "system",
}


class BlocksOptions(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Blocks that jobs write about the agent and the user.

    Attributes:
        persona_chars: Characters about the agent; 0 for no such block.
        human_chars: Characters about the user; the least important lines are dropped.
        self_perception_chars: Characters about the agent's own behaviour, mostly its advice.
        relationship_chars: Characters about the relationship and its changes.
        background_chars: Characters about recent matters. ``head.head_chars`` limits all blocks
            together.
        persona_days: Days between two rewrites of the persona, which seldom changes; only an LLM
            writes it.
        sessions: Number of latest sessions searched for tone and advice.
        threads: Open threads listed as background.
    """

    persona_chars: Chars = 250
    human_chars: Chars = 700
    self_perception_chars: Chars = 450
    relationship_chars: Chars = 500
    background_chars: Chars = 500
    persona_days: Annotated[float, Meta(ge=0, le=3650)] = 7.0
    sessions: Annotated[int, Meta(ge=0, le=10_000)] = 40
    threads: Annotated[int, Meta(ge=0, le=100)] = 5

    def chars_of(self, label: str) -> int:
        """Return the maximum characters of a block; 0 for one that no job writes."""
        return getattr(self, f"{label.removesuffix('_context')}_chars", 0)


def label_of(memory: Memory) -> str:
    return memory.kind.partition("/")[2]


def version_of(memory: Memory | None) -> int:
    number = memory.facets.get("version", "") if memory else ""
    return int(number) if number.isdecimal() else 0


def owner_of(memory: Memory) -> str:
    """Return a block's owner; blocks set by an application are the user's."""
    return memory.facets.get("owner") or ("agent" if memory.made else "user")


def history(memories: Iterable[Memory], label: str = "") -> list[Memory]:
    """Return a block's versions, the earliest first; without a label, all blocks', by label."""
    blocks = [m for m in memories if family(m.kind) == BLOCK and label in ("", label_of(m))]
    return sorted(
        blocks, key=lambda m: (label_of(m), version_of(m), m.recorded_at or m.valid_from, m.id)
    )


def current(memories: Iterable[Memory], label: str) -> Memory | None:
    valid = [m for m in history(memories, label) if not m.retired_at]
    return valid[-1] if valid else None


def revised(
    versions: Iterable[Memory], new: Memory, *, owner: Owner, limit: int
) -> tuple[Memory, ...]:
    """Return the memories to write for a block's new version.

    Args:
        versions: All its versions, superseded ones included.
        new: Its text, facets, sources and times; id, owner, limit and version are filled in.

    Returns:
        The new version, and the old ones retired. () if nothing changes; the same version if only
        the sources change. An empty text removes the block.
    """
    known = history(versions, label_of(new))
    valid = [m for m in known if not m.retired_at]
    text, _ = clean(new.text)
    if valid and valid[-1].text == text and owner_of(valid[-1]) == owner:
        facets = {**valid[-1].facets, **new.facets}
        same = replace(
            valid[-1],
            sources=new.sources,
            derived_from=new.derived_from,
            made=new.made,
            facets=facets,
        )
        return () if same == valid[-1] else (same,)
    now = new.recorded_at or new.valid_from
    old = tuple(replace(m, retired_at=now) for m in valid)
    if not text:
        return old
    # A person's mark is one of the block, not of a version. An inherited one comes with its origins.
    kept_here = any(m.local_only and not m.local_inherited for m in valid)
    muted = any(m.muted and not m.muted_inherited for m in valid)
    new = replace(new, local_only=new.local_only or kept_here, muted=new.muted or muted)
    version = max(map(version_of, known), default=0) + 1
    digest = hex_digest("\0".join((new.scope, new.kind, str(version), text)), 6)
    facets = {**new.facets, "owner": owner, "limit": str(limit), "version": str(version)}
    return (*old, replace(new, id=f"{new.kind}/{version}-{digest}", text=text, facets=facets))


def block(
    label: str,
    text: str,
    *,
    scope: str,
    speaker: str,
    now: datetime,
    sources: Iterable[int] = (),
    of: Iterable[str] = (),
    made: Made | None = None,
    facets: dict[str, str] | None = None,
) -> Memory:
    """Return a block as a memory without an id, for ``revised``.

    Args:
        now: Since when it is valid.
        sources: Log ids of the turns that it was made from.
        of: Ids of the memories that it was made from.
        made: The job that made it; None for a user.
    """
    return Memory(
        id="",
        kind=f"{BLOCK}/{label}",
        scope=scope,
        speaker=speaker,
        text=text,
        valid_from=now,
        recorded_at=now,
        sources=tuple(sorted(set(sources))),
        derived_from=tuple((scope, id) for id in dict.fromkeys(of)),
        trust="user" if made is None else "agent",
        made=made,
        facets=facets or {},
    )
