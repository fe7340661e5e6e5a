"""What Mem0's ``get_all`` returns, as JSON: a list of memories, or {"results": […]}.

A memory becomes a note, which holds since the memory was made.
"""

from collections.abc import Iterator

from slowcat_memory.transfer.formats.format import Format, Piece, Sample, Text
from slowcat_memory.transfer.formats.json_rows import objects, pieces
from slowcat_memory.transfer.formats.rows import Row
from slowcat_memory.transfer.transcript import Report


def _knows(sample: Sample) -> bool:
    return any(sample.has(f"{place}.memory") for place in ("", "[]", ".results[]", "[].results[]"))


def _read(text: Text, report: Report) -> Iterator[Piece]:
    return pieces(_rows(text.json().rows()), report, "memory")


def _rows(documents: Iterator[Row]) -> Iterator[Row]:
    for document in documents:
        for one in objects(document.get("results", document)):
            if isinstance(one.get("memory"), str):
                yield {"note": one["memory"], "at": one.get("created_at") or ""}


FORMAT = Format(name="Mem0", knows=_knows, read=_read)
