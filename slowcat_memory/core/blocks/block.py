"""Blocks: what an agent has in mind before a session, under a label, with an owner and a history.

A block is a memory of the kind "block/<label>". What supersedes it is a row of its own with the next
version; what a person wrote is the person's, and no job writes over it.
"""

import hashlib
from collections.abc import Iterable
from datetime import datetime
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from slowcat_memory.core.memory.kinds import BLOCK, family
from slowcat_memory.core.text.normalize import clean
from slowcat_memory.records import Made, Memory

Owner = Literal["user", "agent", "system"]
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
    """What an agent has in mind about itself and about the user.

    Attributes:
        persona_chars: Room for who the agent is; 0 and no job writes it.
        human_chars: Room for who the user is. What matters least is left out.
        self_perception_chars: Room for how the agent sees itself: mostly what it advised.
        relationship_chars: Room for how the two know each other, and how that changed.
        background_chars: Room for what was going on lately. All rooms together are what
            ``head.head_chars`` holds.
        persona_days: Days between two looks at who the agent is, which hardly changes; only an LLM
            writes it.
        sessions: The latest sessions that tell how tone and advice went.
        topics_h: Hours back from which topics count as active.
        threads: How many open matters are listed as background.
    """

    persona_chars: int = 250
    human_chars: int = 500
    self_perception_chars: int = 300
    relationship_chars: int = 350
    background_chars: int = 500
    persona_days: float = 7.0
    sessions: int = 40
    topics_h: float = 24.0
    threads: int = 5

    def room(self, label: str) -> int:
        """Return the characters of a block; 0 for one that no job writes."""
        return {
            PERSONA: self.persona_chars,
            HUMAN: self.human_chars,
            SELF: self.self_perception_chars,
            RELATIONSHIP: self.relationship_chars,
            BACKGROUND: self.background_chars,
        }.get(label, 0)


def label_of(memory: Memory) -> str:
    """Return a block's label."""
    return memory.kind.partition("/")[2]


def version_of(memory: Memory | None) -> int:
    """Return a block's version, 0 for none."""
    number = memory.facets.get("version", "") if memory else ""
    return int(number) if number.isdecimal() else 0


def owner_of(memory: Memory) -> str:
    """Return whose a block is; one that an application put there is the person's."""
    return memory.facets.get("owner") or ("agent" if memory.made else "user")


def history(memories: Iterable[Memory], label: str = "") -> list[Memory]:
    """List the versions of blocks.

    Args:
        memories: Any.
        label: Of this block alone; "" for all of them.

    Returns:
        By label, the earliest version first, superseded ones among them.
    """
    found = [m for m in memories if family(m.kind) == BLOCK and label in ("", label_of(m))]
    return sorted(
        found, key=lambda m: (label_of(m), version_of(m), m.recorded_at or m.valid_from, m.id)
    )


def current(memories: Iterable[Memory], label: str) -> Memory | None:
    """Find the version of a block that holds.

    Args:
        memories: Any.
        label: Which block.

    Returns:
        It; None when there is none.
    """
    standing = [m for m in history(memories, label) if not m.retired_at]
    return standing[-1] if standing else None


def revised(
    versions: Iterable[Memory],
    new: Memory,
    *,
    owner: Owner,
    limit: int,
) -> tuple[Memory, ...]:
    """Supersede a block.

    Args:
        versions: What there is of it, superseded ones included.
        new: Its text, facets, sources and times; id, owner, limit and version are filled in.
        owner: Whose it is from now on.
        limit: Its room, in characters.

    Returns:
        What to put: the new version, and the old ones retired; nothing when nothing changes, and
        the same version where the same words are made of something else. An empty text takes the
        block away.
    """
    known = history(versions, label_of(new))
    there = [m for m in known if not m.retired_at]
    text, _ = clean(new.text)
    if there and there[-1].text == text and owner_of(there[-1]) == owner:
        facets = {**there[-1].facets, **new.facets}
        same = replace(there[-1], sources=new.sources, made=new.made, facets=facets)
        return () if same == there[-1] else (same,)
    now = new.recorded_at or new.valid_from
    old = tuple(replace(m, retired_at=now) for m in there)
    if not text:
        return old
    version = max(map(version_of, known), default=0) + 1
    parts = "\0".join((new.scope, new.kind, str(version), text))
    digest = hashlib.blake2b(parts.encode(), digest_size=6).hexdigest()
    facets = {**new.facets, "owner": owner, "limit": str(limit), "version": str(version)}
    return (*old, replace(new, id=f"{new.kind}/{version}-{digest}", text=text, facets=facets))


def block(
    label: str,
    text: str,
    *,
    scope: str,
    speaker: str,
    now: datetime,
    sources: tuple[int, ...] = (),
    made: Made | None = None,
    facets: dict[str, str] | None = None,
) -> Memory:
    """Write a block down, for ``revised``.

    Args:
        label: Which.
        text: What it says.
        scope: Its namespace.
        speaker: Whom it is about.
        now: Since when it holds.
        sources: Log ids of the turns that it was made from.
        made: Which job made it; None for a person.
        facets: What else it keeps.

    Returns:
        The memory, without an id.
    """
    return Memory(
        id="",
        kind=f"{BLOCK}/{label}",
        scope=scope,
        speaker=speaker,
        text=text,
        valid_from=now,
        recorded_at=now,
        sources=sources,
        trust="user" if made is None else "agent",
        made=made,
        facets=facets or {},
    )
