import pytest

from tests.fakes import ManualClock
from tests.member_desk import Desk


@pytest.fixture
def desk(clock: ManualClock) -> Desk:
    return Desk(clock)
