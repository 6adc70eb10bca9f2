"""`redact`: masks secrets in texts.

One search for all patterns together shows whether a text has any secret at all, which most do not. Only then each
pattern is searched by itself. Everything is linear in the text: see shipper/options/processors/secrets.py.
"""

from collections.abc import Callable, Iterator
from typing import Any

from log_shipper.config.text.patterns import Span, finder, searcher
from log_shipper.shipper.options.processors.parsing import RedactConfig
from log_shipper.shipper.options.processors.secrets import PATTERNS
from log_shipper.shipper.processor.base import ProcessorError
from log_shipper.shipper.processor.events import Event
from log_shipper.shipper.processor.fields import MISSING, dotted, path_of
from log_shipper.shipper.processor.parsing.checksums import CHECKS, Check

REDACTED = "redacted"


class Redact:
    def __init__(self, config: RedactConfig) -> None:
        self._fields = [path_of(name) for name in config.fields]
        self._ignore_missing = config.ignore_missing
        patterns = {name: PATTERNS[name] for name in config.patterns} | config.custom
        self._any = searcher(tuple(patterns.values()))
        self._secrets = [Secret(name, pattern, _instead(config, name)) for name, pattern in patterns.items()]

    @property
    def touches(self) -> None:
        """None: flags belong to each event, so events cannot share the result."""

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
        """Return the value with its secrets masked; the same object if there are none."""
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


class Secret:
    """One pattern, and the replacement of its matches."""

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
                # A nested group is sorted after its outer one, so that all of the outer one is masked.
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
