"""Makes the output that sends dead letters again in transactions."""

from collections.abc import Mapping
from dataclasses import dataclass

from confluent_kafka import KafkaError, KafkaException

from log_shipper.shipper.clock import Clock
from log_shipper.shipper.errors import StartError
from log_shipper.shipper.options.model import ShipperConfig
from log_shipper.shipper.options.transactions import TransactionConfig
from log_shipper.shipper.output.kafka_errors import advice
from log_shipper.shipper.output.transaction import Limits, Positions
from log_shipper.shipper.output.transactional_id import TransactionalId
from log_shipper.shipper.output.transactions import Transactions
from log_shipper.shipper.outputs.context import OutputContext
from log_shipper.shipper.outputs.kafka import kafka_context
from log_shipper.shipper.outputs.transactions import identity_of, transactional_id

SUFFIX = "-dead-letters"  # of the transactional id: the agent, which has its own, may run meanwhile
MOST_LETTERS = 100  # of a transaction
MOST_BYTES = 16 * 1024**2
INTERVAL = 0.02  # seconds after which a transaction ends with fewer
RETRY_INTERVAL = 1.0

_OR = "Or use --at-least-once: letters that are in flight when it is killed are sent twice then."


@dataclass(frozen=True, slots=True)
class LettersOutput:
    """The output, which may be used once its transactional id is taken. `name` is that of the id."""

    name: str
    identity: TransactionalId
    output: Transactions

    def take(self, timeout: float, clock: Clock) -> Mapping[str, bytes]:
        """Take the transactional id over from a run that was killed: what it had begun has ended then. Return what it
        committed last. Raises StartError if that is forbidden, or not possible within `timeout` seconds."""
        deadline = clock.monotonic() + timeout
        while True:
            try:
                self.identity.take(lambda error: None)
            except KafkaException as exception:
                error = exception.args[0]
                if problem := self._problem(error, is_late=clock.monotonic() >= deadline):
                    raise StartError(f"no letter was sent: {problem}. {_OR} ({error.str()})") from exception
                clock.sleep(RETRY_INTERVAL)
            else:
                return self.identity.committed.entries

    def _problem(self, error: KafkaError, *, is_late: bool) -> str:
        """Return what is wrong, with what to do; "" for what may pass."""
        rights = {
            KafkaError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED: f"Write and Describe on transactional id {self.name}",
            KafkaError.TOPIC_AUTHORIZATION_FAILED: f"Create, Write, Read and Describe on topic {self.identity.topic}",
            KafkaError.CLUSTER_AUTHORIZATION_FAILED: f"Create on the cluster, or create topic {self.identity.topic}",
        }
        if error.code() in rights:
            return f"the broker forbids the transaction; give the user the rights {rights[error.code()]}"
        return advice(error.code(), error.str(), "Kafka does not begin a transaction") if is_late else ""


def letters_output(config: ShipperConfig, context: OutputContext, notes: Positions) -> LettersOutput:
    """Raises StartError for settings that librdkafka refuses."""
    chosen = config.output.to_kafka
    assert chosen is not None, "only Kafka has transactions"
    name = transactional_id(chosen.transaction or TransactionConfig(), context.agent.id) + SUFFIX
    identity = identity_of(chosen, name, context.clock)
    limits = Limits(INTERVAL, MOST_LETTERS, MOST_BYTES)
    output = Transactions(identity, kafka_context(chosen, context), context.publisher, notes, limits)
    return LettersOutput(name, identity, output)
