"""Numbers as people say and write them."""

from fractions import Fraction

from slowcat_memory.core.text.numerals import HALF_DAY, numbers, values
from tests.support.rows import each_row, listed


@each_row(("text", "digits"), listed("numerals"))
def test_values_a_number_is_read_in_every_way_it_can_be_meant(text: str, digits: str) -> None:
    assert {Fraction(one) for one in digits.split()} <= values(text)


@each_row(("text", "clock"), listed("text/clock_times"))
def test_numbers_times_of_day(text: str, clock: str) -> None:
    hour, minute = map(int, clock.split(":"))
    assert (60 * hour + minute) % HALF_DAY in {m for one in numbers(text) for m in one.minutes}
