"""Builds the inputs of a configuration, for the crawler: at the start, and again at each reload."""

from config.shipper.model import InputConfig, ShipperConfig
from registry.registrar import Registrar
from shipper.event import InputCounts
from shipper.processor import chain
from shipper.processor.base import ProcessorContext
from shipper.record_limit import message_limit
from shipper.source.reading.factory import Input
from shipper.source.reading.file_reader import MakeStage
from shipper.static_fields import static_fields


class InputFactory:
    """Builds inputs, and returns the same objects for those that a new configuration does not change, so that their
    harvesters continue undisturbed."""

    def __init__(self, context: ProcessorContext, registrar: Registrar, stage: MakeStage | None = None) -> None:
        self._context = context
        self._registrar = registrar
        self._stage = stage
        self._counts: dict[str, InputCounts] = {}  # by id: they rise also over a reload
        self._inputs: dict[str, tuple[object, Input]] = {}  # by id, with what it was built from
        self._common: object = None  # what all of them were built from
        # The processors for all inputs are shared: a rate limit is one for the agent, and so is a cache.
        self._shared: tuple[object, chain.Steps] = ((), chain.Steps())

    def build(self, config: ShipperConfig) -> list[Input]:
        """Return the enabled inputs, in order. Raises StartError; nothing is changed then."""
        written = comparison_key(config.processors)
        shared = self._shared
        if shared[0] != written:
            shared = written, chain.steps(config.processors, self._context)
        common = written, comparison_key((config.tags, config.fields, config.fields_under_root))
        known = self._inputs if common == self._common else {}
        built: dict[str, tuple[object, Input]] = {}
        for config_input in config.inputs:
            if config_input.enabled:
                dependency_key = comparison_key(config_input), message_limit(config_input, config)
                existing = known.get(config_input.id)
                if existing is None or existing[0] != dependency_key:
                    existing = dependency_key, self._make(config_input, config, shared[1])
                built[config_input.id] = existing
        self._inputs, self._common, self._shared = built, common, shared
        return [built_input for _, built_input in built.values()]

    def _make(self, config: InputConfig, root: ShipperConfig, shared: chain.Steps) -> Input:
        context = self._context
        return Input(
            config,
            context.agent,
            static_fields(config, root),
            message_limit(config, root),
            context.clock,
            self._registrar.note,
            chain.build(config.processors, context, shared),
            context.metrics,
            self._stage,
            self._counts.setdefault(config.id, InputCounts()),
        )


def comparison_key(value: object) -> object:
    """Return a key that is equal only if the value is the same in a record: to Python, 1 and True are equal."""
    return value, repr(value)
