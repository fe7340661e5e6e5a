from slowcat_memory.core.facts.fact import why_transient
from tests.support.rows import each_row, listed


@each_row(
    ("type_", "content", "why"), listed("rules/fact", "why_transient_passes_what_will_still_hold")
)
def test_why_transient_passes_what_will_still_hold(type_: str, content: str, why: str) -> None:
    assert (why_transient(type_, content) or "") == why
