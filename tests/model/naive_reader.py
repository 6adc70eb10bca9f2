"""What the reader chain is to do, written as plainly as possible: whole file, line by line, message by message."""

import re
from dataclasses import dataclass

from config.model import InputConfig, MultilineConfig
from shipper.event import MULTILINE, TRUNCATED, Messages


@dataclass(frozen=True)
class Message:
    text: str
    offset: int
    length: int
    flags: frozenset[str] = frozenset()

    @property
    def end(self) -> int:
        return self.offset + self.length


def read_naively(content: bytes, config: InputConfig, max_bytes: int, cuts: tuple[int, ...] = ()) -> list[Message]:
    """All messages of a content that is complete at each of `cuts`; what is under way at the end is left out."""
    found: list[Message] = []
    start = 0
    for cut in [*cuts, None]:
        piece = content[start:cut]
        messages = _lines(piece, start, max_bytes, complete=cut is not None)
        for parser in config.parsers:
            messages = _join(messages, parser, max_bytes, complete=cut is not None)
        found += messages
        start += len(piece)
    return [limited for message in found if (limited := _limited(message, max_bytes)).text]


def _lines(piece: bytes, start: int, max_bytes: int, *, complete: bool) -> list[Message]:
    lines = []
    for raw in re.findall(rb"[^\n]*\n|[^\n]+", piece):
        if raw.endswith(b"\n") or complete:
            kept = raw.removesuffix(b"\n")
            if len(kept) > max_bytes + 2:
                kept = kept[: max_bytes + 2]
            elif raw.endswith(b"\n"):
                kept = kept.removesuffix(b"\r")
            lines.append(Message(kept.decode("utf-8", "replace"), start, len(raw)))
        start += len(raw)
    return lines


def _join(lines: list[Message], rule: MultilineConfig, max_bytes: int, *, complete: bool) -> list[Message]:
    groups: list[list[Message]] = []
    open_group = False
    for line in lines:
        continues = (re.search(rule.pattern, line.text) is not None) != rule.negate
        if rule.match == "after":
            if not (continues and groups):
                groups.append([])
        elif not open_group:
            groups.append([])
        groups[-1].append(line)
        open_group = rule.match == "after" or continues
    if open_group and not complete and groups:
        groups.pop()
    return [_joined(group, rule, max_bytes) for group in groups]


def _joined(group: list[Message], rule: MultilineConfig, max_bytes: int) -> Message:
    flags = {flag for line in group for flag in line.flags}
    kept: list[str] = []
    for number, line in enumerate(group):
        if number < rule.max_lines and sum(len(text) + 1 for text in kept) < max_bytes:
            kept.append(line.text)
        else:
            flags.add(TRUNCATED)
    if len(group) > 1:
        flags.add(MULTILINE)
    length = group[-1].end - group[0].offset
    return Message("\n".join(kept), group[0].offset, length, frozenset(flags))


def _limited(message: Message, max_bytes: int) -> Message:
    kept = message.text
    while len(kept.encode()) > max_bytes:
        kept = kept[:-1]
    flags = message.flags | {TRUNCATED} if kept != message.text else message.flags
    return Message(kept, message.offset, message.length, flags)


def as_messages(run: Messages) -> list[Message]:
    columns = zip(run.texts, run.offsets, run.lengths, strict=True)
    return [Message(*row, frozenset(run.flags.get(index, ()))) for index, row in enumerate(columns)]
