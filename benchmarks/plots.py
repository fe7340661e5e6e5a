"""Drawings of results. matplotlib is a development dependency and loads only when one is asked for."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.scoring import METRICS

PERCENTILES = ("p50", "p95", "p99", "max")
STAGES = ("embed", "lexical", "dense", "fuse", "fetch", "pack", "hop")
COLOURS = ("#3b6ea5", "#d98032", "#5a9e6f", "#a0527a", "#8c8c8c", "#c9b037", "#6b6ecf")


def quality(results: Sequence[dict[str, Any]], path: Path) -> None:
    """Draw recall by data set.

    Args:
        results: As ``benchmarks.quality`` writes them.
        path: The PNG.
    """
    figure, axes = _canvas(7, 3.6)
    width = 0.8 / len(results)
    for place, result in enumerate(results):
        at = [i + place * width for i in range(len(METRICS))]
        values = [100 * result["scores"]["all"][name] for name in METRICS]
        bars = axes.bar(at, values, width, label=result["data"], color=COLOURS[place])
        axes.bar_label(bars, fmt="%.0f", fontsize=8, padding=2)
    axes.set_xticks([i + 0.4 - width / 2 for i in range(len(METRICS))], METRICS)
    axes.set_ylim(0, 100)
    axes.set_ylabel("%")
    axes.legend(frameon=False)
    _save(figure, path)


def latency(results: Sequence[dict[str, Any]], path: Path) -> None:
    """Draw recall by percentile and size, and where its time goes.

    Args:
        results: As ``benchmarks.latency`` makes them, one a size.
        path: The PNG.
    """
    figure, (left, right) = _canvas(10, 3.8, columns=2)
    for place, result in enumerate(results):
        for kind, style in (("inline", "-"), ("ahead", "--")):
            values = [result[kind][name] for name in PERCENTILES]
            label = f"{result['memories']:,} memories, {kind}"
            left.plot(PERCENTILES, values, style, marker="o", color=COLOURS[place], label=label)
    left.set_ylim(0)
    left.set_ylabel("ms a recall")
    left.legend(frameon=False, fontsize=8)
    names = [f"{result['memories']:,}" for result in results]
    below = [0.0] * len(results)
    for place, stage in enumerate(STAGES):
        values = [result["stages"].get(stage, {}).get("p50", 0.0) for result in results]
        right.barh(names, values, 0.5, left=below, label=stage, color=COLOURS[place])
        below = [one + other for one, other in zip(below, values, strict=True)]
    right.set_xlabel("ms, median of each stage")
    right.set_ylabel("memories")
    right.legend(frameon=False, fontsize=8, ncols=4, loc="upper center", columnspacing=0.9)
    right.set_ylim(-0.6, len(results) + 0.1)
    _save(figure, path)


def prefix(result: dict[str, Any], path: Path) -> None:
    """Draw the tokens that a server must read anew at a turn, by placement.

    Args:
        result: One conversation, as ``benchmarks.prefix`` makes it.
        path: The PNG.
    """
    figure, axes = _canvas(7, 3.0)
    names = list(result["arms"])[::-1]
    words = [result["arms"][name]["new_words"]["mean"] for name in names]
    blocks = [result["arms"][name]["block"]["mean"] for name in names]
    axes.barh(names, words, color=COLOURS[0], label="conversation")
    bars = axes.barh(names, blocks, left=words, color=COLOURS[1], label="memories")
    totals = [one + other for one, other in zip(words, blocks, strict=True)]
    axes.bar_label(bars, [f"{total:,.0f}" for total in totals], fontsize=8, padding=3)
    axes.set_xlim(0, 1.12 * max(totals))
    axes.set_xlabel(f"tokens to read anew at a turn, mean of {result['turns']} turns")
    axes.legend(frameon=False, fontsize=8, loc="lower right")
    _save(figure, path)


def _canvas(width: float, height: float, columns: int = 1) -> tuple[Any, Any]:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, columns, figsize=(width, height), layout="constrained")
    for each in [axes] if columns == 1 else axes:
        each.spines[["top", "right"]].set_visible(False)
        each.grid(axis="y", color="#dddddd", linewidth=0.6)
        each.set_axisbelow(True)
    return figure, axes


def _save(figure: Any, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=120, metadata={"Software": None})
