"""Builds the output of `delivery: exactly_once`."""

import os
import socket
import uuid
from collections.abc import Callable
from typing import Any

from log_shipper.shipper.formats.record import timestamp
from log_shipper.shipper.inputs.kafka.options import KafkaInputConfig
from log_shipper.shipper.options.kafka import KafkaOutputConfig, TransactionConfig
from log_shipper.shipper.options.model import ShipperConfig
from log_shipper.shipper.output.kafka_settings import clients, latest, producers, transactional
from log_shipper.shipper.output.positions_topic import Owner, PositionsTopic
from log_shipper.shipper.output.transaction import TransactionLimits
from log_shipper.shipper.output.transactional_id import TransactionalId
from log_shipper.shipper.output.transactions import Transactions
from log_shipper.shipper.outputs.at_least_once import kafka_context
from log_shipper.shipper.outputs.base import OutputContext


def transactions(chosen: KafkaOutputConfig, config: ShipperConfig, context: OutputContext) -> Transactions:
    """Return the output, not started yet. Raises StartError for settings that librdkafka rejects."""
    mem = config.queue.mem
    transaction = chosen.transaction or TransactionConfig()
    # Half the queue: the other half fills up during a commit.
    limits = TransactionLimits(transaction.interval, max(mem.events // 2, 1), mem.bytes // 2)
    positions = context.positions
    positions.has_groups |= any(isinstance(section, KafkaInputConfig) for section in config.inputs)
    identity = _identity(transaction, latest(chosen), context)
    return Transactions(identity, kafka_context(chosen, context), context.deliveries, positions, limits)


def _identity(
    transaction: TransactionConfig, configured: Callable[[], dict[str, Any]], context: OutputContext
) -> TransactionalId:
    name = transaction.id or f"shipper-{context.agent.id}"
    owner = Owner(uuid.uuid4().hex, socket.gethostname(), os.getpid(), timestamp(context.clock.time()))
    store = PositionsTopic(transaction.topic, name, clients(configured))
    make = producers(lambda: transactional(configured(), name, relays=context.positions.has_groups))
    return TransactionalId(make, store, owner)
