"""The types of convert, by Go's rules (strconv)."""

import math
from typing import Any

import pytest

from log_shipper.shipper.formats.text import DEEPEST, TOO_DEEP
from log_shipper.shipper.processor.conversions import CONVERSIONS
from log_shipper.shipper.processor.fields import ProcessorError

GOOD: list[tuple[str, Any, Any]] = [
    ("integer", "7", 7),
    ("integer", "-7", -7),
    ("integer", "+7", 7),
    ("integer", "007", 7),
    ("integer", 7.9, 7),
    ("integer", -7.9, -7),
    ("integer", "0x7fffffff", 2**31 - 1),
    ("integer", "-0X80000000", -(2**31)),
    ("long", "9223372036854775807", 2**63 - 1),
    ("long", "-9223372036854775808", -(2**63)),
    ("long", 3, 3),
    ("long", "0x_1F", 31),
    ("float", "0.1", 0.1),
    ("float", "1e3", 1000.0),
    ("float", 16777217, 16777216.0),
    ("float", 0.1, 0.1),
    ("float", "3.4028235e38", 3.4028235e38),
    ("float", 1 / 3, 0.33333334),
    ("float", "0", 0.0),
    ("float", "1.17549435e-38", 1.1754944e-38),
    ("double", "0.1", 0.1),
    ("double", ".5", 0.5),
    ("double", "5.", 5.0),
    ("double", "+1E-2", 0.01),
    ("double", 3, 3.0),
    ("double", "0x1p-2", 0.25),
    ("double", "-0x1.8p1", -3.0),
    ("string", "x", "x"),
    ("string", "", ""),
    ("string", 5, "5"),
    ("string", True, "true"),
    ("string", False, "false"),
    ("string", 5.0, "5"),
    ("string", 0.1, "0.1"),
    ("string", -1.5, "-1.5"),
    ("string", 1e20, "1e+20"),
    ("string", 1e21, "1e+21"),
    ("string", 123456789.0, "1.23456789e+08"),
    ("string", 123456.0, "123456"),
    ("string", 0.0001, "0.0001"),
    ("string", 0.00001, "1e-05"),
    ("string", 2**63, "9223372036854775808"),
    ("string", [1, "a"], '[1,"a"]'),
    ("string", {"a": None}, '{"a":null}'),
    ("string", b"\xffok", "\ufffdok"),
    ("string", {"a": b"ok", "b": 2**64}, '{"a":"ok","b":"18446744073709551616"}'),
    ("boolean", True, True),
    ("boolean", False, False),
    *(("boolean", text, True) for text in ("1", "t", "T", "true", "TRUE", "True")),
    *(("boolean", text, False) for text in ("0", "f", "F", "false", "FALSE", "False")),
    *(("ip", text, text) for text in ("192.0.2.1", "2001:DB8::1", "::ffff:192.0.2.1")),
]
NO_WHOLE_NUMBERS: list[Any] = [
    "",
    " 7",
    "7 ",
    "1_000",
    "1.5",
    "1e3",
    "x",
    "0x",
    "0x_",
    "\uff17",
    True,
    None,
    [],
    {},
    math.nan,
    math.inf,
    "9" * 5000,
]
NO_REAL_NUMBERS: list[Any] = [
    "",
    " 1",
    "1_0",
    "x",
    ".",
    "e5",
    "inf",
    "NaN",
    "1e999",
    "0x1",
    True,
    None,
    [],
    math.nan,
    -math.inf,
    "9" * 5000,
]
NO_BOOLEANS: list[Any] = ["", "yes", "on", "tRUE", 1, 0, None, []]
BAD: list[tuple[str, Any]] = [
    *((kind, value) for kind in ("integer", "long") for value in NO_WHOLE_NUMBERS),
    ("integer", "2147483648"),
    ("integer", 2**31),
    ("integer", "-2147483649"),
    ("integer", 3e9),
    ("long", "9223372036854775808"),
    ("long", 2**63),
    ("long", 1e19),
    *((kind, value) for kind in ("float", "double") for value in NO_REAL_NUMBERS),
    ("float", "1e39"),
    ("float", 1e39),
    ("double", 2**1024),
    ("string", None),
    *(("boolean", value) for value in NO_BOOLEANS),
    *(("ip", value) for value in ("", "192.0.2", "192.0.2.256", "192.0.02.1", "fe80::1%eth0", "192.0.2.0/24", 5, None)),
]


@pytest.mark.parametrize(("kind", "value", "result"), GOOD)
def test_a_value_becomes_one_of_the_type(kind: str, value: Any, result: Any) -> None:
    made = CONVERSIONS[kind](value)
    assert (made, type(made)) == (result, type(result))


def test_a_list_that_is_nested_too_deeply_for_json_is_cut() -> None:
    value: Any = 0
    for _ in range(2 * DEEPEST):
        value = [value]
    assert TOO_DEEP in CONVERSIONS["string"](value)


def test_what_has_no_place_in_the_type_is_refused_in_few_words(subtests: pytest.Subtests) -> None:
    for kind, value in BAD:
        with subtests.test(f"{value!r:.50} as {kind}"):
            with pytest.raises(ProcessorError) as caught:
                CONVERSIONS[kind](value)
            assert 0 < len(str(caught.value)) < 160
