"""Makes the output of `delivery: exactly_once`."""

import os
import socket
import uuid
from collections.abc import Callable
from dataclasses import replace

from config.shipper.feeds.kafka import KafkaInputConfig
from config.shipper.model import KafkaOutputConfig, ShipperConfig
from config.shipper.transactions import TransactionConfig
from kafka_client.renewal import never
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
from shipper.source.reading.staging import Staging


def transactional_output(
    config: ShipperConfig, records: RecordMaker, kafka: KafkaContext, context: OutputContext
) -> TransactionalOutput:
    """Return the output, which is not started yet. Raises StartError for settings that librdkafka refuses."""
    chosen, mem = config.output.chosen, config.queue.mem
    assert isinstance(chosen, KafkaOutputConfig), "only Kafka has transactions"
    transaction = chosen.transaction or TransactionConfig()
    # Half the queue: the other half is filled while a transaction is committed.
    limits = Limits(transaction.interval, max(mem.events // 2, 1), mem.bytes // 2)
    staging = context.staging
    staging.has_groups |= any(isinstance(section, KafkaInputConfig) for section in config.inputs)
    name = transactional_id(transaction, context.agent.id)
    identity = identity_of(chosen, name, kafka.clock, lambda: staging.has_groups)
    kafka = replace(kafka, are_renewed=or_groups_began(kafka.are_renewed, staging))
    return TransactionalOutput(identity, records, context.publisher, TransactionContext(kafka, staging, limits))


def or_groups_began(are_renewed: Callable[[], bool], staging: Staging) -> Callable[[], bool]:
    """As `are_renewed`, and True once after a reload has added the first input that reads from a group: its offsets
    need a producer with other settings."""
    is_known = staging.has_groups

    def are_renewed_or_began() -> bool:
        nonlocal is_known
        began, is_known = staging.has_groups and not is_known, staging.has_groups
        return are_renewed() or began

    return are_renewed_or_began


def identity_of(
    chosen: KafkaOutputConfig, name: str, clock: Clock, relays: Callable[[], bool] = never
) -> TransactionalId:
    """Return the transactional id with this name. `relays`: True if its transactions have the offsets of consumer
    groups; asked for each producer. Raises StartError for settings that librdkafka refuses."""
    transaction = chosen.transaction or TransactionConfig()
    owner = Owner(uuid.uuid4().hex, socket.gethostname(), os.getpid(), timestamp(clock.time()))
    configured = latest(chosen)
    store = PositionsTopic(transaction.topic, name, clients(configured))
    return TransactionalId(producers(lambda: transactional(configured(), name, relays=relays())), store, owner)


def transactional_id(transaction: TransactionConfig, agent_id: str) -> str:
    return transaction.id or f"shipper-{agent_id}"
