"""Builds the inputs of a configuration: at the start, and again at each reload."""

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
    """Builds inputs, and returns the same objects for those that a new configuration does not change, so that their
    harvesters continue undisturbed."""

    def __init__(self, context: ProcessorContext, registrar: Registrar, stage: MakeStage | None = None) -> None:
        self._context = context
        self._registrar = registrar
        self._stage = stage
        self._counts: dict[str, InputCounts] = {}  # by id: they rise also over a reload
        self._inputs: dict[str, tuple[object, AnyInput]] = {}  # by id, with what it was built from
        self._discovered: dict[str, tuple[DiscoveredInput, AnyInput]] = {}  # by id
        self.refused: dict[str, str] = {}  # of those that were discovered: why they cannot be built, by id
        self._common: object = None  # what all of them were built from
        # The processors for all inputs are shared: a rate limit is one for the agent, and so is a cache.
        self._shared: tuple[object, chain.Steps] = ((), chain.Steps())

    def build(self, config: ShipperConfig, discovered: Sequence[DiscoveredInput] = ()) -> list[AnyInput]:
        """Return the enabled inputs, in order, and those that were discovered. Raises StartError; nothing is changed
        then."""
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
            item.config.id: "its id is that of an input of the configuration"
            for item in discovered
            if item.config.id in built
        }
        self._inputs, self._common, self._shared = built, common, shared
        for input_id in self._discovered.keys() - made.keys() - built.keys():
            self._counts.pop(input_id, None)  # those of inputs that come and go would add up
        self._discovered = made
        return [built_input for _, built_input in (*built.values(), *made.values())]

    def _build_discovered(
        self,
        discovered: Sequence[DiscoveredInput],
        root: ShipperConfig,
        shared: chain.Steps,
        known: dict[str, tuple[DiscoveredInput, AnyInput]],
    ) -> dict[str, tuple[DiscoveredInput, AnyInput]]:
        """Return those that can be built. They are compared by identity: thousands of them may be given each second."""
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
        self, config: AnyConfig, root: ShipperConfig, shared: chain.Steps, metadata: Doc | None = None
    ) -> AnyInput:
        """`metadata`: members of its events, for one that was discovered."""
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
    """Return a key that is equal only if the value is the same in a record: to Python, 1 and True are equal."""
    return value, repr(value)
