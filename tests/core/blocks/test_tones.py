"""What a user feels is said by the user, in several turns, or nobody knows it."""

from slowcat_memory.core.blocks.rules import stated_tones
from tests.support.rows import each_row, listed

SAID = listed("tones")


@each_row(("tone", "said"), SAID)
def test_a_tone_is_what_somebody_says_to_feel_and_not_its_word(tone: str, said: str) -> None:
    assert stated_tones(said) == {tone} - {"none"}
