"""Candidates ranked by their priors."""

from datetime import UTC, datetime

import numpy as np

from slowcat_memory.core.ranking.score import Candidates, Question, RankOptions, Row, priors
from slowcat_memory.core.time.expressions import Interval

DAY = 86_400.0


NOW = 1000 * DAY
ASKED = 500 * DAY  # start of the day that the query names, if it names one


def ranked(
    options: RankOptions = RankOptions(), *, keyed: bool = False, **facts: list
) -> list[float]:
    """Return the scores; ``when`` is how much of the day asked for each memory mentions."""
    size = max(len(values) for values in facts.values())
    facts = {"importance": [0.5] * size, **facts}
    known = frozenset({"asked", "keys"} if keyed else {"asked"})
    frame = Candidates(block=np.zeros((len(Row), size)), known=known)
    scores = np.array(facts.pop("scores", [0.5] * size))
    rows = {"named": Row.SPEAKER, "votes": Row.ASKED, "when": Row.ABOUT_FROM}
    for name, values in facts.items():
        frame.block[rows.get(name) or Row[name.upper()]] = values
    mentions = ASKED + DAY * (1 - frame.block[Row.ABOUT_FROM])
    frame.block[[Row.ABOUT_FROM, Row.ABOUT_UNTIL]] = mentions, mentions + DAY
    day = (datetime.fromtimestamp(at, UTC) for at in (ASKED, ASKED + DAY))
    times = (Interval(*day, ""),) if "when" in facts else ()
    question = Question(NOW, 0.0, False, size, speakers=(1,), times=times)
    return (scores + priors(frame, question, options)).tolist()
