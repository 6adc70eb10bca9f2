"""Whether what arrived is what was written: the same lines, each the same number of times."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from demo.files import Key


@dataclass(frozen=True, slots=True)
class Arrived:
    """A message as it was found in the topic or in the table; offset and length in raw bytes of its file."""

    file: Key
    offset: int
    length: int
    text: str


@dataclass(frozen=True, slots=True)
class Compared:
    """One file's non-empty lines in the three places."""

    name: str
    on_disk: Counter[str]
    in_kafka: Counter[str]
    in_delta: Counter[str]

    @property
    def equal(self) -> bool:
        return self.on_disk == self.in_kafka == self.in_delta

    def differences(self) -> list[str]:
        """In words, each with one line as an example; empty when equal."""
        found: list[str] = []
        for place, lines in (("Kafka", self.in_kafka), ("Delta", self.in_delta)):
            for what, some in (("missing", self.on_disk - lines), ("too many", lines - self.on_disk)):
                if some:
                    example = min(some)
                    found.append(f"{self.name}: {some.total()} lines {what} in {place}, as {example[:100]!r}")
        return found


def lines_on_disk(content: bytes) -> Counter[str]:
    """The non-empty lines; `content` ends with a line end. Bytes that are not UTF-8 become U+FFFD, as in a record."""
    return non_empty(content.decode(errors="replace"))


def lines_arrived(messages: Iterable[Arrived], sizes: dict[Key, int]) -> dict[Key, Counter[str]]:
    """Per file the non-empty lines inside its messages, as far as they lie before the file's `sizes`.

    A message of several lines may go on beyond: what it has of the bytes before counts. Files of no size are left out.
    """
    found: dict[Key, Counter[str]] = {key: Counter() for key in sizes}
    for message in messages:
        size = sizes.get(message.file, 0)
        if message.offset < size:
            text = message.text
            if message.offset + message.length > size:
                text = text.encode()[: size - message.offset].decode(errors="replace")
            found[message.file].update(non_empty(text))
    return found


def non_empty(text: str) -> Counter[str]:
    return Counter(line for line in (each.rstrip("\r") for each in text.split("\n")) if line)
