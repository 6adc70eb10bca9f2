"""Compares delivered lines with written lines: each must occur the same number of times."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from demo.files import Key


@dataclass(frozen=True, slots=True)
class Arrived:
    """A message in the topic or in the table; offset and length in raw bytes of its file."""

    file: Key
    offset: int
    length: int
    text: str


@dataclass(frozen=True, slots=True)
class Compared:
    """The non-empty lines of one file in each of the three places."""

    name: str
    on_disk: Counter[str]
    in_kafka: Counter[str]
    in_delta: Counter[str]

    @property
    def equal(self) -> bool:
        return self.on_disk == self.in_kafka == self.in_delta

    def differences(self) -> list[str]:
        """Return a message for each difference, with an example line; empty if equal."""
        sentences: list[str] = []
        for place, lines in (("Kafka", self.in_kafka), ("Delta", self.in_delta)):
            for problem, different in (("missing", self.on_disk - lines), ("too many", lines - self.on_disk)):
                if different:
                    count, example = different.total(), min(different)[:100]
                    sentences.append(f"{self.name}: {count} lines {problem} in {place}, for example {example!r}")
        return sentences


def lines_on_disk(content: bytes) -> Counter[str]:
    """Return the non-empty lines of a file. Invalid UTF-8 becomes U+FFFD, as in a record."""
    return non_empty(content.decode(errors="replace"))


def lines_arrived(messages: Iterable[Arrived], sizes: dict[Key, int]) -> dict[Key, Counter[str]]:
    """Return the non-empty lines of each file's messages up to its size in `sizes`.

    Of a multiline message that crosses the size, only the bytes before it count. Files without a size are omitted.
    """
    lines: dict[Key, Counter[str]] = {key: Counter() for key in sizes}
    for message in messages:
        size = sizes.get(message.file, 0)
        if message.offset < size:
            text = message.text
            if message.offset + message.length > size:
                text = text.encode()[: size - message.offset].decode(errors="replace")
            lines[message.file].update(non_empty(text))
    return lines


def non_empty(text: str) -> Counter[str]:
    return Counter(line for line in (raw.rstrip("\r") for raw in text.split("\n")) if line)
