"""What was true when? Facts as of a moment, and what took the place of those that are over."""

from collections.abc import Callable, Mapping
from typing import Any

from slowcat_memory.core.memory import RELATION, family
from slowcat_memory.records import Memory
from slowcat_memory.store import Snapshot
from slowcat_memory.web.catalogue import Catalogue, Listed, is_fact
from slowcat_memory.web.context import PageContext
from slowcat_memory.web.replies import PAGE, moment
from slowcat_memory.web.shapes import memory_row, relation_words, time_of


def as_of(page: PageContext, given: Mapping[str, str]) -> dict[str, Any]:
    """Return a page of what was true at a moment, the newest first; what was over by then is marked.

    Parameters: ``at`` (a time; now by default), ``what`` (facts or people), ``believed`` (1: by what
    was known then), ``over`` (1: also what was over by then), ``after`` (a cursor).
    """
    scope, at = page.scope(given), moment(given, "at") or page.memory.clock()
    people, believed = given.get("what") == "people", bool(given.get("believed"))
    over = bool(given.get("over"))

    def held(one: Listed) -> bool:
        return one.held(at) and (not believed or one.believed(at))

    def wanted(one: Listed) -> bool:
        kind = one.family == RELATION if people else is_fact(one)
        if not kind or (believed and one.known > at):
            return False
        return over or held(one)

    with page.memory.snapshot() as snapshot:
        catalogue = page.catalogue(scope, snapshot)
        found, after = catalogue.page(_unless_replaced(wanted), PAGE, given.get("after", ""), at)
        rows = []
        for one in found:
            memory = snapshot.memory(scope, one.id)
            if memory is not None:
                row = _row(page, snapshot, memory, catalogue)
                rows.append({**memory_row(page, memory), **row, "held": held(one)})
        span = catalogue.span()
    return {
        "rows": rows,
        "after": after,
        "first": time_of(span[0]) if span else None,
        "last": time_of(max(span[1], page.memory.clock())) if span else None,
    }


def _unless_replaced(wanted: Callable[[Listed], bool]) -> Callable[[Listed], bool]:
    """Leave out relations whose interval was corrected: another row has the right one."""
    return lambda one: wanted(one) and not (one.family == RELATION and one.retired is not None)


def _row(
    page: PageContext, snapshot: Snapshot, memory: Memory, catalogue: Catalogue
) -> dict[str, Any]:
    """Return what took a fact's place, and a relation in words."""
    later = snapshot.memory(memory.scope, memory.facets.get("superseded_by", "") or "-")
    found: dict[str, Any] = {"replacement": memory_row(page, later)["text"] if later else ""}
    if family(memory.kind) == RELATION:
        found |= relation_words(page, memory, catalogue)
    return found
