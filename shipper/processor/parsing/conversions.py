"""Types of values that were taken out of a text. What is not of the type stays the text that it is."""

from collections.abc import Callable
from typing import Any

from shipper.processor import numbers
from shipper.processor.fields import ProcessorError


def _where_possible(convert: Callable[[Any], Any]) -> Callable[[str], Any]:
    def converted(text: str) -> Any:
        try:
            return convert(text.rstrip(" "))
        except ProcessorError:
            return text

    return converted


def _small_at_once(convert: Callable[[str], Any]) -> Callable[[str], Any]:
    """Most whole numbers are of a few digits, which fit whatever the type."""
    return lambda text: int(text) if len(text) < 10 and text.isascii() and text.isdigit() else convert(text)


CONVERSIONS: dict[str, Callable[[str], Any]] = {
    name: _where_possible(convert) for name, convert in numbers.CONVERSIONS.items()
}
for _name in ("integer", "long"):
    CONVERSIONS[_name] = _small_at_once(CONVERSIONS[_name])
# As grok has it: any whole number.
CONVERSIONS["int"] = CONVERSIONS["long"]
