"""Learns the weights of the views from judged queries, and judges the judge. No LLM.

Weights are adopted when they rank queries better that they were not learned from (see
``core.weigh``), and given up when they no longer do. A judge that cannot tell recall's best from the
rest judges at random: all that it said is taken back, and it is asked no more. What people corrected
themselves stays.
"""

from collections import defaultdict
from collections.abc import Iterable

import numpy as np
from msgspec import Struct

from slowcat_memory.core.feedback.tuning import Tuning, tuning_name
from slowcat_memory.core.feedback.weight_learning import Ranked, WeighOptions, agreement, learn
from slowcat_memory.core.ranking.fusion import VIEWS, FuseOptions
from slowcat_memory.idle.job import JobContext, Needs, Plan, Trigger
from slowcat_memory.idle.jobs.feedback.rerank import MOST, Rerank
from slowcat_memory.idle.jobs.feedback.shared import ASKED
from slowcat_memory.records import Cursor, Key, LedgerEntry, Task, WriteBatch
from slowcat_memory.store import Snapshot


class TuneOptions(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Whether weights are learned from judged queries.

    Attributes:
        enabled: Learn, while nobody speaks. Whether it counts is ``fuse.learned``.
        again: Newly judged queries after which it is learned again.
        queries: Judged queries that are learned from at most, the latest.
        enough: Judged queries after which the judge itself is judged. Until then one that judges at
            random costs a few tenths of a point.
        believed: Chance of telling what answers from what does not, by recall's own score, that a
            judge must reach (lower end of the 95 % interval); 0.5 is a coin. Of gold answers on
            LoCoMo it is 0.81; with a tenth of the grades turned over 0.64, with a fifth 0.57.
    """

    enabled: bool = True
    again: int = 25
    queries: int = 1000
    enough: int = 40
    believed: float = 0.5


class Tune:
    """Learns weights; see the module."""

    name = "tune"
    version = 1
    needs: Needs = "nothing"
    trigger = Trigger(every_s=6 * 3600)
    Options: type[Struct] = TuneOptions

    def plan(self, context: JobContext) -> Plan | None:
        """Find namespaces with enough newly judged queries; see ``Job``."""
        options: TuneOptions = context.options
        if not options.enabled:
            return None
        tasks = []
        with context.snapshot() as snapshot:
            for scope in context.scopes():
                row = snapshot.cursor(tuning_name(scope))
                after = row.position if row else 0
                judged = {turn for turn in judged_turns(snapshot, scope) if turn > after}
                if len(judged) >= options.again:
                    id_ = f"{self.name}/{scope}/{max(judged)}"
                    key, now = str(max(judged)), context.now
                    tasks.append(
                        Task(id=id_, job=self.name, key=key, created=now, scope=scope, rank=80)
                    )
        return Plan(tasks=tuple(tasks)) if tasks else None

    async def step(self, task: Task, context: JobContext) -> WriteBatch:
        """Learn from one namespace; see ``Job``."""
        options: TuneOptions = context.options
        with context.snapshot() as snapshot:
            row = snapshot.cursor(tuning_name(task.scope))
            known = Tuning.read(row.note) if row else Tuning()
            keys = by_judge(snapshot, task.scope)
            queries = ranked(snapshot, keys, known, options.queries)
        tuning = await context.blocking(conclude, queries, known, int(task.key), options)
        drop: Iterable[Key] = keys if tuning.withdrawn == Rerank.version else ()
        return WriteBatch(
            drop_keys=tuple((key.scope, key.id) for key in drop),
            cursor=Cursor(name=tuning_name(task.scope), position=int(task.key), note=tuning.note()),
        )


def by_judge(snapshot: Snapshot, scope: str) -> list[Key]:
    """Read what the LLM judged.

    Args:
        snapshot: The store.
        scope: The namespace.

    Returns:
        Its keys.
    """
    return [
        key
        for key in snapshot.keys(scope)
        if key.kind == ASKED and key.made is not None and key.made.job == Rerank.name
    ]


def judged_turns(snapshot: Snapshot, scope: str) -> set[int]:
    """Tell which queries the LLM judged; arguments as in ``by_judge``."""
    return {key.sources[0] for key in by_judge(snapshot, scope) if key.sources}


def ranked(snapshot: Snapshot, keys: Iterable[Key], known: Tuning, most: int) -> list[Ranked]:
    """Put judgements beside what recall made of their queries.

    Args:
        snapshot: The store.
        keys: What was judged.
        known: Weights that some of the queries were ranked with.
        most: How many queries, the latest.

    Returns:
        The queries, as the usual weights would have ranked them.
    """
    good = defaultdict[int, set[str]](set)
    for key in keys:
        if key.sources:
            good[key.sources[0]] |= {key.memory} if key.weight > 0 else set()
    rows = (snapshot.ledger(turn) for turn in sorted(good, reverse=True)[:most])
    made = (_ranked(row, good[row.turn], known) for row in rows if row is not None)
    return [one for one in made if one is not None]


def conclude(
    queries: list[Ranked],
    known: Tuning,
    upto: int,
    options: TuneOptions,
    usual: FuseOptions = FuseOptions(),
) -> Tuning:
    """Learn, and decide. Pure; takes a second for a thousand queries.

    Args:
        queries: Judged queries.
        known: What was learned before.
        upto: The last judged turn.
        options: When a judge is believed.
        usual: The weights that the queries were ranked with.

    Returns:
        What is known now.
    """
    told, low = agreement(queries)
    if len(queries) >= options.enough and low < options.believed:
        return Tuning(agreement=told, queries=len(queries), withdrawn=Rerank.version)
    keyed = np.array([bool(one.views[:, VIEWS.index("keys")].any()) for one in queries], bool)
    mostly = bool(2 * keyed.sum() > len(queries))
    queries = [one for one, has in zip(queries, keyed, strict=True) if has == mostly]
    views = weights_of(usual, mostly)
    seen = np.any([np.any(one.views, axis=0) for one in queries], axis=0) if queries else views > 0
    base = np.where(seen, views, 0.0)  # a view that never spoke keeps its weight
    found = learn(queries, base, WeighOptions())
    if found is None:
        return Tuning(agreement=told, queries=len(queries))
    weights = {
        view: round(float(weight), 4)
        for view, weight, spoke in zip(VIEWS, found.weights, seen, strict=True)
        if spoke and found.adopted
    }
    return Tuning(
        weights=weights,
        keyed=mostly,
        since=(known.since or upto) if weights else 0,
        queries=found.queries,
        before=round(found.before, 4),
        after=round(found.after, 4),
        agreement=round(told, 4),
    )


def _ranked(row: LedgerEntry, good: set[str], known: Tuning) -> Ranked | None:
    """Make a query of a row; None of one by words alone, whose views weigh otherwise."""
    told = row.told[:MOST]
    if not told or any("dense" not in one.views for one in told):
        return None
    views = np.array([[one.views.get(view, 0.0) for view in VIEWS] for one in told])
    scores = np.array([one.score for one in told])
    keyed = bool(views[:, VIEWS.index("keys")].any())
    if known.weights and row.turn > known.since and keyed == known.keyed:
        there = np.array([any(view in one.views for one in told) for view in VIEWS])
        usual = weights_of(FuseOptions(), keyed) * there
        then = weights_of(known.apply(FuseOptions()), keyed) * there
        scores = scores + views @ (usual / usual.sum() - then / then.sum())
    return Ranked(views, scores, np.array([one.memory in good for one in told]))


def weights_of(options: FuseOptions, keyed: bool) -> np.ndarray:
    """List weights in the order of ``VIEWS``.

    Args:
        options: The weights.
        keyed: Where memories have keys.

    Returns:
        Shape (v,).
    """
    weights = options.weights(float(keyed))
    return np.array([weights[view] for view in VIEWS])
