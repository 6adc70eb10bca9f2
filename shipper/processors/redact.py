"""`redact`: masks secrets in texts.

A single search for all patterns shows whether a text has any secret, which is rare. Only then are the patterns searched
one by one. Everything takes linear time: patterns are written for a single pass, and a match ends where its characters
end, so no part of a text is scanned again for the next match.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar

from log_shipper.config.text.checks import Finding, not_empty
from log_shipper.config.text.patterns import Span, finder, parse_pattern, searcher
from log_shipper.shipper.options.processors import IGNORE_MISSING, ProcessorConfig
from log_shipper.shipper.processor.base import EventProcessor, ProcessorContext, ProcessorError
from log_shipper.shipper.processor.events import Event
from log_shipper.shipper.processor.fields import MISSING, dotted, path_of
from log_shipper.shipper.processor.parsing.checksums import CHECKS, Check

_OCTET = r"(?:25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])"
_SIGN_IN = r"[A-Za-z0-9_.-]*(?:password|passwd|passphrase|pwd|secret|token|api[_-]?key|access[_-]?key|private[_-]?key)"

# By name. If a pattern has groups, only these are the secret. Digits that look like a card or account number are then
# verified by checksum.
PATTERNS: dict[str, str] = {
    # Any sequence of groups matches; the check finds those that are a card number.
    "credit_card": r"\b(?:[2-6][0-9]{12,18}|[2-6][0-9]{3}(?:[ -][0-9]{1,6}){2,})\b",
    "iban": r"\b[A-Z]{2}[0-9]{2}(?:[A-Z0-9]{11,30}|(?: [A-Z0-9]{4}){2,}(?: [A-Z0-9]{1,3})?)\b",
    "us_ssn": r"\b[0-9]{3}-[0-9]{2}-[0-9]{4}\b",
    "phone": r"\+[1-9][0-9]{0,2}(?:[ .-]?\(?[0-9]{1,5}\)?){2,6}\b",
    "email": r"[A-Za-z0-9._%+-]+@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)+",
    "ipv4": rf"\b(?:{_OCTET}\.){{3}}{_OCTET}\b",
    "ipv6": r"(?:\b[0-9A-Fa-f]{1,4}|:):(?:[0-9A-Fa-f]{0,4}:){0,6}(?:[0-9]+(?:\.[0-9]+){3}\b|[0-9A-Fa-f]{1,4}\b|:)?",
    "bearer_token": r"(?i)\b(?:bearer|basic)[ \t]+([A-Za-z0-9._~+/-]{8,}=*)",
    "aws_access_key": r"\b(?:AKIA|ASIA|ABIA|ACCA|AGPA|AIDA|AIPA|ANPA|ANVA|AROA)[A-Z0-9]{16}\b",
    "jwt": r"\beyJ[A-Za-z0-9_-]{5,}\.[A-Za-z0-9_-]{5,}\.[A-Za-z0-9_-]*",
    # A truncated key, for example at the message limit, is secret to its end.
    "private_key": r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----(?s:.*?)"
    r"(?:-----END [A-Z0-9 ]*KEY(?: BLOCK)?-----|\z)",
    "password_assignment": rf"(?i)\b{_SIGN_IN}[\\\"']*[ \t]*(?:=>|[:=])[ \t]*"
    r"(?:\\?\"([^\"\\]+)|'([^']+)|([^\s\"'\\,;&(){}\[\]]+))",
}
DEFAULT = ("credit_card", "bearer_token", "aws_access_key", "jwt", "private_key", "password_assignment")


def _secrets(names: tuple[str, ...]) -> Iterator[Finding]:
    for index, name in enumerate(names):
        if name not in PATTERNS:
            yield f"[{index}]", f"{name!r} must be one of: {', '.join(PATTERNS)}; your own patterns go below custom"


@dataclass(frozen=True, slots=True, kw_only=True)
class RedactConfig(ProcessorConfig):
    """Masks secrets in strings: card numbers, tokens, keys, addresses."""

    name: ClassVar = "redact"
    example: ClassVar = """
        redact: {patterns: [email]} -> {message: mail from ann@example.com}
          -> {message: 'mail from [REDACTED:email]'}
    """
    fields: tuple[str, ...] = field(
        default=("message",),
        metadata={
            "doc": "Fields to search for secrets; objects are searched with all their members.",
            "check": not_empty,
        },
    )
    patterns: tuple[str, ...] = field(
        default=DEFAULT, metadata={"doc": f"The kinds of secrets to mask: {', '.join(PATTERNS)}.", "check": _secrets}
    )
    custom: dict[str, str] = field(
        default_factory=dict,
        metadata={"doc": "Custom regular expressions, by name; if one has a group, only the group is masked."},
    )
    replacement: str = field(
        default="[REDACTED:%{name}]",
        metadata={"doc": "The replacement of a secret; %{name} is the name of the pattern."},
    )
    mask: str = field(
        default="",
        metadata={"doc": "A character that replaces each letter and digit of a secret, instead of `replacement`."},
    )
    keep_last: int = field(
        default=0,
        metadata={
            "doc": "The number of letters and digits at the end that `mask` leaves readable.",
            "min": 0,
            "unit": "characters",
        },
    )
    ignore_missing: bool = field(default=True, metadata=IGNORE_MISSING)

    def check(self) -> Iterator[Finding]:
        if len(self.mask) > 1:
            yield "mask", "must be one character"
        if self.keep_last and not self.mask:
            yield "keep_last", "needs mask; a replacement keeps no part of the secret"
        if not self.patterns and not self.custom:
            yield "patterns", "is empty, so nothing is masked; add patterns here or below custom"
        for name, pattern in self.custom.items():
            if name in PATTERNS:
                yield f"custom.{name}", "is a built-in pattern; choose another name"
            yield from ((f"custom.{name}", problem) for problem in _problems(pattern))

    def build(self, _: ProcessorContext) -> EventProcessor:
        return Redact(self)


def _problems(pattern: Any) -> Iterator[str]:
    if not isinstance(pattern, str):
        yield "must be text; put it in quotes"
    elif not pattern:
        yield "is empty"
    else:
        try:
            parse_pattern(pattern)
        except ValueError as error:
            yield str(error)


REDACTED = "redacted"


class Redact:
    def __init__(self, config: RedactConfig) -> None:
        self._fields = [path_of(name) for name in config.fields]
        self._ignore_missing = config.ignore_missing
        patterns = {name: PATTERNS[name] for name in config.patterns} | config.custom
        self._any = searcher(tuple(patterns.values()))
        self._secrets = [SecretPattern(name, pattern, _instead(config, name)) for name, pattern in patterns.items()]

    @property
    def touches(self) -> None:
        """Return None: the flag belongs to a single event, so the result cannot be shared."""

    def apply(self, event: Event) -> None:
        missing = []
        for path in self._fields:
            value = event.get(path)
            if value is MISSING:
                missing.append(dotted(path))
                continue
            masked = self._masked(value)
            if masked is not value:
                event.put(path, masked)
                event.flag(REDACTED)
        if missing and not self._ignore_missing:
            raise ProcessorError(f"field {missing[0]} is missing")

    def _masked(self, value: Any) -> Any:
        """Return the value with secrets masked; the same object if there are none."""
        if isinstance(value, str):
            return self._masked_text(value) if self._any(value) else value
        if isinstance(value, dict):
            members = {name: self._masked(member) for name, member in value.items()}
            return members if any(members[name] is not member for name, member in value.items()) else value
        if isinstance(value, list | tuple):
            items = [self._masked(item) for item in value]
            return items if any(new is not old for new, old in zip(items, value, strict=True)) else value
        return value

    def _masked_text(self, text: str) -> str:
        masked = text
        for secret in self._secrets:
            masked = secret.masked(masked)
        return text if masked == text else masked


class SecretPattern:
    """One pattern and the replacement of its matches."""

    def __init__(self, name: str, pattern: str, instead: Callable[[str], str]) -> None:
        self._find = finder(pattern)
        self._check: Check | None = CHECKS.get(name)
        self._instead = instead

    def masked(self, text: str) -> str:
        done, position = [], 0
        for start, end in self._spans(text):
            if start >= position:
                done += [text[position:start], self._instead(text[start:end])]
                position = end
        return "".join([*done, text[position:]]) if done else text

    def _spans(self, text: str) -> Iterator[Span]:
        check = self._check
        for whole, *groups in self._find(text):
            if check is not None:
                yield from check(text, *whole)
            elif groups:
                # Nested groups are sorted after the outer one, so that all of the outer one is masked.
                yield from sorted(
                    (span for span in groups if 0 <= span[0] < span[1]), key=lambda span: (span[0], -span[1])
                )
            elif whole[0] < whole[1]:
                yield whole


def _instead(config: RedactConfig, name: str) -> Callable[[str], str]:
    if not config.mask:
        replacement = config.replacement.replace("%{name}", name)
        return lambda secret: replacement
    mask, keep = config.mask, config.keep_last

    def covered(secret: str) -> str:
        to_mask = sum(character.isalnum() for character in secret) - keep
        shown = []
        for character in secret:
            if character.isalnum():
                to_mask -= 1
                shown.append(mask if to_mask >= 0 else character)
            else:
                shown.append(character)
        return "".join(shown)

    return covered
