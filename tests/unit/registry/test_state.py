from dataclasses import replace
from typing import Any

import pytest

from log_shipper.registry.state import NAMES, with_changes
from tests.unit.registry.entries import FULL


@pytest.mark.parametrize("name", NAMES)
def test_a_copy_differs_in_the_changed_field_only(name: str) -> None:
    change: Any = {name: "another value"}
    before = replace(FULL)
    assert with_changes(FULL, **change) == replace(FULL, **change)
    assert before == FULL


def test_a_field_that_does_not_exist_cannot_be_changed() -> None:
    with pytest.raises(AttributeError, match="length"):
        with_changes(FULL, length=1)
