"""Makes the output of `delivery: exactly_once`."""

import os
import socket
import uuid
from collections.abc import Callable
from dataclasses import replace

from log_shipper.runtime.kafka.renewal import never
from log_shipper.shipper.clock import Clock
from log_shipper.shipper.formats.record import timestamp
from log_shipper.shipper.options.feeds.kafka import KafkaInputConfig
from log_shipper.shipper.options.model import KafkaOutputConfig, ShipperConfig
from log_shipper.shipper.options.transactions import TransactionConfig
from log_shipper.shipper.output.kafka import KafkaContext
from log_shipper.shipper.output.kafka_settings import clients, latest, producers, transactional
from log_shipper.shipper.output.positions_topic import Owner, PositionsTopic
from log_shipper.shipper.output.transaction import Limits
from log_shipper.shipper.output.transactional_id import TransactionalId
from log_shipper.shipper.output.transactions import Transactions
from log_shipper.shipper.outputs.context import OutputContext
from log_shipper.shipper.source.reading.staging import Staging


def transactions(config: ShipperConfig, kafka: KafkaContext, context: OutputContext) -> Transactions:
    """Return the output, which is not started yet. Raises StartError for settings that librdkafka refuses."""
    chosen, mem = config.output.to_kafka, config.queue.mem
    assert chosen is not None, "only Kafka has transactions"
    transaction = chosen.transaction or TransactionConfig()
    # Half the queue: the other half is filled while a transaction is committed.
    limits = Limits(transaction.interval, max(mem.events // 2, 1), mem.bytes // 2)
    staging = context.staging
    staging.has_groups |= any(isinstance(section, KafkaInputConfig) for section in config.inputs)
    name = transactional_id(transaction, context.agent.id)
    identity = identity_of(chosen, name, kafka.clock, lambda: staging.has_groups)
    kafka = replace(kafka, are_renewed=or_groups_began(kafka.are_renewed, staging))
    return Transactions(identity, kafka, context.publisher, staging, limits)


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
