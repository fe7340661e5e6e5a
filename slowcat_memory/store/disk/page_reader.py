"""The bytes of a data file: envelopes of records, LMDB's pages, and whether all of it is whole.

Read without LMDB, so that no damage can kill the reader: LMDB trusts its file, so a zeroed page
aborts the process and a cut file ends it by SIGBUS. Here bytes are read, never mapped, and every
number in them is checked before it is used. Imports nothing of the package, because it is also a
script, which starts fast and does not slow a conversation down. Layout of LMDB 0.9 on this machine
(data format 1)::

    page      number | pad u16 | flags u16 | lower u16, upper u16 (or u32 pages of an overflow)
    lower     the end of an array of u16 offsets, one for each node
    node      size u32 | flags u16 | key size u16 | key | value, or the number of an overflow page
    branch    the size and flags of a node are the number of its child
    meta      magic u32 | version u32 | address | map size | free tree | main tree | last page | txn
    tree      pad u32 | flags u16 | depth u16 | branch, leaf, overflow pages | entries | root

The main tree has a node for each table: its name, and its tree. A page that a transaction frees is
listed in the free tree, so a page that is neither listed there nor reachable belongs to a tree whose
pages above it are damaged.

Usage::

    python page_reader.py FILE [live]        exit 0: every record is whole
"""

import json
import struct
import sys
import zlib
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing
from itertools import starmap
from pathlib import Path
from typing import NamedTuple, TypeAlias

import lmdb

FORMAT = "slowcat-7"  # of a store; change it whenever a row, a key or a table changes
FORMAT_KEY = b"schema"  # of its row in ``meta``, which all stores have
MAX_TABLES = 32  # limit to set in LMDB

# ------------------------------------------------------------------- envelopes
# The checksum covers key and body, so that a record stored under a wrong key is rejected:
# ver u8 | codec u8 | flags u16 | crc32(key + body) u32 | body

HEADER = struct.Struct(">BBHI")
VERSION = 1
RAW, LZ4 = 0, 1  # codecs of a body


def enclose(key: bytes, body: bytes, codec: int = RAW) -> bytes:
    """Return an envelope around a body as it is, of any size."""
    return HEADER.pack(VERSION, codec, 0, zlib.crc32(body, zlib.crc32(key))) + body


def intact(key: bytes, value: bytes) -> bool:
    """Return whether a record is as it was written under this key: header, key and body."""
    if len(value) < HEADER.size:
        return False
    version, codec, flags, crc = HEADER.unpack_from(value)
    if version != VERSION or codec not in (RAW, LZ4) or flags:
        return False
    return bool(zlib.crc32(memoryview(value)[HEADER.size :], zlib.crc32(key)) == crc)


def is_of_another_format(row: bytes | None) -> bool:
    """Return whether the row of the format names another one; False for none, or a damaged one."""
    if row is None or FORMAT.encode() in row:
        return False
    return row[:1] != bytes([VERSION]) or intact(FORMAT_KEY, row)


# ------------------------------------------------------------------- pages

WORD = struct.Struct("Q" if sys.maxsize > 1 << 32 else "I")
PAGE_HEADER = WORD.size + 8
_HEADER = struct.Struct(f"={WORD.format}HHHH")
_NODE = struct.Struct("=IHH")
_TREE = struct.Struct(f"=IHH{5 * WORD.format}")
_META = struct.Struct(f"=II{2 * WORD.format}{2 * _TREE.format[1:]}{2 * WORD.format}")

BRANCH, LEAF, OVERFLOW, META = 1, 2, 4, 8
BIG, SUBTREE = 1, 2  # flags of a node: its value is on overflow pages; it is a tree
MAGIC = 0xBEEFC0DE
NO_PAGE = (1 << (8 * WORD.size)) - 1
PAGE_SIZES = tuple(1 << bits for bits in range(9, 17))
MAX_VALUE = 16 << 20  # bytes; the largest record is a quarter of it

Row: TypeAlias = tuple[bytes, bytes]
"""Key and envelope of a table's row; not checked yet."""

UNSEEN, REACHED, FREE = 0, 1, 2  # states of a page
VERDICTS = WHOLE, DAMAGED, OTHER_FORMAT = 0, 3, 4  # of ``check``, as exit codes


class Tree(NamedTuple):
    """A tree's root page and how many rows it declares."""

    root: int
    entries: int


def _tree(fields: Sequence[int]) -> Tree:
    return Tree(fields[7], fields[6])


class MetaPage(NamedTuple):
    """One of the two meta pages."""

    txn: int
    last_page: int
    free: Tree
    main: Tree


class Node(NamedTuple):
    """A node of a leaf: ``value`` is None when its overflow pages are missing."""

    key: bytes
    value: bytes | None
    is_tree: bool


class PageReader:
    """The pages of one data file."""

    def __init__(self, file: Path) -> None:
        """Open it.

        Raises:
            OSError: It cannot be opened.
        """
        self._data = file.open("rb", buffering=0)
        self.size = self._data.seek(0, 2)
        self.page_size, self.metas = self._find_metas()
        self.pages = -(-self.size // self.page_size)  # the last one may be cut

    def close(self) -> None:
        self._data.close()

    def _find_metas(self) -> tuple[int, tuple[MetaPage, ...]]:
        """Return the page size, and the readable meta pages, the newest first."""
        first = self._meta(0, 0)
        for size in (first[0],) if first else PAGE_SIZES:
            metas = [pair[1] for pair in (first, self._meta(size, size)) if pair]
            if metas:
                return size, tuple(sorted(metas, reverse=True))
        return 4096, ()

    def _meta(self, at: int, expected: int) -> tuple[int, MetaPage] | None:
        """Return page size and content of the meta page at an offset, None for another page."""
        body = self._bytes(at, PAGE_HEADER + _META.size)
        if len(body) < PAGE_HEADER + _META.size or not _HEADER.unpack_from(body)[2] & META:
            return None
        magic, version, _, _, *trees, last_page, txn = _META.unpack_from(body, PAGE_HEADER)
        size = trees[0]  # the first tree's pad has the page size
        if magic != MAGIC or version != 1 or size not in PAGE_SIZES or expected not in (0, size):
            return None
        return size, MetaPage(txn, last_page, _tree(trees[:8]), _tree(trees[8:]))

    def _bytes(self, at: int, size: int) -> bytes:
        """Read up to ``size`` bytes; fewer at the end, or where the disk cannot read."""
        try:
            self._data.seek(at)
            return self._data.read(size)
        except (OSError, OverflowError):
            return b""

    def page(self, number: int) -> bytes:
        return self._bytes(number * self.page_size, self.page_size)

    def flags(self, page: bytes, number: int) -> int:
        """Return a page's kind: its flags, 0 when its header is not that of this page."""
        if len(page) < PAGE_HEADER:
            return 0
        own, _, flags, _, _ = _HEADER.unpack_from(page)
        return int(flags) & ~0x10 if own == number else 0  # a page may keep its mark "dirty"

    def leaf(self, page: bytes) -> tuple[list[Node], bool]:
        """Return the nodes of a leaf that can be read, and whether these are all."""
        headers, whole = self._headers(page)
        nodes = [self._leaf_node(page, *header) for header in headers if header[1] <= MAX_VALUE]
        whole = whole and len(nodes) == len(headers) > 0
        return nodes, whole and all(node.value is not None for node in nodes)

    def _headers(self, page: bytes) -> tuple[list[tuple[bytes, int, int, int]], bool]:
        """Return key, size, flags and begin of the value of each node, and whether these are all."""
        count = (min(_HEADER.unpack_from(page)[3], len(page)) - PAGE_HEADER) // 2
        offsets = struct.unpack_from(f"={max(count, 0)}H", page, PAGE_HEADER)
        headers = []
        for at in offsets:
            if PAGE_HEADER <= at <= len(page) - _NODE.size:
                size, flags, key_size = _NODE.unpack_from(page, at)
                if (start := at + _NODE.size + key_size) <= len(page):
                    headers.append((page[at + _NODE.size : start], size, flags, start))
        return headers, len(headers) == len(offsets)

    def _leaf_node(self, page: bytes, key: bytes, size: int, flags: int, start: int) -> Node:
        value = page[start : start + size]
        if flags & BIG:
            run = self._run_at(page, start, size)
            value = self._bytes(run.start * self.page_size + PAGE_HEADER, size) if run else b""
        return Node(key, value if len(value) == size else None, bool(flags & SUBTREE))

    def _run_at(self, page: bytes, start: int, size: int) -> range:
        """Return the overflow pages of a large value; none if their number is cut or too large."""
        if start + WORD.size > len(page):
            return range(0)
        (number,) = WORD.unpack_from(page, start)
        count = (PAGE_HEADER + size - 1) // self.page_size + 1
        return range(number, min(number + count, self.pages))

    def run_length(self, page: bytes) -> int:
        """Return the number of overflow pages that the first one of them declares."""
        (count,) = struct.unpack_from("=I", page, PAGE_HEADER - 4)
        return min(max(count, 1), MAX_VALUE // self.page_size)

    def run(self, number: int, count: int) -> tuple[bytes, int]:
        """Return the content of overflow pages, and the least length of a value that needs them."""
        size = count * self.page_size - PAGE_HEADER
        value = self._bytes(number * self.page_size + PAGE_HEADER, size)
        return value, max(size - self.page_size, 0)

    def overflow_runs(self, page: bytes) -> Iterator[range]:
        """Yield the overflow pages of each large value of a leaf."""
        for _, size, flags, start in self._headers(page)[0]:
            if flags & BIG and size <= MAX_VALUE:
                yield self._run_at(page, start, size)

    def branch(self, page: bytes) -> tuple[list[int], bool]:
        """Return the number of each child, and whether these are all."""
        headers, whole = self._headers(page)
        above = (1 << 32) if WORD.size == 8 else 0
        children = [low + above * high for _, low, high, _ in headers]
        return children, whole and len(children) > 1


class PageMap:
    """Which pages a walk has reached, and which are free."""

    def __init__(self, reader: PageReader) -> None:
        self._reader = reader
        self._states = bytearray(reader.pages)
        self._states[: min(2, reader.pages)] = bytes([REACHED]) * min(2, reader.pages)
        self.free_known = False
        self.free_is_used = False  # a page that is listed as free was reached

    def walk(self, tree: Tree) -> "Walk":
        return Walk(self._reader, self, tree)

    def take(self, number: int) -> bool:
        """Mark a page as reached; False when it does not exist or was reached before."""
        if number >= len(self._states) or self._states[number] == REACHED:
            return False
        self.free_is_used |= self._states[number] == FREE
        self._states[number] = REACHED
        return True

    def take_run(self, pages: range) -> None:
        self._states[pages.start : pages.stop] = bytes([REACHED]) * len(pages)

    def read_free_tree(self, meta: MetaPage) -> None:
        """Mark the pages that a meta page's free tree lists; ``free_known`` if it is whole."""
        walk = self.walk(meta.free)
        for _, value in walk:
            # A count, then the numbers.
            words = len(value) // WORD.size
            listed = struct.unpack_from(f"={words}{WORD.format}", value)
            for number in listed[1 : 1 + listed[0]] if listed else ():
                if number < len(self._states) and self._states[number] == UNSEEN:
                    self._states[number] = FREE
        self.free_known = walk.whole
        beyond = range(meta.last_page + 1, len(self._states))  # of a transaction that never ended
        if walk.whole and beyond:
            self._states[beyond.start : beyond.stop] = bytes([FREE]) * len(beyond)

    def leaves(self, state: int) -> Iterator[tuple[int, bytes]]:
        """Yield number and content of the leaves in a state, from the last page back.

        New pages come from the end of a file that grows: of two versions of a row the later one is
        more often the newer.
        """
        for number in range(len(self._states) - 1, 1, -1):
            if self._states[number] == state:
                page = self._reader.page(number)
                if self._reader.flags(page, number) == LEAF:
                    yield number, page

    def large_values(self) -> Iterator[tuple[bytes, int]]:
        """Yield the content of overflow pages that are not reached, and its least length in bytes.

        Its real length is in the lost leaf; the rest of the last page is not part of it.
        """
        number = 2
        while number < len(self._states):
            run = 1
            if self._states[number] == UNSEEN:
                page = self._reader.page(number)
                if self._reader.flags(page, number) == OVERFLOW:
                    run = self._reader.run_length(page)
                    yield self._reader.run(number, run)
            number += run


class Walk:
    """Iterates over the rows of a tree that can be reached; ``whole`` once all were."""

    def __init__(self, reader: PageReader, pages: PageMap, tree: Tree) -> None:
        self._reader, self._pages, self._tree = reader, pages, tree
        self.whole = False

    def __iter__(self) -> Iterator[Row]:
        for key, value, is_tree in self.nodes():
            if value is not None and not is_tree:
                yield key, value

    def nodes(self) -> Iterator[Node]:
        """Yield the nodes of the leaves, also those whose value is missing."""
        self.whole = True
        if self._tree.root == NO_PAGE:
            self.whole = self._tree.entries == 0
            return
        count = 0
        waiting = [self._tree.root]
        while waiting:
            number = waiting.pop()
            page = self._reader.page(number) if self._pages.take(number) else b""
            kind = self._reader.flags(page, number)
            if kind == BRANCH:
                children, whole = self._reader.branch(page)
                waiting += reversed(children)
            elif kind == LEAF:
                nodes, whole = self._reader.leaf(page)
                for run in self._reader.overflow_runs(page):
                    self._pages.take_run(run)
                count += len(nodes)
                yield from nodes
            else:
                whole = False
            self.whole &= whole
        self.whole &= count == self._tree.entries


def tables(reader: PageReader, pages: PageMap, meta: MetaPage) -> tuple[dict[str, Tree], bool]:
    """Return the tables of the main tree by name, and whether these are all."""
    walk = pages.walk(meta.main)
    trees: dict[str, Tree] = {}
    for key, value, is_tree in walk.nodes():
        is_table = is_tree and value is not None and len(value) == _TREE.size
        if value is not None and is_table and len(trees) < MAX_TABLES:
            trees[key.decode("utf-8", "replace")] = _tree(_TREE.unpack(value))
        else:
            walk.whole = False
    return trees, walk.whole


# ------------------------------------------------------------------- the judge


def check(file: Path, *, live: bool = False) -> int:
    """Read every record, and compare the row counts; return the verdict.

    Args:
        live: Another process may write to it.

    Raises:
        OSError: The file cannot be opened.
        lmdb.Error: Likewise, where it is live.
    """
    with ExitStack() as held:
        if live:  # keeps the pages of this version as they are; LMDB reads none of them
            env = lmdb.open(str(file.parent), readonly=True, create=False, lib_version=0)
            held.enter_context(env)
            held.enter_context(env.begin())
        reader = held.enter_context(closing(PageReader(file)))
        if len(reader.metas) < 2:
            return DAMAGED  # LMDB would refuse it
        meta, pages = reader.metas[0], PageMap(reader)
        pages.read_free_tree(meta)
        trees, whole = tables(reader, pages, meta)
        walk = pages.walk(trees.pop("meta", Tree(NO_PAGE, 0)))
        about = dict(walk)
        if not (pages.free_known and whole):
            return DAMAGED
        if is_of_another_format(about.get(FORMAT_KEY)):
            return OTHER_FORMAT
        rows = {name: _count(pages.walk(tree)) for name, tree in trees.items()}
        if None in rows.values() or not (walk.whole and all(starmap(intact, about.items()))):
            return DAMAGED
        if pages.free_is_used:  # the next write could overwrite it
            return DAMAGED
    counts = about.get(b"counts")
    if counts is None:  # the tables are made, their first rows were not committed
        return DAMAGED if about or any(rows.values()) else WHOLE
    expected = json.loads(counts[HEADER.size :])
    return DAMAGED if any(rows.get(name) != count for name, count in expected.items()) else WHOLE


def _count(walk: Walk) -> int | None:
    """Count rows; None if one is damaged, or not all can be reached."""
    rows = 0
    for row in walk:
        if not intact(*row):
            return None
        rows += 1
    return rows if walk.whole else None


if __name__ == "__main__":
    sys.exit(check(Path(sys.argv[1]), live=len(sys.argv) > 2))
