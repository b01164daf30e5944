"""The page says what was last measured, and the year on it follows from that."""

from bench import year
from bench.page import PAGE, rendered


def test_the_page_is_up_to_date() -> None:
    """`make bench ONLY=page` brings it up to date."""
    text = PAGE.read_text(encoding="utf-8")
    assert rendered(text) == text


def test_the_bill_of_a_year_is_what_its_parts_come_to() -> None:
    found = year.compute()
    assert found.requests == 1_000_000
    assert min(found.bill.values()) > 0
    writes = sum(number * found.kinds[kind].write_units for kind, number in year.REQUESTS_A_DAY.items())
    assert found.bill["DynamoDB writes"] == writes * (730 / 24) * 0.625 / 1_000_000
    assert sum(found.writes_by_place.values()) == writes
