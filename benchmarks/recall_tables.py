"""What was recalled, to Markdown: the tables of quality, ablation and calibration."""

from collections.abc import Iterator, Sequence
from typing import Any

from benchmarks.scoring import ALL
from benchmarks.tables import percent, table

QUALITY = {
    "turn": ("R@5", "R@10", "Hit@10", "All@10", "MRR", "nDCG@10", "R@300w"),
    "session": ("R@5", "R@10", "Hit@5", "Hit@10", "All@10"),
}
SHARES, COUNTED = ("precision", "recall", "hit", "empty"), ("offered", "beside", "tokens")
OFFERED = (*SHARES, *COUNTED)
MEASURES = ("coverage", "cosine")


def quality(written: Sequence[dict[str, Any]]) -> str:
    """Write what ``benchmarks.quality`` measured.

    Args:
        written: Its JSON files.

    Returns:
        Markdown: for each level a table of what is ranked, and one of what is offered where that was
        measured.
    """
    results = [result for each in written for result in each["results"]]
    parts = [f"Indexed: {results[0]['indexed']}. Vectors: {results[0]['vectors'].split('@')[0]}."]
    for level, metrics in QUALITY.items():
        rows = []
        for result in results:
            for name, scores in result["levels"].get(level, {}).items():
                label = f"**{result['data']}**" if name == ALL else f"· {name}"
                rows.append((label, *(percent(scores[m]) for m in metrics), scores["n"]))
        if rows:
            parts.append(table((f"{level} level", *metrics, "questions"), rows))
        if shown := [row for result in results for row in _offered(result, level)]:
            parts.append(table((f"offered, {level} level", *OFFERED, "questions"), shown))
    return "\n\n".join(parts)


def _offered(result: dict[str, Any], level: str) -> Iterator[tuple[Any, ...]]:
    """Yield what is put before the LLM; nothing where it was not measured."""
    for name, scores in result.get("offered", {}).get(level, {}).items():
        label = f"**{result['data']}**" if name == ALL else f"· {name}"
        counts = (f"{scores[m]:.2f}" for m in COUNTED)
        yield (label, *(percent(scores[m]) for m in SHARES), *counts, scores["n"])


def contextual(written: dict[str, Any]) -> str:
    """Write what ``benchmarks.contextual`` measured.

    Args:
        written: Its JSON.

    Returns:
        Markdown.
    """
    metrics = ("R@5", "R@10", "R@20", "MRR", "R@300w")
    parts = []
    for result in written["results"]:
        rows = [
            (name, percent(arm["missed"]), *(percent(arm[m]) for m in metrics))
            if "missed" in arm
            else (name, arm["reason"], *("" for _ in metrics))
            for name, arm in result["arms"].items()
        ]
        title = (
            f"**{result['data']}**: {result['n']} questions about {result['conversations']} "
            f"conversations, {result['contexts']} turns with a text"
        )
        parts += [title, table(("arm", "1 - R@20", *metrics), rows)]
    return "\n\n".join(parts)


def mangled(written: Sequence[dict[str, Any]]) -> str:
    """Write what ``benchmarks.mangled`` measured.

    Args:
        written: Its JSON files.

    Returns:
        Markdown: a table for each data folder.
    """
    parts = []
    for result in (result for each in written for result in each["results"]):
        how = "with vectors" if result["vectors"] else "by words alone"
        rows = [
            (name, percent(arm["clean"]), percent(arm["mangled"]))
            for name, arm in result["arms"].items()
        ]
        parts += [
            f"**{result['data']}**, {how}: {result['mangled']} of {result['n']} questions mangled",
            table(("against it", "R@10 clean", "R@10 mangled"), rows),
        ]
    return "\n\n".join(parts)


def ablation(written: dict[str, Any]) -> str:
    """Write what ``benchmarks.ablation`` measured.

    Args:
        written: Its JSON.

    Returns:
        Markdown: a table for each data folder.
    """
    parts = []
    for result in written["results"]:
        every = result["arms"]
        labels = [name for name in every["default"] if name not in ("change", "low", "high")]
        rows = [
            (
                name,
                *(percent(arm[label]) for label in labels),
                "" if name == "default" else _by(arm),
            )
            for name, arm in every.items()
        ]
        parts += [
            f"**{result['data']}**: {result['n']} questions; change of {result['main']}, in points",
            table(("arm", *labels, "change"), rows),
        ]
    return "\n\n".join(parts)


def _by(arm: dict[str, float]) -> str:
    change, low, high = (f"{100 * arm[name]:+.1f}" for name in ("change", "low", "high"))
    return f"{change} ({low} to {high})"


def calibration(written: dict[str, Any]) -> str:
    """Write what ``benchmarks.calibration`` measured.

    Args:
        written: Its JSON.

    Returns:
        Markdown: the fits, the areas under the ROC, reliability, what is offered.
    """
    names, judged = written["fitted_on"], written["judged"]
    rows = [
        (
            name.upper(),
            *(f"{fitted['coefficients'].get(key, 0.0):.2f}" for key in ("bias", *MEASURES)),
            fitted["n"],
            percent(fitted["right"]),
        )
        for name, fitted in written["fits"].items()
    ]
    columns = (f"fitted on {', '.join(names)}", "bias", *MEASURES, "hits", "right %")
    parts = [table(columns, rows)] if rows else ["Judged by the coefficients in the package."]
    areas = [
        (f"{judged['data']}, never fitted: against {kind}", curve["auc"], *curve["n"])
        for kind, curve in (judged["roc"] if judged else {}).items()
    ]
    if cross := written["cross"]["roc"]:
        label = f"{', '.join(names)}, cross-validated: against unrelated"
        areas.append((label, cross["auc"], *cross["n"]))
    shown = [(label, f"{auc:.3f}", *counts) for label, auc, *counts in areas]
    parts.append(table(("answerable questions", "AUC", "answerable", "others"), shown))
    return "\n\n".join([*parts, *(_judged(judged) if judged else ())])


def unknown(written: dict[str, Any]) -> str:
    """Write what ``benchmarks.unknown`` measured.

    Args:
        written: Its JSON.

    Returns:
        Markdown: the fits, what is told by kind of question and why not, and by threshold.
    """
    parts = []
    if fits := written["fits"]:
        names = list(fits["tokens"]["coefficients"])
        rows = [
            (
                label.upper(),
                *(f"{value:.2f}" for value in fitted["coefficients"].values()),
                fitted["n"],
                f"{fitted['auc']:.3f}",
            )
            for label, fitted in fits.items()
        ]
        columns = (f"fitted on {', '.join(written['fitted_on'])}", *names, "questions", "AUC")
        left = (f"{name} {auc:.3f}" for name, auc in written["left_out"].items())
        parts += [table(columns, rows), f"AUC of a data set by the others: {', '.join(left)}."]
    if judged := written["judged"]:
        kinds = list(judged["kinds"])
        outcomes = [name for name in judged["kinds"][kinds[0]] if name != "n"]
        shares = [
            (
                kind,
                *(percent(judged["kinds"][kind][name]) for name in outcomes),
                f"{judged['auc'][kind]:.3f}",
                judged["kinds"][kind]["n"],
            )
            for kind in kinds
        ]
        title = f"{judged['data']}, never fitted, below {judged['below']}"
        parts.append(table((title, *(f"{n} %" for n in outcomes), "AUC", "questions"), shares))
        for name, label in (("thresholds", "told, % below"), ("signs_alone", "by signs alone")):
            cells = [(row["below"], *(percent(row[k]) for k in kinds)) for row in judged[name]]
            parts.append(table((label, *kinds), cells))
    return "\n\n".join(parts)


def _judged(judged: dict[str, Any]) -> list[str]:
    found = judged["reliability"]["asked"]
    bins = [
        (
            f"{b['from']:.1f} to {b['from'] + 0.1:.1f}",
            percent(b["predicted"]),
            percent(b["true"]),
            b["n"],
        )
        for b in found["bins"]
    ]
    alone = judged["reliability"]["answerable"]
    scores = [
        f"{label}: Brier score {one['brier']:.3f} ({one['brier_of_share']:.3f} for always saying the "
        f"overall share), calibration error {one['error']:.3f}"
        for label, one in (("All questions", found), ("the answerable alone", alone))
    ]
    return [
        table(("probability of the first hit", "predicted %", "holds the answer %", "hits"), bins),
        f"{'; '.join(scores)}.",
        _offers("floor, of the likeliest of the best hits", "floor", judged["offers"]["floors"]),
        _offers("floor, of each hit", "floor", judged["offers"]["each"]),
        _offers("share of the best score", "share", judged["offers"]["shares"]),
        _offers("share of the best probability", "share", judged["offers"]["by_probability"]),
    ]


def _offers(label: str, varied: str, rows: Sequence[dict[str, Any]]) -> str:
    kinds = [kind for kind in ("unrelated", "adversarial") if kind in rows[0]]
    columns = [label, "answer in the block %", "of the gold %", "tokens", "gold % / 100 tokens"]
    columns += [f"nothing, {kind} %" for kind in kinds] + ["tokens, unrelated"]
    cells = [
        (
            f"{row[varied]:.2f}",
            *(percent(row[name]) for name in ("hit", "recall")),
            f"{row['tokens']:.0f}",
            percent(row["recall_per_100_tokens"]),
            *(percent(row[kind]["nothing"]) for kind in kinds),
            f"{row['unrelated']['tokens']:.0f}" if "unrelated" in row else "",
        )
        for row in rows
    ]
    return table(columns, cells)
