"""Makes the output of `delivery: exactly_once`."""

import os
import socket
import uuid

from config.shipper.feeds.kafka import KafkaInputConfig
from config.shipper.model import KafkaOutputConfig, ShipperConfig
from config.shipper.transactions import TransactionConfig
from shipper.clock import Clock
from shipper.output.kafka import KafkaContext
from shipper.output.kafka_records import RecordMaker
from shipper.output.kafka_settings import clients, latest, producers, transactional
from shipper.output.positions_topic import Owner, PositionsTopic
from shipper.output.transaction_context import Limits, TransactionContext
from shipper.output.transactional import TransactionalOutput
from shipper.output.transactional_id import TransactionalId
from shipper.output_context import OutputContext
from shipper.record import timestamp


def transactional_output(
    config: ShipperConfig, records: RecordMaker, kafka: KafkaContext, context: OutputContext
) -> TransactionalOutput:
    """Return the output, which is not started yet. Raises StartError for settings that librdkafka refuses."""
    chosen, mem = config.output.chosen, config.queue.mem
    assert isinstance(chosen, KafkaOutputConfig), "only Kafka has transactions"
    transaction = chosen.transaction or TransactionConfig()
    # Half the queue: the other half is filled while a transaction is committed.
    limits = Limits(transaction.interval, max(mem.events // 2, 1), mem.bytes // 2)
    relays = any(isinstance(section, KafkaInputConfig) for section in config.inputs)
    identity = identity_of(chosen, transactional_id(transaction, context.agent.id), kafka.clock, relays=relays)
    return TransactionalOutput(identity, records, context.publisher, TransactionContext(kafka, context.staging, limits))


def identity_of(chosen: KafkaOutputConfig, name: str, clock: Clock, *, relays: bool = False) -> TransactionalId:
    """Return the transactional id with this name. `relays`: its transactions have the offsets of consumer groups.
    Raises StartError for settings that librdkafka refuses."""
    transaction = chosen.transaction or TransactionConfig()
    owner = Owner(uuid.uuid4().hex, socket.gethostname(), os.getpid(), timestamp(clock.time()))
    configured = latest(chosen)
    store = PositionsTopic(transaction.topic, name, clients(configured))
    return TransactionalId(producers(lambda: transactional(configured(), name, relays=relays)), store, owner)


def transactional_id(transaction: TransactionConfig, agent_id: str) -> str:
    return transaction.id or f"shipper-{agent_id}"
