from typing import Any, Literal

import pytest

from log_shipper.config.text.units import Duration, Size
from log_shipper.config.yaml.document import parse
from log_shipper.config.yaml.scalars import expanded, natural, typed
from log_shipper.config.yaml.tree import Scalar
from tests.config_lab import narrowed


def scalar(written: str) -> Scalar:
    return narrowed(Scalar, parse(f"a: {written}\n", "a.yml", []).entries[0].node)


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("x", "x"),
        ("5", 5),
        ("0x1f", 31),
        ("-2.5", -2.5),
        ("yes", True),
        ("off", False),
        ("~", None),
        ("'5'", "5"),
        ("2026-01-31", "2026-01-31"),
        ("16:9", "16:9"),
        ("!!int x", "x"),
    ],
)
def test_a_value_without_a_hint_is_typed_as_yaml_does_but_stays_text_where_json_has_no_type(
    written: str, value: str | int | float | bool | None
) -> None:
    assert natural(scalar(written)) == value


@pytest.mark.parametrize(
    ("written", "hint", "value"),
    [
        ("0123", str, "0123"),
        ("yes", str, "yes"),
        ("5", int, 5),
        ("'5'", int, 5),
        ("-1", int, -1),
        ("5", float, 5.0),
        ("Off", bool, False),
        ("'true'", bool, True),
        ("lz4", Literal["none", "lz4"], "lz4"),
        ("10MiB", Size, 10 * 1024**2),
        ("5s", Duration, 5.0),
        ("x", str | None, "x"),
        ("7", int | None, 7),
        ("7", None | int, 7),
    ],
)
def test_a_value_is_read_by_its_hint(written: str, hint: Any, value: str | int | float | bool) -> None:
    assert typed(scalar(written), hint) == value


@pytest.mark.parametrize(
    ("written", "hint", "message"),
    [
        ("1" * 5000, int, f"'{'1' * 5000}' must be an integer"),
        ("1.5", int, "'1.5' must be an integer"),
        ("true", int, "'true' must be an integer"),
        ("many", float, "'many' must be a number"),
        ("1", bool, "'1' must be true or false"),
        ("zip", Literal["none", "lz4"], "'zip' must be one of: none, lz4"),
    ],
)
def test_what_does_not_fit_its_hint_is_refused(written: str, hint: Any, message: str) -> None:
    with pytest.raises(ValueError, match=f"^{message}$"):
        typed(scalar(written), hint)


def test_a_filled_in_scalar_is_typed_as_if_it_had_been_written_so() -> None:
    env = {"N": "5", "B": "true", "E": ""}
    assert natural(expanded(scalar("${N}"), env)) == 5
    assert natural(expanded(scalar("${B}"), env)) is True
    assert natural(expanded(scalar("${E}"), env)) is None
    assert natural(expanded(scalar("${N}0"), env)) == 50


def test_a_filled_in_scalar_in_quotes_stays_text() -> None:
    assert natural(expanded(scalar("'${N}'"), {"N": "5"})) == "5"
