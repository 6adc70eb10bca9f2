"""From a configuration to the inputs that read: what the crawler gets at the start, and again at each reload."""

from config.shipper.model import InputConfig, KafkaOutputConfig, ShipperConfig
from registry.registrar import Registrar
from shipper.event import Doc
from shipper.output.kafka_settings import ENVELOPE
from shipper.processor import chain
from shipper.processor.base import ProcessorContext
from shipper.record import static_members
from shipper.source.reading.factory import Input

UNLIMITED = 2**31


class InputFactory:
    """Makes them, and keeps those that a new configuration leaves as they were: the very objects, so that whoever
    reads for them need not know that anything happened."""

    def __init__(self, context: ProcessorContext, registrar: Registrar) -> None:
        self._context = context
        self._registrar = registrar
        self._inputs: dict[str, tuple[object, Input]] = {}  # by id, each with what it was made from
        self._common: object = None  # what all of them were made from
        # The processors of all inputs are one for all: a limit is one for the agent, and what one learns, all know.
        self._shared: tuple[object, chain.Steps] = ((), chain.Steps())

    def build(self, config: ShipperConfig) -> list[Input]:
        """Those that are enabled, in their order. Raises StartError: then all is as it was."""
        written = comparison_key(config.processors)
        shared = self._shared
        if shared[0] != written:
            shared = written, chain.steps(config.processors, self._context)
        common = written, comparison_key((config.tags, config.fields, config.fields_under_root))
        known = self._inputs if common == self._common else {}
        made: dict[str, tuple[object, Input]] = {}
        for each in config.inputs:
            if each.enabled:
                dependency_key = comparison_key(each), message_limit(each, config)
                before = known.get(each.id)
                source = before[1] if before and before[0] == dependency_key else self._make(each, config, shared[1])
                made[each.id] = dependency_key, source
        self._inputs, self._common, self._shared = made, common, shared
        return [source for _, source in made.values()]

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
        )


def comparison_key(value: object) -> object:
    """The value, equal only to what is the same in a record: 1 and true are equal to each other."""
    return value, repr(value)


def static_fields(config: InputConfig, root: ShipperConfig) -> Doc:
    """What the whole configuration and the input's own part say, the input's winning. Raises StartError."""
    nested: Doc = {}
    rooted: Doc = {}
    for each in (root, config):
        (rooted if each.fields_under_root else nested).update(each.fields)
    return static_members((*root.tags, *config.tags), nested, rooted)


def message_limit(config: InputConfig, root: ShipperConfig) -> int:
    """Nothing longer is read than the output could send: it would only be cut later."""
    kafka = root.output.chosen
    return min(config.message_max_bytes, record_limit(kafka) if isinstance(kafka, KafkaOutputConfig) else UNLIMITED)


def record_limit(config: KafkaOutputConfig) -> int:
    """The longest record value that fits a Kafka message of `max_message_bytes`, in bytes."""
    return max(config.max_message_bytes - ENVELOPE, 1)
