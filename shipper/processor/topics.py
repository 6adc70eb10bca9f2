"""Chooses the Kafka topic of each event, by the options `topic` and `topics`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from log_shipper.shipper.event import Batch, Topics
from log_shipper.shipper.options.conditions import ConditionConfig, names
from log_shipper.shipper.options.topics import NOT_A_TOPIC, TopicRuleConfig, is_topic
from log_shipper.shipper.processor import conditions
from log_shipper.shipper.processor.base import Condition
from log_shipper.shipper.processor.events import Events
from log_shipper.shipper.processor.fields import path_of, roots
from log_shipper.shipper.processor.formatting import Formatter, NoText, is_shared

NO_RULE = "no rule of topics matches the event, and there is no default topic"


@dataclass(frozen=True, slots=True)
class TopicRule:
    formatter: Formatter
    condition: Condition | None = None
    mappings: Mapping[str, str] | None = None
    default: str | None = None

    def select(self, events: Events, indices: Sequence[int]) -> Sequence[int]:
        return indices if self.condition is None else self.condition.select(events, indices)

    def topic(self, events: Events, index: int) -> str:
        """Return the topic of an event. Raises NoText."""
        try:
            text = self._selected(events, index)
        except NoText:
            if self.default is None:
                raise
            return self.default
        if not text:
            raise NoText("the mappings give it no topic")
        return text

    def _selected(self, events: Events, index: int) -> str:
        """Return the topic; empty if the mappings say that there is none. Raises NoText."""
        text = self.formatter.text(events, index)
        if self.mappings:
            if text not in self.mappings:
                raise NoText(f"{text!r} has no mapping")
            text = self.mappings[text]
            if not text:
                return ""
        if not is_topic(text):
            raise NoText(f"{text!r} {NOT_A_TOPIC}")
        return text


class TopicChooser:
    """Used by the publishing thread. What all events of a batch share is evaluated once."""

    def __init__(self, topic: str, rules: Sequence[TopicRuleConfig] = ()) -> None:
        """`topic`: a format string for events without a topic by a rule; may be empty."""
        made = [_rule(rule) for rule in rules]
        self._rules = [*made, TopicRule(Formatter(topic))] if topic else made
        fields = [rule.formatter.fields for rule in self._rules]
        tested = [roots(*map(path_of, names(rule.when))) for rule in rules if rule.when is not None]
        self._fields = frozenset[str]().union(*fields, *tested)

    @property
    def fixed(self) -> str | None:
        """Return the topic of all events; None if it depends on the event."""
        (rule, *others) = self._rules
        depends = others or rule.condition is not None or rule.mappings
        return None if depends else rule.formatter.fixed

    def __call__(self, batch: Batch) -> Topics:
        events = Events(batch)
        if is_shared(events, self._fields):
            chosen, reasons = self._choose(events, [0])
            if chosen:
                return Topics(chosen[0])
            return Topics(None, [None] * batch.events, dict.fromkeys(range(batch.events), reasons[0]))
        indices = range(batch.events)
        chosen, reasons = self._choose(events, indices)
        of_each = [chosen.get(index) for index in indices]
        if not reasons and len(set(of_each)) == 1:
            return Topics(of_each[0])
        return Topics(None, of_each, reasons)

    def _choose(self, events: Events, indices: Sequence[int]) -> tuple[dict[int, str], dict[int, str]]:
        """Return the topic of each event that has one, and the reason of the others."""
        chosen: dict[int, str] = {}
        reasons = dict.fromkeys(indices, NO_RULE)
        for rule in self._rules:
            remaining = [index for index in indices if index not in chosen]
            for index in rule.select(events, remaining) if remaining else ():
                try:
                    chosen[index] = rule.topic(events, index)
                    del reasons[index]
                except NoText as error:
                    reasons[index] = str(error)
        return chosen, reasons


def _rule(config: TopicRuleConfig) -> TopicRule:
    condition: ConditionConfig | None = config.when
    return TopicRule(
        Formatter(config.topic),
        None if condition is None else conditions.build(condition),
        config.mappings,
        config.default,
    )
