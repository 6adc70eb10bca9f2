"""The options of log lines that the shipper and the sink share."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import ClassVar, Literal, Self, get_args

from log_shipper.config.text.checks import Finding

IGNORED = {
    "to_eventlog": "it is a log of Windows",
    "event_data": "no event is logged",
} | dict.fromkeys(("ecs", "with_fields", "environment"), "the shipper does not use it")
Level = Literal["debug", "info", "warning", "error", "critical"]
LEVELS: tuple[str, ...] = get_args(Level)


@dataclass(frozen=True, slots=True, kw_only=True)
class LogLinesConfig:
    """Each of the two has its own components. `ignored`: options of Filebeat that neither has."""

    components: ClassVar[tuple[str, ...]] = ()
    ignored: ClassVar[Mapping[str, str]] = IGNORED
    level: Level = field(default="info", metadata={"doc": "The lowest level that is logged."})
    levels: dict[str, str] = field(
        default_factory=dict,
        metadata={
            "since": "0.2",
            "doc": "The lowest level of some components: `{source: debug, output: warning}`. `kafka` has librdkafka's "
            "own log, which is not logged without it.",
        },
    )
    selectors: tuple[str, ...] = field(
        default=(),
        metadata={
            "since": "0.2",
            "doc": "With `level: debug`, only these components are logged from debug on, and the others from info on: "
            "names as in `levels`, or Filebeat's selectors (harvester, publisher ...); `*` for all.",
            "split": ",",
        },
    )
    fold_repeated: bool = field(
        default=True,
        metadata={
            "since": "0.2",
            "doc": "Whether a message that repeats itself is logged once, and then once a minute with a count.",
        },
    )
    format: Literal["auto", "text", "json"] = field(
        default="auto", metadata={"doc": "The format of log lines; auto is text on a terminal and JSON elsewhere."}
    )
    json: bool | None = field(
        default=None, metadata={"doc": "Filebeat's option for `format`: true is json, false is text."}
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
                f"{selector!r} selects nothing here; known: {', '.join(self.components)}, and * for all of them",
            )

    def converted(self) -> Self:
        """Return the options with `json` as `format`, and `selectors` as `levels`."""
        written = self.format if self.json is None or self.format != "auto" else "json" if self.json else "text"
        level: Level = self.level
        levels = {name: given.lower() for name, given in self.levels.items()}
        if level == "debug" and self.selectors:
            from log_shipper.runtime.logs.selectors import ALL, selected

            chosen = selected(self.selectors, self.components)
            level = "debug" if ALL in self.selectors else "info"
            levels = {name: "debug" for name in self.components if name in chosen} | levels
        return replace(self, json=None, format=written, level=level, levels=levels, selectors=())
