"""Drawings of what is recalled, and of what its probability is worth."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.plots import COLOURS, canvas, save
from benchmarks.scoring import ALL

QUALITY = {
    "turn": ("R@10", "Hit@10", "All@10", "MRR", "R@300w"),
    "session": ("R@10", "Hit@5", "Hit@10"),
}


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


def mangled(results: Sequence[dict[str, Any]], path: Path) -> None:
    """Draw what is found of clean and of mangled questions.

    Args:
        results: As ``benchmarks.mangled`` makes them, one a data folder.
        path: The PNG.
    """
    figure, every = canvas(8, 3.2, columns=len(results), widths=[1.0] * len(results))
    for place, result in enumerate(results):
        axes = every[place] if len(results) > 1 else every
        names = list(result["arms"])
        for shift, kind in enumerate(("clean", "mangled")):
            values = [100 * result["arms"][name][kind] for name in names]
            at = [n + 0.4 * shift for n in range(len(names))]
            bars = axes.bar(at, values, 0.38, label=kind, color=COLOURS[shift])
            axes.bar_label(bars, fmt="%.0f", fontsize=8, padding=2)
        axes.set_xticks([n + 0.2 for n in range(len(names))], names, fontsize=8)
        axes.set_ylim(0, 115)
        how = "with vectors" if result["vectors"] else "by words alone"
        axes.set_title(f"{result['data']}, {how}: R@10", loc="left", fontsize=10)
        axes.legend(frameon=False, fontsize=8, loc="upper right", ncols=2)
    save(figure, path)


def contextual(results: Sequence[dict[str, Any]], path: Path) -> None:
    """Draw what each arm misses.

    Args:
        results: As ``benchmarks.contextual`` makes them, one a data folder.
        path: The PNG.
    """
    figure, axes = canvas(8, 1.2 + 1.6 * len(results))
    names, values, colours = [], [], []
    for place, result in enumerate(results):
        for name, arm in result["arms"].items():
            if "missed" in arm:
                names.append(f"{result['data']}: {name}" if len(results) > 1 else name)
                values.append(100 * arm["missed"])
                colours.append(COLOURS[place])
    bars = axes.barh(range(len(names)), values, color=colours)
    axes.set_yticks(range(len(names)), names)
    axes.invert_yaxis()
    axes.bar_label(bars, fmt="%.1f", fontsize=8, padding=3)
    axes.set_xlim(0, 1.1 * max(values))
    axes.set_xlabel("% of the evidence that is not among the first 20 (1 - recall@20)")
    save(figure, path)


def ablation(results: Sequence[dict[str, Any]], path: Path) -> None:
    """Draw what each arm changes, with its interval.

    Args:
        results: As ``benchmarks.ablation`` makes them, one a data folder.
        path: The PNG.
    """
    names = [name for name in results[0]["arms"] if name != "default"]
    figure, axes = canvas(4 + 3 * len(results), 0.26 * len(names) + 1.4, columns=len(results))
    for place, (panel, result) in enumerate(zip(np.atleast_1d(axes), results, strict=True)):
        rows = [result["arms"][name] for name in names]
        change = np.array([100 * row["change"] for row in rows])
        low = change - [100 * row["low"] for row in rows]
        high = [100 * row["high"] for row in rows] - change
        panel.barh(names, change, color=[COLOURS[int(value < 0)] for value in change])
        panel.errorbar(change, names, xerr=(low, high), fmt="none", ecolor="#333333", linewidth=1)
        panel.axvline(0, color="#333333", linewidth=1)
        panel.invert_yaxis()
        panel.set_title(f"{result['data']}: points of {result['main']}", fontsize=9)
        if place:
            panel.set_yticklabels([])
    save(figure, path)


def calibration(written: dict[str, Any], path: Path) -> None:
    """Draw the ROC, the reliability of the first hit, and what is offered by floor.

    Args:
        written: The JSON of ``benchmarks.calibration``.
        path: The PNG.
    """
    judged = written["judged"]
    figure, (left, middle, right) = canvas(10.5, 4.2, columns=3)
    curves = {f"{judged['data']}, {kind}": curve for kind, curve in judged["roc"].items()}
    if written["cross"]["roc"]:
        curves[f"{' + '.join(written['fitted_on'])}"] = written["cross"]["roc"]
    for colour, (name, curve) in zip(COLOURS, curves.items(), strict=False):
        alarms = np.linspace(0, 1, len(curve["caught"]))
        label = f"{name} {curve['auc']:.2f}"
        left.plot(100 * alarms, [100 * c for c in curve["caught"]], color=colour, label=label)
    left.plot((0, 100), (0, 100), ":", color="#555555", linewidth=1)
    left.set_xlabel("% of those without an answer above a floor")
    left.set_ylabel("% of answerable questions above it")
    left.set_title("Is there anything about this? (AUC)", loc="left", fontsize=10)
    left.legend(frameon=False, fontsize=8, loc="lower right", handlelength=1)
    bins = judged["reliability"]["asked"]["bins"]
    at, true = [b["predicted"] for b in bins], [b["true"] for b in bins]
    spread = [1.96 * (b["true"] * (1 - b["true"]) / b["n"]) ** 0.5 for b in bins]
    middle.plot((0, 1), (0, 1), ":", color="#555555", linewidth=1)
    middle.errorbar(at, true, yerr=spread, marker="o", color=COLOURS[0], linewidth=1)
    for x, y, one in zip(at, true, bins, strict=True):
        middle.annotate(one["n"], (x, y), (6, -10), textcoords="offset points", fontsize=7)
    middle.set_xlabel("probability of the first hit")
    middle.set_ylabel("share of first hits that hold the answer")
    middle.set_title(f"Reliability on {judged['data']} (n at the points)", loc="left", fontsize=10)
    _floors(right, judged["offers"])
    save(figure, path)


def _floors(axes: Any, offers: dict[str, Any]) -> None:
    ways = {"floors": "of the likeliest of the best (ours)", "each": "of each hit"}
    for colour, (name, way) in zip(COLOURS, ways.items(), strict=False):
        rows = offers[name]
        at = [row["floor"] for row in rows]
        found = [100 * row["hit"] for row in rows]
        axes.plot(at, found, "-", marker="o", color=colour, label=way)
    if "unrelated" in offers["floors"][0]:
        silent = [100 * row["unrelated"]["nothing"] for row in offers["floors"]]
        at = [row["floor"] for row in offers["floors"]]
        axes.plot(at, silent, "--", color=COLOURS[4], label="unrelated: nothing offered")
    axes.set_ylim(0, 125)
    axes.set_yticks(range(0, 101, 20))
    axes.set_xlabel("floor (least probability)")
    axes.set_ylabel("% of questions")
    axes.set_title("The answer is in the block, by floor", loc="left", fontsize=10)
    axes.legend(frameon=False, fontsize=8, loc="upper right")
