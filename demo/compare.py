"""Compares what arrived with what was written: the same lines, each the same number of times."""

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
        """Return a sentence for each difference, with one line as an example; none when equal."""
        sentences: list[str] = []
        for place, lines in (("Kafka", self.in_kafka), ("Delta", self.in_delta)):
            for what, different in (("missing", self.on_disk - lines), ("too many", lines - self.on_disk)):
                if different:
                    example = min(different)
                    sentences.append(f"{self.name}: {different.total()} lines {what} in {place}, as {example[:100]!r}")
        return sentences


def lines_on_disk(content: bytes) -> Counter[str]:
    """Return the non-empty lines of whole lines. Bytes that are not UTF-8 become U+FFFD, as in a record."""
    return non_empty(content.decode(errors="replace"))


def lines_arrived(messages: Iterable[Arrived], sizes: dict[Key, int]) -> dict[Key, Counter[str]]:
    """Return for each file the non-empty lines of its messages, as far as they lie before the file's size in `sizes`.

    A message of several lines may extend beyond it: only its bytes before it count. Files without a size are left out.
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
