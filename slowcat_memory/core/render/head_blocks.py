"""The lines of blocks in a session preamble: each once, the important first, within a room.

Every block may have its share of the room first; what is left is given in the order of importance.
A line that is too long is shortened by whole sentences; only a block's first line is cut.
"""

from collections.abc import Iterable, Mapping, Sequence

from slowcat_memory.core.language import Language
from slowcat_memory.core.memory import BLOCK, family
from slowcat_memory.core.render.repeats import Told, split
from slowcat_memory.core.text.normalize import neutralise
from slowcat_memory.records import Memory

# Order of blocks by label; any other comes after them.
BLOCKS = ("persona", "human", "relationship", "self_perception", "background_context")
# Share of the room, in the order in which blocks are given it when it is short.
SHARES = {
    "human": 0.4, "background_context": 0.45, "persona": 0.15, "relationship": 0.2,
    "self_perception": 0.15,
}  # fmt: skip
PROFILE = f"{BLOCK}/profile"  # its line has no heading
OPEN = "- "  # begins the line of a matter that is open or near in time
LEAST = 12  # characters of a cut text
CUT = "..."


def latest_blocks(memories: Iterable[Memory]) -> dict[str, Memory]:
    """Return the latest version of each block by label, without the profile."""
    latest = dict[str, Memory]()
    for memory in sorted(memories, key=lambda m: (m.recorded_at or m.valid_from, m.id)):
        if family(memory.kind) == BLOCK and memory.kind != PROFILE and memory.text.strip():
            latest[memory.kind.partition("/")[2]] = memory
    return latest


def block_lines(
    blocks: Mapping[str, Memory], texts: Mapping[str, str], room: int, told: Told, words: Language
) -> list[str]:
    """Return the lines of blocks with their headings.

    Args:
        texts: What each block says, by label.
        room: Most bytes of all.
        told: What the preamble says already; what is chosen is added.
    """
    labels = sorted(texts, key=lambda label: _rank(label, blocks[label]))
    chosen = dict[str, dict[int, str]]({label: {} for label in labels})
    headings = {label: _heading(label, words) for label in labels}
    for shared in (True, False):
        for label in labels:
            by_hand = blocks[label].made is None
            share = 1.0 if by_hand or not shared else SHARES.get(label, 0.15)
            used = sum(
                size(headings[name]) + sum(size(line) + 1 for line in lines.values())
                for name, lines in chosen.items()
                if lines
            )
            own = int(share * room) if shared else room
            free = min(room - used, own)
            cut = not shared and (by_hand or not any(chosen.values()))
            new = None if by_hand else told
            _fill(chosen[label], texts[label], headings[label], free, new, cut=cut)
    rows = list[str]()
    for label in sorted(labels, key=_place):
        lines = [text for _, text in sorted(chosen[label].items())]
        if lines:
            rows += [f"{headings[label]}{lines[0]}", *lines[1:]]
    return rows


def _fill(
    kept: dict[int, str], text: str, heading: str, free: int, told: Told | None, *, cut: bool
) -> None:
    """Add lines of a block to ``kept`` while they fit, those of open matters first."""
    lines = text.splitlines()
    for number in sorted(range(len(lines)), key=lambda n: (not lines[n].startswith(OPEN), n)):
        if number in kept:
            continue
        room = free - (0 if kept else size(heading)) - 1
        news = _news(lines[number], told)
        fits = news if size(news) <= room else shorten_to_sentences(news, room)
        if cut and not fits and news and not kept and room >= min(LEAST, size(news)):
            fits = shorten_to_chars(news, room)
        if fits:
            kept[number] = fits
            free -= size(fits) + 1 + (size(heading) if len(kept) == 1 else 0)
            if told is not None:
                told.add(fits)


def _news(line: str, told: Told | None) -> str:
    """Return the sentences of a line that were not told."""
    if told is None:
        return line
    mark = OPEN if line.startswith(OPEN) else ""
    new = told.news(line.removeprefix(OPEN))
    return mark + new if new else ""


def _heading(label: str, words: Language) -> str:
    known = words.preamble.headings.get(label)
    return f"{known or neutralise(label.replace('_', ' ')).capitalize()}: "


def _rank(label: str, block: Memory) -> tuple[bool, int, str]:
    """Sort what a person wrote by hand before what jobs wrote."""
    order: Sequence[str] = [*SHARES]
    return block.made is not None, order.index(label) if label in order else len(order), label


def _place(label: str) -> tuple[int, str]:
    return BLOCKS.index(label) if label in BLOCKS else len(BLOCKS), label


def size(text: str) -> int:
    """Return the bytes of a text: four are about a token."""
    return len(text.encode("utf-8", "replace"))


def shorten_to_chars(text: str, room: int) -> str:
    """Return a text, or its beginning and three dots; "" if not even a word fits."""
    if len(text) <= room:
        return text
    kept = text[: max(0, room - len(CUT))].rstrip()
    return kept + CUT if len(kept) > len(CUT) else ""


def shorten_to_sentences(text: str, room: int) -> str:
    """Return the first sentences of a text that fit, "" if not even one does."""
    kept = ""
    for sentence in split(text):
        longer = f"{kept} {sentence}".strip()
        if size(longer) > room:
            break
        kept = longer
    return kept
