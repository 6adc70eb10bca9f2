"""Define the options of the input `journald`: the journal of systemd, of this host or in files from another one."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import ClassVar, Literal

from log_shipper.config.text.checks import Finding, each, not_blank
from log_shipper.config.text.units import Ago
from log_shipper.shipper.inputs.journald.journal_fields import check_match, journal_match
from log_shipper.shipper.options import filebeat
from log_shipper.shipper.options.feeds import FeedConfig
from log_shipper.shipper.options.parsers import PARSERS
from log_shipper.shipper.reader.base import ParserConfig

Transport = Literal["audit", "driver", "syslog", "journal", "stdout", "kernel"]
Seek = Literal["head", "tail", "since", "cursor"]
Group = tuple[tuple[str, str], ...]  # (field, value): of one field any of the values, of several fields all of them

SYSTEM_JOURNAL = "LOCAL_SYSTEM_JOURNAL"  # the path of the host's own journal, as Filebeat calls it
_MAX_GROUPS = 100


def _facilities(codes: tuple[int, ...]) -> Iterator[Finding]:
    for index, code in enumerate(codes):
        if not 0 <= code <= 23:
            yield f"[{index}]", f"{code} is not a facility code (0 to 23)"


def _absolute(path: str) -> Iterator[Finding]:
    if path and not path.startswith("/"):
        yield "", f"{path!r} must be an absolute path"


@dataclass(frozen=True, slots=True, kw_only=True)
class MatchesConfig:
    """Entries that match are read: those of one of `or`, and those that match all of `and` and `match`."""

    as_in: ClassVar = "include_matches.match: [_SYSTEMD_UNIT=nginx.service]"
    match: tuple[str, ...] = field(
        default=(),
        metadata={
            "key": ("match", "equals"),
            "doc": "`FIELD=value`, with the field's name in the journal or in events. Matches of the same field are "
            "combined with OR, matches of different fields with AND; `+` between them means OR.",
            "check": each(check_match),
        },
    )
    all_of: "tuple[MatchesConfig, ...]" = field(
        default=(), metadata={"key": "and", "doc": "Matches that must all apply.", "recursive": True}
    )
    any_of: "tuple[MatchesConfig, ...]" = field(
        default=(), metadata={"key": "or", "doc": "Matches; at least one must apply.", "recursive": True}
    )

    def check(self) -> Iterator[Finding]:
        if len(self.groups()) > _MAX_GROUPS:
            yield "", f"has more than {_MAX_GROUPS} combinations; use a processor such as drop_event"
        elif any(_contradicts(parts) for parts in product(*self._conjuncts())):
            yield "and", "matches one field against two values, which journalctl combines with OR; use 'or'"

    def groups(self) -> tuple[Group, ...]:
        """Return the groups of which one must match; none without matches."""
        both = tuple(_united(parts) for parts in product(*self._conjuncts()))
        return (*(group for nested in self.any_of for group in nested.groups()), *(group for group in both if group))

    def _conjuncts(self) -> list[tuple[Group, ...]]:
        return [groups for groups in (_split(self.match), *(nested.groups() for nested in self.all_of)) if groups]


def _split(matches: Sequence[str]) -> tuple[Group, ...]:
    groups: list[list[tuple[str, str]]] = [[]]
    for match in matches:
        if match == "+":
            groups.append([])
        else:
            groups[-1].append(journal_match(match))
    return tuple(tuple(group) for group in groups if group)


def _united(parts: Sequence[Group]) -> Group:
    return tuple(dict.fromkeys(pair for part in parts for pair in part))


def _contradicts(parts: Sequence[Group]) -> bool:
    """Return True if two parts require different values of a field."""
    known: dict[str, set[str]] = {}
    for part in parts:
        values: dict[str, set[str]] = {}
        for name, value in part:
            values.setdefault(name, set()).add(value)
        if any(known.setdefault(name, own) != own for name, own in values.items()):
            return True
    return False


@dataclass(frozen=True, slots=True, kw_only=True)
class JournaldConfig(FeedConfig):
    """Entries are read by `journalctl`, which must be installed and able to read the journal: the shipper's user needs
    the group systemd-journal."""

    since: ClassVar = "0.3"
    ignored: ClassVar = filebeat.JOURNALD_IGNORED
    type: str = field(default="journald", metadata={"doc": "The input type."})
    paths: tuple[str, ...] = field(
        default=(),
        metadata={
            "doc": "Directories with journal files, or files (globs), read instead of the host's own journal; each "
            "path is read separately and has its own position.",
            "check": each(not_blank),
        },
    )
    merge: bool = field(default=False, metadata={"doc": "Read the journals of all hosts found, not only of this one."})
    seek: Seek = field(
        default="head",
        metadata={
            "doc": "Where to start without a saved position: at the oldest entry (head), at new entries (tail), or "
            "`since` ago. `cursor` is the older form of this, with cursor_seek_fallback."
        },
    )
    since_ago: Ago = field(
        default=0.0,
        metadata={"key": "since", "doc": "For `seek: since`: how long before now, for example -24h."},
    )
    cursor_seek_fallback: Literal["head", "tail", "since"] = field(
        default="head", metadata={"doc": "For `seek: cursor`: where to start without a saved position."}
    )
    units: tuple[str, ...] = field(
        default=(),
        metadata={
            "doc": "Systemd units whose entries are read, including systemd's own entries about them (coredumps, "
            "starts and stops).",
            "check": each(not_blank),
        },
    )
    syslog_identifiers: tuple[str, ...] = field(
        default=(),
        metadata={"doc": "Read only entries with one of these syslog identifiers.", "check": each(not_blank)},
    )
    transports: tuple[Transport, ...] = field(default=(), metadata={"doc": "Read only entries of these transports."})
    kernel: bool = field(default=False, metadata={"doc": "Same as `kernel` among the transports."})
    facilities: tuple[int, ...] = field(
        default=(),
        metadata={"doc": "Read only entries with one of these syslog facilities (0 to 23).", "check": _facilities},
    )
    include_matches: MatchesConfig = field(default_factory=MatchesConfig)
    save_remote_hostname: bool = field(
        default=False,
        metadata={
            "doc": "Also keep the host name of the entry in `log.source.address`, where no processor changes it."
        },
    )
    chroot: str = field(
        default="", metadata={"doc": "The root directory in which journalctl runs; needs root.", "check": _absolute}
    )
    journalctl_path: str = field(
        default="journalctl",
        metadata={
            "doc": "The program; below `chroot`, if set, with the default /usr/bin/journalctl.",
            "check": not_blank,
        },
    )
    parsers: tuple[ParserConfig, ...] = field(
        default=(), metadata={"doc": "Parsers for the messages, in order.", "read_as": PARSERS}
    )

    @property
    def reads(self) -> tuple[str, ...]:
        return tuple(self.paths) or (SYSTEM_JOURNAL,)

    @property
    def program(self) -> str:
        return "/usr/bin/journalctl" if self.chroot and self.journalctl_path == "journalctl" else self.journalctl_path

    @property
    def has_default_program(self) -> bool:
        """Return False if another program is configured, which may have permissions of its own."""
        return self.journalctl_path == "journalctl"

    @property
    def begins(self) -> str:
        """Return where to begin without a position: head, tail or since."""
        return self.cursor_seek_fallback if self.seek == "cursor" else self.seek

    def check(self) -> Iterator[Finding]:
        if self.begins == "since" and not self.since_ago:
            yield "since", "missing; seek: since needs it, for example since: -24h"
        if self.kernel and self.units:
            yield (
                "kernel",
                "kernel messages belong to no unit, so none would be read with units; read them with another input "
                "that has kernel: true only",
            )
        if self.chroot and not self.program.startswith("/"):
            yield "journalctl_path", "must be an absolute path below chroot"
        groups, combined = self.include_matches.groups(), self._demanded()
        if len(groups) * len(combined) > _MAX_GROUPS:
            yield "include_matches", f"has more than {_MAX_GROUPS} combinations with transports and facilities"

    def remarks(self) -> Iterator[Finding]:
        if self.since_ago and self.begins != "since":
            yield "since", "has no effect without seek: since"

    def _demanded(self) -> list[Group]:
        transports = dict.fromkeys((*self.transports, *(("kernel",) if self.kernel else ())))
        return [
            *([tuple(("_TRANSPORT", transport) for transport in transports)] if transports else []),
            *([tuple(("SYSLOG_FACILITY", f"{code}") for code in self.facilities)] if self.facilities else []),
        ]

    @property
    def matches(self) -> tuple[Group, ...]:
        """Return the groups of matches, each with the matches for transports and facilities."""
        demanded = _united(self._demanded())
        groups = self.include_matches.groups()
        if not groups:
            return (demanded,) if demanded else ()
        return tuple(_united((group, demanded)) for group in groups)
