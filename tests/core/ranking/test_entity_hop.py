"""One hop: what mentions the same as the best is lifted, and nothing else."""

import numpy as np
import pytest

from slowcat_memory.core.ranking.entity_hop import LinkOptions, Links, rarity

ON = LinkOptions(hop=0.1)


def linked(**mentions: tuple[int, ...]) -> Links:
    links = Links()
    turns = sorted({turn for turns in mentions.values() for turn in turns})
    for turn in turns:
        links.put(f"reading/{turn}/rule", turn, [e for e, told in mentions.items() if turn in told])
    return links


def lift(links: Links, *scores: float, options: LinkOptions = ON) -> list[float] | None:
    ids = [f"chunk/{n}" for n in range(1, len(scores) + 1)]
    lifted = links.lift(ids, np.array(scores), options)
    return None if lifted is None else [round(float(one), 3) for one in lifted]


def test_what_mentions_the_same_as_the_best_is_lifted() -> None:
    links = linked(clara=(1, 4))
    assert lift(links, 1.0, 0.5, 0.4, 0.3, options=LinkOptions(hop=0.1, seeds=1)) == [0, 0, 0, 1.0]


def test_the_best_does_not_lift_itself() -> None:
    assert lift(linked(clara=(1,)), 1.0, 0.5) is None
    lifted = lift(linked(clara=(1, 2)), 1.0, 0.5)
    assert lifted == [0.5, 1.0], "each by the other"


def test_who_is_everywhere_leads_nowhere() -> None:
    links = linked(anna=tuple(range(1, 60)), clara=(1, 50))
    lifted = lift(links, *np.linspace(1, 0.1, 60).tolist(), options=LinkOptions(hop=0.1, seeds=1))
    assert lifted is not None and [n + 1 for n, one in enumerate(lifted) if one] == [50]


def test_nothing_to_lead_on_to() -> None:
    assert lift(Links(), 1.0, 0.5) is None
    assert lift(linked(clara=(1, 2)), 1.0, 0.5, options=LinkOptions()) is None
    assert lift(linked(clara=(1, 2)), 0.0, 0.0) is None and lift(linked(clara=(1, 2)), 1.0) is None


def test_a_reading_that_goes_takes_its_links_along() -> None:
    links = linked(clara=(1, 2), rome=(2, 3))
    links.drop("reading/2/rule")
    assert len(links) == 2 and lift(links, 1.0, 0.5, 0.2) is None
    links.drop("reading/2/rule")
    links.put("reading/3/rule", 3, ["clara"])
    assert lift(links, 1.0, 0.5, 0.2, options=LinkOptions(hop=1, seeds=1)) == [0, 0, 1.0]


@pytest.mark.parametrize("most", [2, 10, 40])
def test_the_rarer_the_more(most: int) -> None:
    told = [rarity(joined, most) for joined in range(2, most + 1)]
    assert told[0] == 1.0 and told == sorted(told, reverse=True) and told[-1] > 0
