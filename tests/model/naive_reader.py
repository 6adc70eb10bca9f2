"""What the reader chain is to do, written as plainly as possible: whole file, line by line, message by message."""

import re
from dataclasses import dataclass

from config.shipper.model import InputConfig, MultilineConfig
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
            assert isinstance(parser, MultilineConfig), "no other parser is read naively"
            messages = _join(messages, parser, max_bytes, complete=cut is not None)
        found += messages
        start += len(piece)
    return [limited for message in found if (limited := _limited(message, max_bytes)).text]


def _lines(piece: bytes, start: int, max_bytes: int, *, complete: bool) -> list[Message]:
    lines = []
    for raw in re.findall(rb"[^\n]*\n|[^\n]+", piece):
        if raw.endswith(b"\n") or complete:
            kept = raw.removesuffix(b"\n")
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
        flushed = bool(group) and rule.flush_pattern is not None and _found(rule.flush_pattern, line)
        if group and not flushed and not _goes_on(group, line, rule):
            groups.append(group)
            group = []
        group.append(line)
        if flushed or _is_whole(group, rule):
            groups.append(group)
            group = []
    return [_joined(each, rule, max_bytes) for each in [*groups, *([group] if group and complete else [])]]


def _goes_on(group: list[Message], line: Message, rule: MultilineConfig) -> bool:
    if rule.type == "pattern":
        return _hit(group[-1] if rule.match == "before" else line, rule)
    return rule.type == "count" or _hit(line, rule)


def _is_whole(group: list[Message], rule: MultilineConfig) -> bool:
    """Whether it is known to be, before the next line was seen."""
    if rule.type == "count":
        return len(group) == rule.count_lines
    known = rule.type == "while_pattern" or (rule.match == "before" and rule.flush_pattern is None)
    return known and not _hit(group[-1], rule)


def _hit(line: Message, rule: MultilineConfig) -> bool:
    return _found(rule.pattern or "", line) != rule.negate


def _found(pattern: str, line: Message) -> bool:
    """As RE2 does it; Python's own `$` is also before a newline that ends the text, as that of a joined message may."""
    return re.search(pattern.replace("$", r"\Z"), line.text, re.ASCII) is not None


def _joined(group: list[Message], rule: MultilineConfig, max_bytes: int) -> Message:
    flags = {flag for line in group for flag in line.flags}
    text = ""
    for number, line in enumerate(group):
        separator = "" if rule.skip_newline or not text else "\n"
        if number < (rule.most_lines or len(group)) and (not text or len(text + separator) < max_bytes):
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
