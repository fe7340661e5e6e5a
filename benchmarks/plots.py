"""Drawings of results. matplotlib is a development dependency and loads only when one is asked for."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.scoring import ALL

PERCENTILES = ("p50", "p95", "p99", "max")
STAGES = ("embed", "lexical", "dense", "fuse", "tokens", "fetch", "pack", "hop")
SEARCHES = {
    "search_with_sentence_transformers": "question embedded by sentence-transformers (ours: by ours)",
    "search": "by our query embedder",
    "search_without_embedding": "embedded ahead",
    "search_after_pause": "by ours, after a pause of 300 ms",
}
COLOURS = ("#3b6ea5", "#d98032", "#5a9e6f", "#a0527a", "#8c8c8c", "#c9b037", "#6b6ecf", "#2f2f2f")
QUALITY = {
    "turn": ("R@10", "Hit@10", "All@10", "MRR", "R@300w"),
    "session": ("R@10", "Hit@5", "Hit@10"),
}


def peers(results: Sequence[dict[str, Any]], path: Path) -> None:
    """Draw how long peers take to search, on a log scale, and what they find.

    Args:
        results: As ``benchmarks.peers`` makes them, one a peer.
        path: The PNG.
    """
    figure, (left, right) = canvas(10, 1.3 + 0.5 * len(results), columns=2, widths=[3, 2])
    names = [result["peer"] for result in results]
    height = 0.8 / len(SEARCHES)
    for place, (figure_name, label) in enumerate(SEARCHES.items()):
        values = [result[figure_name]["p50"] for result in results]
        at = [n + (place - 1) * height for n in range(len(names))]
        bars = left.barh(at, values, height, color=COLOURS[place], label=label)
        left.bar_label(bars, fmt="%.1f", fontsize=7, padding=2)
    left.set_xscale("log")
    every = [result[figure_name]["p50"] for result in results for figure_name in SEARCHES]
    left.set_xlim(min(every) / 3, 3 * max(every))
    left.set_yticks(range(len(names)), names)
    left.set_xlabel(f"ms a search, median, {results[0]['memories']:,} memories (log scale)")
    figure.legend(frameon=False, fontsize=8, loc="outside upper center", ncols=2)
    bars = right.barh(names, [100 * r["recall_at_10"] for r in results], 0.6, color=COLOURS[4])
    right.bar_label(bars, fmt="%.1f", fontsize=8, padding=3)
    right.set_xlim(0, 100)
    right.set_yticks(range(len(names)), [""] * len(names))
    right.set_xlabel(f"R@10, %: {results[0]['recall_data']}, {results[0]['recall_n']} questions")
    for axes in (left, right):
        axes.invert_yaxis()
        axes.grid(axis="y", visible=False)
    save(figure, path)


def latency(results: Sequence[dict[str, Any]], path: Path) -> None:
    """Draw recall by percentile and size, and where its time goes.

    Args:
        results: As ``benchmarks.latency`` makes them, one a size.
        path: The PNG.
    """
    figure, (left, right) = canvas(10, 3.8, columns=2)
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
    save(figure, path)


def turn(written: dict[str, Any], path: Path) -> None:
    """Draw how long turns wait, by percentile, on a log scale.

    Args:
        written: As ``benchmarks.turn`` makes it.
        path: The PNG.
    """
    figure, axes = canvas(8, 3.6)
    for place, (name, arm) in enumerate(written["arms"].items()):
        values = [arm["wait"][p] for p in PERCENTILES]
        style = "-" if "prefetch" in arm else "--"
        colour = COLOURS[place % len(COLOURS)]
        axes.plot(PERCENTILES, values, style, marker="o", color=colour, label=name)
    axes.axhline(1, color="#888888", linewidth=0.8)
    axes.set_yscale("log")
    axes.set_ylabel(f"ms a turn waits, {written['memories']:,} memories (log scale)")
    figure.legend(frameon=False, fontsize=8, loc="outside right upper")
    save(figure, path)


def quality(results: Sequence[dict[str, Any]], path: Path) -> None:
    """Draw recall by data set: turns on the left, sessions on the right.

    Args:
        results: As ``benchmarks.quality`` makes them, one a data folder.
        path: The PNG.
    """
    levels = [level for level in QUALITY if any(level in r["levels"] for r in results)]
    figure, every = canvas(10, 3.8, columns=len(levels), widths=[len(QUALITY[n]) for n in levels])
    for level, axes in zip(levels, every if len(levels) > 1 else [every], strict=True):
        names = QUALITY[level]
        held = [(n, result) for n, result in enumerate(results) if level in result["levels"]]
        width = 0.84 / len(held)
        for place, (colour, result) in enumerate(held):
            at = [i + place * width for i in range(len(names))]
            scores = result["levels"][level][ALL]
            label = f"{result['data']} ({scores['n']} questions)"
            values = [100 * scores[name] for name in names]
            bars = axes.bar(at, values, width, label=label, color=COLOURS[colour])
            axes.bar_label(bars, fmt="%.0f", fontsize=8, padding=2)
        axes.set_xticks([i + 0.42 - width / 2 for i in range(len(names))], names)
        axes.set_ylim(0, 119)
        axes.set_yticks(range(0, 101, 20))
        axes.set_title(f"{level} level", loc="left", fontsize=10)
    first = every[0] if len(levels) > 1 else every
    first.set_ylabel("%")
    first.legend(frameon=False, fontsize=8, loc="upper center", ncols=len(results))
    save(figure, path)


def canvas(
    width: float, height: float, columns: int = 1, widths: Sequence[float] | None = None
) -> tuple[Any, Any]:
    """Start a drawing.

    Args:
        width: Inches.
        height: Inches.
        columns: Panels side by side.
        widths: Theirs, in proportion.

    Returns:
        The figure and its panels, or its only panel.
    """
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(
        1, columns, figsize=(width, height), layout="constrained", width_ratios=widths
    )
    for each in [axes] if columns == 1 else axes:
        each.spines[["top", "right"]].set_visible(False)
        each.grid(axis="y", color="#dddddd", linewidth=0.6)
        each.set_axisbelow(True)
    return figure, axes


def save(figure: Any, path: Path) -> None:
    """Write a drawing, the same bytes for the same results.

    Args:
        figure: The drawing.
        path: The PNG.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=120, metadata={"Software": None})
