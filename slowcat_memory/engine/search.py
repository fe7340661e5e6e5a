"""Searching without a deadline: what was said, by whom, when, and what was believed at a moment."""

from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from itertools import chain
from typing import cast

from slowcat_memory.core.memory.validity import believed
from slowcat_memory.core.query.understand import DialogueTurn
from slowcat_memory.engine.wiring import Parts, retrieval_options
from slowcat_memory.index import Searcher
from slowcat_memory.records import Hit, Hotword, Memory, Turn
from slowcat_memory.runtime.recall import scan
from slowcat_memory.runtime.recall.query import Query, Recollection
from slowcat_memory.runtime.recall.service import Retrieval
from slowcat_memory.runtime.recall.time_travel import AsOf
from slowcat_memory.store import Snapshot, Store

FILTERED = 100  # hits of which those are kept that were said at the right time, or by the right one


class Searching(Parts):
    """Searches for who can wait. Everything here blocks."""

    def search(
        self,
        text: str,
        scope: str,
        k: int = 10,
        *,
        also: Sequence[str] = (),
        local: bool = False,
        now: datetime | None = None,
        floor: float = 0.0,
        exclude: frozenset[str] = frozenset(),
        dialogue: Sequence[DialogueTurn] = (),
    ) -> Recollection:
        """Recall without a deadline and, if not told otherwise, without a threshold. Blocks.

        Args:
            text: What is asked.
            scope: The namespace.
            k: How many hits.
            also: Other namespaces that are read beside it.
            local: Whether the hits stay on this machine: else what is local-only is left out.
            now: The time of the question; None for now.
            floor: Least probability of the likeliest of the best hits; below it, only pinned ones.
            exclude: Ids of memories not to return.
            dialogue: The turns before, oldest first.

        Returns:
            The hits, best first.
        """
        return self._retrieval.search(
            Query(
                text=text,
                scope=scope,
                now=now or self.clock(),
                k=k,
                floor=floor,
                keep_share=0.0,
                exclude=exclude,
                dialogue=tuple(dialogue),
                also=tuple(also),
                local=local,
            )
        )

    def search_within(
        self,
        text: str,
        scope: str,
        k: int = 10,
        *,
        speaker: str = "",
        since: datetime | None = None,
        until: datetime | None = None,
        exclude: frozenset[str] = frozenset(),
        local: bool = False,
    ) -> list[Hit]:
        """Search what one speaker said, or what was said in a time. Blocks.

        Args:
            text: What is asked.
            scope: The namespace.
            k: How many hits.
            speaker: Whose words, or a part of the name; "" for anybody's.
            since: Said at or after; None for any time.
            until: Said before; None for any time.
            exclude: Ids of memories not to return.
            local: As in ``search``.

        Returns:
            The hits, best first.
        """
        wanted = scan.within(speaker, since, until)

        def said(snapshot: Snapshot) -> Iterator[Memory]:
            every = scan.said_between(snapshot, scope, since, until)
            return (memory for memory in every if memory.id not in exclude)

        return self._search_all(text, scope, k, None, wanted, said, exclude=exclude, local=local)

    def as_of(
        self, text: str, scope: str, at: datetime, k: int = 10, *, local: bool = False
    ) -> list[Hit]:
        """Search what was believed at a moment, retired memories included. Blocks.

        Args:
            text: What is asked.
            scope: The namespace.
            at: The moment, aware.
            k: How many hits.
            local: As in ``search``.

        Returns:
            What had been recorded by then, and was neither retired nor over; best first.
        """

        def then(snapshot: Snapshot) -> Iterator[Memory]:
            return scan.said_between(snapshot, scope, None, at)

        def retired(snapshot: Snapshot) -> Iterator[Memory]:
            return scan.retired(snapshot, scope, at)

        return self._search_all(
            text, scope, k, at, lambda m: believed(m, at), then, retired, local=local
        )

    def _search_all(
        self,
        text: str,
        scope: str,
        k: int,
        now: datetime | None,
        keep: scan.Keep,
        said: Callable[[Snapshot], Iterator[Memory]],
        unindexed: Callable[[Snapshot], Iterator[Memory]] = lambda _: iter(()),
        exclude: frozenset[str] = frozenset(),
        local: bool = False,
    ) -> list[Hit]:
        """Search the index and what it lacks; where too few of its hits are wanted, all that was said."""
        found = self.search(text, scope, max(k, FILTERED), now=now, exclude=exclude, local=local)
        hits = [hit for hit in found.hits if keep(hit.memory)]
        with self.store.snapshot() as snapshot:
            others = chain(unindexed(snapshot), said(snapshot) if len(hits) < k else ())
            allowed = (memory for memory in others if local or not memory.local_only)
            read = scan.scan(filter(keep, allowed), found.words, self._tokenizer, k)
        return scan.merged(hits, read, k)

    def hotwords(self, scope: str, n: int = 100) -> list[Hotword]:
        """List the names of a scope, and the words that are frequent there and rare elsewhere.

        Args:
            scope: The scope.
            n: How many at most.

        Returns:
            For a recogniser, the most telling first.

        Raises:
            ConfigError: That is not a scope's name.
        """
        return self._namespaces.get(scope).searcher.hotwords(n)

    def retrieval_before(self, turn: Turn) -> Retrieval:
        """Recall from what was there before a turn.

        Its index is made anew, in memory: a second and 60 MB for 10,000 turns.

        Args:
            turn: A numbered turn.

        Returns:
            What asks the memory as it was; use its ``run``.
        """
        store = cast(Store, AsOf(self.store, turn))  # as far as a namespace looks
        return self._retrieval_from(
            self._namespaces_of(store), store, retrieval_options(self.config)
        )

    def searcher(self, scope: str) -> Searcher:
        """Return a scope's index, for who measures it. Blocks while it is loaded.

        Args:
            scope: The scope.

        Returns:
            The index in use now.
        """
        return self._namespaces.get(scope).searcher
