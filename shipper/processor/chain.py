"""The processors of an input, built from its configuration, and run one after the other."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import groupby

from log_shipper.shipper.event import Batch, Growth
from log_shipper.shipper.metrics import Metrics
from log_shipper.shipper.options.processors import AnyProcessor, Branch, ProcessorConfig
from log_shipper.shipper.processor import conditions
from log_shipper.shipper.processor.base import (
    AsyncProcessor,
    Awaiting,
    Buildable,
    Condition,
    EventProcessor,
    Processor,
    ProcessorContext,
    ProcessorError,
    Storing,
)
from log_shipper.shipper.processor.events import Event, Events, all_of
from log_shipper.shipper.processor.waiting import AsyncStep, WaitingChain

logger = logging.getLogger(__name__)

Outer = Processor | AsyncStep


class Chain:
    """The `Source.process` of an input: runs the processors on a batch, in order, and removes dropped events."""

    def __init__(self, steps: Sequence[Processor], metrics: Metrics, growth: Growth | None = None) -> None:
        self.growth = growth or Growth()
        self._steps = steps
        self._metrics = metrics

    def __call__(self, batch: Batch) -> None:
        if batch.messages.texts:
            events = Events(batch)
            run(self._steps, events, range(len(events.texts)))
            self._metrics.events_filtered += len(events.dropped)
            events.finish()


def run(steps: Sequence[Processor], events: Events, indices: Sequence[int]) -> None:
    """Run the steps in order, each on the events that earlier ones have not dropped."""
    dropped = len(events.dropped)
    for step in steps:
        if not indices:
            return
        step.run(events, indices)
        if len(events.dropped) > dropped:
            dropped = len(events.dropped)
            indices = [index for index in indices if index not in events.dropped]


class EventByEvent:
    """Runs a processor on one event after the other, or once on the constants if it concerns only these. With
    `ignores_failure` its errors are not reported."""

    def __init__(
        self, name: str, processor: EventProcessor, metrics: Metrics, *, ignores_failure: bool = False
    ) -> None:
        self._ignores_failure = ignores_failure
        self._name = name
        self._processor = processor
        self._touches = processor.touches
        self._metrics = metrics

    def run(self, events: Events, indices: Sequence[int]) -> None:
        if self._touches is not None and all_of(events, indices) and not events.shadows(self._touches):
            events.share(self, lambda shared: self._apply(shared, (0,)))
        else:
            self._apply(events, indices)

    def _apply(self, events: Events, indices: Sequence[int]) -> None:
        event, apply = Event(events), self._processor.apply
        for event.index in indices:
            try:
                apply(event)
            except ProcessorError as error:
                self._fail(event, str(error), **error.members)
            except RecursionError:  # a hostile line may nest a thousand objects
                self._fail(event, "a value is nested too deeply")

    def _fail(self, event: Event, message: str, **members: str) -> None:
        if self._ignores_failure:
            return
        self._metrics.processor_failures += 1
        logger.debug("%s: %s", self._name, message)
        event.fail(self._name, message, **members)


class OneByOne:
    """Runs all steps on each event before the next: they depend on earlier events."""

    def __init__(self, steps: Sequence[Processor]) -> None:
        self._steps = steps

    def run(self, events: Events, indices: Sequence[int]) -> None:
        for index in indices:
            run(self._steps, events, (index,))


class Conditional:
    """The condition of `when` or `if`, with its steps."""

    def __init__(self, condition: Condition, then: Sequence[Processor], otherwise: Sequence[Processor] = ()) -> None:
        self._condition = condition
        self._then = then
        self._otherwise = otherwise

    def run(self, events: Events, indices: Sequence[int]) -> None:
        meeting = self._condition.select(events, indices)
        run(self._then, events, meeting)
        if self._otherwise:
            met = set(meeting)
            run(self._otherwise, events, [index for index in indices if index not in met])


@dataclass(frozen=True, slots=True)
class ProcessorSteps:
    """The steps of some processors, how much they may enlarge events, and the processors that batches wait for.
    `stores`: of each step."""

    outer: Sequence[Outer] = ()
    stores: Sequence[Sequence[object]] = ()
    growth: Growth = field(default_factory=Growth)
    awaiting: Sequence[Awaiting] = ()


def build(
    configs: Sequence[AnyProcessor], context: ProcessorContext, shared: ProcessorSteps | None = None
) -> Chain | WaitingChain | None:
    """Return the chain of these processors, followed by the steps shared with other chains; None if there are none.
    Raises StartError for a processor that cannot work here."""
    own, shared = steps(configs, context), shared or ProcessorSteps()
    outer = _in_turn([*own.outer, *shared.outer], [*own.stores, *shared.stores])
    growth = own.growth.then(shared.growth)
    if not outer:
        return None
    plain = [step for step in outer if not isinstance(step, AsyncStep)]
    awaiting = [*own.awaiting, *shared.awaiting]
    if len(plain) < len(outer) or awaiting:
        return WaitingChain(outer, context.metrics, context.clock, growth, awaiting)
    return Chain(plain, context.metrics, growth)


def steps(configs: Sequence[AnyProcessor], context: ProcessorContext) -> ProcessorSteps:
    """Return the steps of these processors. Raises StartError."""
    builder, outer, stores = _Builder(context), list[Outer](), list[Sequence[object]]()
    for config in configs:
        builder.stores = []
        outer.append(builder.outer(config))
        stores.append(builder.stores)
    return ProcessorSteps(outer, stores, growth_of(configs), builder.awaiting)


def _in_turn(outer: Sequence[Outer], stores: Sequence[Sequence[object]]) -> list[Outer]:
    """Return the steps, combining those from the first to the last use of a store. A step that waits for look-ups
    passes whole batches, and stays separate."""
    users: dict[int, list[int]] = {}
    for place, used in enumerate(stores):
        for store in used:
            users.setdefault(id(store), []).append(place)
    spans = [range(places[0], places[-1] + 1) for places in users.values() if len(places) > 1]
    result = list[Outer]()
    for is_in_turn, places in groupby(range(len(outer)), lambda place: any(place in span for span in spans)):
        for is_plain, steps_of in groupby(
            (outer[place] for place in places), lambda step: not isinstance(step, AsyncStep)
        ):
            if is_in_turn and is_plain:
                result.append(OneByOne([step for step in steps_of if not isinstance(step, AsyncStep)]))
            else:
                result += steps_of
    return result


class _Builder:
    """Builds steps, and collects in `awaiting` the processors that batches wait for, and in `stores` the stores used,
    including those in branches."""

    def __init__(self, context: ProcessorContext) -> None:
        self.awaiting: list[Awaiting] = []
        self.stores: list[object] = []
        self._context = context

    def outer(self, config: AnyProcessor) -> Outer:
        """Return the step of a processor. One that may wait for look-ups is never in a branch (checked by
        options/processors), so a batch can continue after it."""
        return self._branch(config) if isinstance(config, Branch) else self._single(config)

    def _branch(self, config: Branch) -> Processor:
        return Conditional(conditions.build(config.condition), self._inner(config.then), self._inner(config.otherwise))

    def _inner(self, configs: Sequence[AnyProcessor]) -> list[Processor]:
        return [step for config in configs if not isinstance(step := self.outer(config), AsyncStep)]

    def _single(self, config: ProcessorConfig) -> Outer:
        assert isinstance(config, Buildable), "each module of processors has its build"
        processor = config.build(self._context)
        condition = None if config.when is None else conditions.build(config.when)
        if isinstance(processor, AsyncProcessor):
            return AsyncStep(processor, condition)
        if isinstance(processor, Awaiting):
            self.awaiting.append(processor)
        if isinstance(processor, Storing):
            self.stores.append(processor.store)
        step: Processor
        if isinstance(processor, EventProcessor):
            # Not all processors have this option; where it exists, its meaning is the same.
            ignores = getattr(config, "ignore_failure", False)
            step = EventByEvent(config.name, processor, self._context.metrics, ignores_failure=ignores)
        else:
            step = processor
        return step if condition is None else Conditional(condition, [step])


def growth_of(configs: Iterable[AnyProcessor]) -> Growth:
    """Return how much these processors, one after the other, may enlarge events."""
    growth = Growth()
    for config in configs:
        if isinstance(config, Branch):
            growth = growth.then(growth_of((*config.then, *config.otherwise)))
        elif (larger := config.growth) is not None:
            growth = growth.then(Growth(*larger))
    return growth
