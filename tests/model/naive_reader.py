"""The reader chain written as plainly as possible: the whole file, line by line, message by message."""

import re
from dataclasses import dataclass

from log_shipper.shipper.event import MULTILINE, TRUNCATED, Messages
from log_shipper.shipper.options.model import InputConfig
from log_shipper.shipper.parsers.multiline import MultilineConfig


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
    """Return all messages of a content that ends at each of `cuts`; one that is pending at the end is left out."""
    messages: list[Message] = []
    start = 0
    for cut in [*cuts, None]:
        piece = content[start:cut]
        pieces = _lines(piece, start, max_bytes, complete=cut is not None)
        for parser in config.parsers:
            assert isinstance(parser, MultilineConfig), "no other parser is read naively"
            pieces = _join(pieces, parser, max_bytes, complete=cut is not None)
        messages += pieces
        start += len(piece)
    return [limited for message in messages if (limited := _limited(message, max_bytes)).text]


def _lines(piece: bytes, start: int, max_bytes: int, *, complete: bool) -> list[Message]:
    lines = []
    for raw in re.findall(rb"[^\n]*\n|[^\n]+", piece):
        if raw.endswith(b"\n") or complete:
            kept = raw.removesuffix(b"\n")
            if not start:
                kept = kept.lstrip(b"\0")
            if len(kept) > max_bytes + 12:
                kept = kept[: max_bytes + 12]
            elif raw.endswith(b"\n"):
                kept = kept.removesuffix(b"\r")
            lines.append(Message(kept.decode("utf-8", "replace"), start, len(raw)))
        start += len(raw)
    return lines


def _join(lines: list[Message], rule: MultilineConfig, max_bytes: int, *, complete: bool) -> list[Message]:
    groups: list[list[Message]] = []
    group: list[Message] = []
    for line in lines:
        flushed = bool(group) and rule.flush_pattern is not None and _matches(rule.flush_pattern, line)
        if group and not flushed and not _continues(group, line, rule):
            groups.append(group)
            group = []
        group.append(line)
        if flushed or _is_whole(group, rule):
            groups.append(group)
            group = []
    return [_message(lines, rule, max_bytes) for lines in [*groups, *([group] if group and complete else [])]]


def _continues(group: list[Message], line: Message, rule: MultilineConfig) -> bool:
    if rule.type == "pattern":
        return _is_joined(group[-1] if rule.match == "before" else line, rule)
    return rule.type == "count" or _is_joined(line, rule)


def _is_whole(group: list[Message], rule: MultilineConfig) -> bool:
    """Return True if that is known before the next line is read."""
    if rule.type == "count":
        return len(group) == rule.count_lines
    known = rule.type == "while_pattern" or (rule.match == "before" and rule.flush_pattern is None)
    return known and not _is_joined(group[-1], rule)


def _is_joined(line: Message, rule: MultilineConfig) -> bool:
    return _matches(rule.pattern or "", line) != rule.negate


def _matches(pattern: str, line: Message) -> bool:
    """Return True if RE2 would match. In Python `$` also matches before a final newline, which a joined message may
    have."""
    return re.search(pattern.replace("$", r"\Z"), line.text, re.ASCII) is not None


def _message(group: list[Message], rule: MultilineConfig, max_bytes: int) -> Message:
    flags = {flag for line in group for flag in line.flags}
    text = ""
    for number, line in enumerate(group):
        separator = "" if rule.skip_newline or not text else "\n"
        if number < (rule.max_kept_lines or len(group)) and (not text or len(text + separator) < max_bytes):
            text += separator + line.text
        else:
            flags.add(TRUNCATED)
    if len(group) > 1:
        flags.add(MULTILINE)
    length = group[-1].end - group[0].offset
    return Message(text, group[0].offset, length, frozenset(flags))


def _limited(message: Message, max_bytes: int) -> Message:
    kept = message.text
    while len(kept.encode()) > max_bytes:
        kept = kept[:-1]
    flags = message.flags | {TRUNCATED} if kept != message.text else message.flags
    return Message(kept, message.offset, message.length, flags)


def as_messages(run: Messages) -> list[Message]:
    columns = zip(run.texts, run.offsets, run.lengths, strict=True)
    return [Message(*row, frozenset(run.flags.get(index, ()))) for index, row in enumerate(columns)]
