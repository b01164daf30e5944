"""What the budgets start from: the real functions on moto and the provider simulator, under the meter."""

from collections.abc import Iterator

import pytest

from bench.lives import Platform, metered_platform


@pytest.fixture(scope="module")
def platform() -> Iterator[Platform]:
    with metered_platform() as platform:
        yield platform
