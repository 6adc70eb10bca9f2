import pytest

from tests.fakes import ManualClock
from tests.member_lab import MemberLab


@pytest.fixture
def lab(clock: ManualClock) -> MemberLab:
    return MemberLab(clock)
