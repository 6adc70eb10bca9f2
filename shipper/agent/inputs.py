"""Builds the inputs of a configuration, at startup and for each reload."""

from collections.abc import Sequence

from log_shipper.registry.registrar import Registrar
from log_shipper.shipper.agent.static_fields import static_fields
from log_shipper.shipper.autodiscover.base import DiscoveredInput
from log_shipper.shipper.errors import StartError
from log_shipper.shipper.event import Doc, InputCounts
from log_shipper.shipper.formats.record import merged
from log_shipper.shipper.inputs.feed import FeedInput
from log_shipper.shipper.inputs.files.reading.factory import Input
from log_shipper.shipper.inputs.staging import MakeStage
from log_shipper.shipper.options.feeds import AnyInput as AnyConfig
from log_shipper.shipper.options.feeds import FeedConfig
from log_shipper.shipper.options.model import ShipperConfig
from log_shipper.shipper.processor import chain
from log_shipper.shipper.processor.base import ProcessorContext

AnyInput = Input | FeedInput


class InputFactory:
    """Builds inputs, and reuses those that a new configuration does not change, so that their harvesters continue."""

    def __init__(self, context: ProcessorContext, registrar: Registrar, stage: MakeStage | None = None) -> None:
        self._context = context
        self._registrar = registrar
        self._stage = stage
        self._counts: dict[str, InputCounts] = {}  # by id: they keep counting across reloads
        self._inputs: dict[str, tuple[object, AnyInput]] = {}  # by id, with the configuration it was built from
        self._discovered: dict[str, tuple[DiscoveredInput, AnyInput]] = {}  # by id
        self.refused: dict[str, str] = {}  # errors of discovered inputs, by id
        self._common: object = None  # the configuration of all of them
        # The processors for all inputs are shared: a rate limit or cache applies to the whole agent.
        self._shared: tuple[object, chain.ProcessorSteps] = ((), chain.ProcessorSteps())

    def build(self, config: ShipperConfig, discovered: Sequence[DiscoveredInput] = ()) -> list[AnyInput]:
        """Return the enabled inputs in order, and the discovered ones. Raises StartError without changing anything."""
        written = comparison_key(config.processors)
        shared = self._shared
        if shared[0] != written:
            shared = written, chain.steps(config.processors, self._context)
        common = written, comparison_key((config.tags, config.fields, config.fields_under_root))
        known = self._inputs if common == self._common else {}
        built: dict[str, tuple[object, AnyInput]] = {}
        for config_input in config.inputs:
            if config_input.enabled:
                limit = config.output.chosen.message_limit(config_input.message_max_bytes)
                dependency_key = comparison_key(config_input), limit
                existing = known.get(config_input.id)
                if existing is None or existing[0] != dependency_key:
                    existing = dependency_key, self._make(config_input, config, shared[1])
                built[config_input.id] = existing
        beside = [item for item in discovered if item.config.id not in built]
        made = self._build_discovered(beside, config, shared[1], self._discovered if known is self._inputs else {})
        self.refused |= {
            item.config.id: "its id is already used in the configuration"
            for item in discovered
            if item.config.id in built
        }
        self._inputs, self._common, self._shared = built, common, shared
        for input_id in self._discovered.keys() - made.keys() - built.keys():
            self._counts.pop(input_id, None)  # those of short-lived inputs would accumulate
        self._discovered = made
        return [built_input for _, built_input in (*built.values(), *made.values())]

    def _build_discovered(
        self,
        discovered: Sequence[DiscoveredInput],
        root: ShipperConfig,
        shared: chain.ProcessorSteps,
        known: dict[str, tuple[DiscoveredInput, AnyInput]],
    ) -> dict[str, tuple[DiscoveredInput, AnyInput]]:
        """Return the inputs that can be built. They are compared by identity, because thousands may be passed each
        second.
        """
        built: dict[str, tuple[DiscoveredInput, AnyInput]] = {}
        refused: dict[str, str] = {}
        for item in discovered:
            existing = known.get(item.config.id)
            try:
                if existing is None or existing[0] is not item:
                    existing = item, self._make(item.config, root, shared, item.metadata)
                built[item.config.id] = existing
            except StartError as error:
                refused[item.config.id] = str(error)
        self.refused = refused
        return built

    def _make(
        self, config: AnyConfig, root: ShipperConfig, shared: chain.ProcessorSteps, metadata: Doc | None = None
    ) -> AnyInput:
        """Build an input. `metadata`: members of the events of a discovered one."""
        context = self._context
        parts = (
            context.agent,
            merged(metadata or {}, static_fields(config, root)),
            root.output.chosen.message_limit(config.message_max_bytes),
            context.clock,
            self._registrar.note,
            chain.build(config.steps, context, shared),
            context.metrics,
            self._stage,
            self._counts.setdefault(config.id, InputCounts()),
            metadata is not None,
        )
        return FeedInput(config, *parts) if isinstance(config, FeedConfig) else Input(config, *parts)


def comparison_key(value: object) -> object:
    """Return a key that is equal only for values that are equal in a record: to Python, 1 and True are equal."""
    return value, repr(value)
