"""What counts as one document when rankings are judged: a turn, or the exchange that it is half of.

Some published figures, and the prototype's, are of whole exchanges (what one said, and what the other
answered). The product indexes and injects single turns; a ranking of turns is read as one of
exchanges here: a hit stands for its exchange, the better half's rank counts, the words of both do.
"""

from collections.abc import Mapping, Sequence

from benchmarks.datasets import Dataset


def exchanges(data: Dataset) -> dict[str, str]:
    """Pair the turns of each session: the first with the second, the third with the fourth.

    Args:
        data: The data set.

    Returns:
        Document by turn id, turns joined by "+"; a turn by itself where nobody answered, and in a
        list of items, which nobody said one after the other.
    """
    made = {}
    for session, turns in data.turns_of.items():
        step = 1 if session in data.lists else 2
        for start in range(0, len(turns), step):
            part = turns[start : start + step]
            made |= dict.fromkeys(part, "+".join(part))
    return made


def by_exchange(run: Mapping[str, Sequence[str]], data: Dataset) -> dict[str, list[str]]:
    """Read rankings of turns as rankings of exchanges.

    Args:
        run: Turn ids by question id, best first.
        data: The data set.

    Returns:
        Exchanges by question id, each at the place of its better half.
    """
    whole = exchanges(data)
    return {
        question: list(dict.fromkeys(whole.get(turn, turn) for turn in ranking))
        for question, ranking in run.items()
    }
