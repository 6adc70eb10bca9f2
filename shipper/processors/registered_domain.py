"""`registered_domain`: extracts the registered domain of a host name, by Mozilla's public suffix list.

The list comes with the installed package; nothing is downloaded.
"""

from dataclasses import dataclass, field
from typing import ClassVar

from publicsuffixlist import PublicSuffixList

from log_shipper.config.text.checks import not_blank
from log_shipper.shipper.options.processors import IGNORE_MISSING, ProcessorConfig
from log_shipper.shipper.processor.base import EventProcessor, ProcessorContext
from log_shipper.shipper.processor.events import Event
from log_shipper.shipper.processor.fields import MISSING, ProcessorError, path_of, roots


@dataclass(frozen=True, slots=True, kw_only=True)
class RegisteredDomainConfig(ProcessorConfig):
    """Extracts the registered domain of a host name, by the public suffix list installed with the shipper."""

    name: ClassVar = "registered_domain"
    example: ClassVar = """
        registered_domain: {field: site, target_field: domain} -> {site: www.example.co.uk}
          -> {site: www.example.co.uk, domain: example.co.uk}
    """
    source: str = field(metadata={"key": "field", "check": not_blank, "doc": "The field with the host name."})
    target_field: str = field(
        metadata={"check": not_blank, "doc": "The field that the registered domain is written to."}
    )
    target_etld_field: str = field(
        default="", metadata={"doc": "The field that the public suffix is written to; not written when absent."}
    )
    target_subdomain_field: str = field(
        default="", metadata={"doc": "The field that the subdomain is written to; not written when absent."}
    )
    ignore_missing: bool = field(default=False, metadata=IGNORE_MISSING)
    ignore_failure: bool = field(default=False, metadata={"doc": "Whether failures are ignored."})
    id: str = field(default="", metadata={"doc": "A name for this processor, not used by the shipper."})

    def build(self, _: ProcessorContext) -> EventProcessor:
        return RegisteredDomain(self)


_MAX_NAME_LENGTH = 255  # characters of a name; a longer text is not a name


class RegisteredDomain:
    def __init__(self, config: RegisteredDomainConfig) -> None:
        self._list = PublicSuffixList()
        self._field = path_of(config.source)
        self._target = path_of(config.target_field)
        self._suffix = path_of(config.target_etld_field) if config.target_etld_field else None
        self._below = path_of(config.target_subdomain_field) if config.target_subdomain_field else None
        self._ignore_missing = config.ignore_missing
        written = [path for path in (self._target, self._suffix, self._below) if path]
        self.touches: frozenset[str] | None = roots(self._field, *written)

    def apply(self, event: Event) -> None:
        name = event.get(self._field)
        if name is MISSING and self._ignore_missing:
            return
        if not isinstance(name, str):
            what = "is missing" if name is MISSING else "is not a string"
            raise ProcessorError(f"field {'.'.join(self._field)} {what}")
        labels = name.split(".") if len(name) <= _MAX_NAME_LENGTH else []
        registered = self._list.privatesuffix(name) if all(labels) and labels else None
        if registered is None:
            raise ProcessorError(f"{name[:100]!r} has no registered domain")
        # In the original spelling: the list returns lower case.
        registered = ".".join(labels[-(registered.count(".") + 1) :])
        event.put(self._target, registered)
        if self._suffix:
            event.put(self._suffix, registered.partition(".")[2])
        below = name[: -len(registered)].removesuffix(".")
        if self._below and below:
            event.put(self._below, below)
