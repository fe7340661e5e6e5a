from slowcat_memory.idle.jobs.feedback import reaction
from tests.support.rows import each_row, listed, listed_texts


@each_row(("text", "instead"), listed("rules/reaction", "wrong"))
def test_reaction_a_correction_is_heard(text: str, instead: str) -> None:
    found = reaction(text)
    assert found is not None and found.verdict == "wrong" and found.instead == instead


@each_row("text", listed_texts("rules/reaction", "right"))
def test_reaction_a_confirmation_is_heard(text: str) -> None:
    found = reaction(text)
    assert found is not None and found.verdict == "right"


@each_row("text", listed_texts("rules/reaction", "nothing"))
def test_reaction_what_says_nothing_about_a_reply_is_let_pass(text: str) -> None:
    assert reaction(text) is None
