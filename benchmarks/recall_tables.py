"""What was recalled, to Markdown."""

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
            for name, arm in result["arms"].items()
        ]
        title = (
            f"**{result['data']}**: {result['n']} questions about {result['conversations']} "
            f"conversations, {result['contexts']} turns with a text"
        )
        parts += [title, table(("arm", "1 - R@20", *metrics), rows)]
    return "\n\n".join(parts)


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
        cells = [(row["below"], *(percent(row[k]) for k in kinds)) for row in judged["thresholds"]]
        parts.append(table(("told, % below", *kinds), cells))
    return "\n\n".join(parts)
