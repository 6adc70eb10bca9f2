"""The log options that the shipper and the sink share."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import ClassVar, Literal, Self, get_args

from log_shipper.config.text.checks import Finding

IGNORED = {
    "to_eventlog": "it is a Windows log",
    "event_data": "events are not logged",
} | dict.fromkeys(("ecs", "with_fields", "environment"), "the shipper does not use it")
Level = Literal["debug", "info", "warning", "error", "critical"]
LEVELS: tuple[str, ...] = get_args(Level)


@dataclass(frozen=True, slots=True, kw_only=True)
class LogLinesConfig:
    """Log options; each program has its own components. `ignored`: Filebeat options that neither has."""

    components: ClassVar[tuple[str, ...]] = ()
    ignored: ClassVar[Mapping[str, str]] = IGNORED
    level: Level = field(default="info", metadata={"doc": "The minimum level of log messages."})
    levels: dict[str, str] = field(
        default_factory=dict,
        metadata={
            "since": "0.3",
            "doc": "Minimum levels by component: `{kafka: debug}` for librdkafka's own log. The shipper also has "
            "source, reader, processor, pipeline, output, registry, reload and monitor; the sink landing, storage, "
            "views, maintenance and monitor.",
        },
    )
    selectors: tuple[str, ...] = field(
        default=(),
        metadata={
            "since": "0.3",
            "doc": "Limits `level: debug` to these components; others log from info on. Names as in `levels`, or, in "
            "the shipper, Filebeat's selectors (harvester, publisher ...); `*` for all.",
            "split": ",",
        },
    )
    fold_repeated: bool = field(
        default=True,
        metadata={
            "since": "0.3",
            "doc": "Logs a repeated message once, then once a minute with a count.",
        },
    )
    format: Literal["auto", "text", "json"] = field(
        default="auto", metadata={"doc": "The log format; auto is text on a terminal, and JSON otherwise."}
    )
    json: bool | None = field(
        default=None, metadata={"doc": "Filebeat's name of `format`: true is json, false is text."}
    )

    def check(self) -> Iterator[Finding]:
        for name, level in self.levels.items():
            if name not in self.components:
                yield f"levels.{name}", f"{name!r} is not a component; known: {', '.join(self.components)}"
            elif str(level).lower() not in LEVELS:
                yield f"levels.{name}", f"{level!r} must be one of: {', '.join(LEVELS)}"

    def cautions(self) -> Iterator[Finding]:
        if not self.selectors:
            return
        from log_shipper.runtime.logs.selectors import without_component  # few configurations have them

        for selector in without_component(self.selectors, self.components):
            yield (
                "selectors",
                f"{selector!r} matches no component; known: {', '.join(self.components)}, and * for all",
            )

    def converted(self) -> Self:
        """Return the options with `json` converted to `format`, and `selectors` to `levels`."""
        written = self.format if self.json is None or self.format != "auto" else "json" if self.json else "text"
        level: Level = self.level
        levels = {name: given.lower() for name, given in self.levels.items()}
        if level == "debug" and self.selectors:
            from log_shipper.runtime.logs.selectors import ALL, selected

            chosen = selected(self.selectors, self.components)
            level = "debug" if ALL in self.selectors else "info"
            levels = {name: "debug" for name in self.components if name in chosen} | levels
        return replace(self, json=None, format=written, level=level, levels=levels, selectors=())
