from slowcat_memory.core.language import ENGLISH
from slowcat_memory.core.render.attribution import attributed
from tests.support.rows import each_row, listed


@each_row(
    ("text", "told"),
    listed("rules/attribution", "attributed_quotes_what_is_doubtful_and_leaves_out_orders"),
)
def test_attributed_quotes_what_is_doubtful_and_leaves_out_orders(text: str, told: str) -> None:
    assert attributed(text, "Eve", ENGLISH) == told
