"""The configuration files of a one-node Apache Kafka in KRaft mode, as small and as quick to start as it gets."""

from collections.abc import Mapping
from pathlib import Path

# Kafka's own layout of a log line; an exception's stack trace follows on lines of its own.
LOG4J = """\
<Configuration status="WARN">
  <Appenders>
    <File name="file" fileName="{log_file}" append="true">
      <PatternLayout pattern="[%d] %p %m (%c)%n"/>
    </File>
  </Appenders>
  <Loggers>
    <Root level="INFO"><AppenderRef ref="file"/></Root>
  </Loggers>
</Configuration>
"""


def server_properties(data: Path, port: int, controller_port: int, extra: Mapping[str, str]) -> str:
    """The text of `server.properties`; `extra` goes over what is set here."""
    settings = {
        "process.roles": "broker,controller",
        "node.id": "1",
        "controller.quorum.voters": f"1@127.0.0.1:{controller_port}",
        "listeners": f"PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller_port}",
        "advertised.listeners": f"PLAINTEXT://127.0.0.1:{port}",
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
        "inter.broker.listener.name": "PLAINTEXT",
        "controller.listener.names": "CONTROLLER",
        "log.dirs": str(data),
        "num.partitions": "4",
        "auto.create.topics.enable": "false",
        "group.initial.rebalance.delay.ms": "0",
        # After a kill it may not come back before its old session has run out (9 s by default).
        "broker.session.timeout.ms": "3000",
        "broker.heartbeat.interval.ms": "500",
        **_internal_topics(),
        **extra,
    }
    return "".join(f"{key}={value}\n" for key, value in settings.items())


def _internal_topics() -> dict[str, str]:
    """One replica each, because there is one node; few partitions, because each costs files and time to load."""
    return {
        "offsets.topic.num.partitions": "2",
        "offsets.topic.replication.factor": "1",
        "transaction.state.log.num.partitions": "2",
        "transaction.state.log.replication.factor": "1",
        "transaction.state.log.min.isr": "1",
        "share.coordinator.state.topic.num.partitions": "1",
        "share.coordinator.state.topic.replication.factor": "1",
        "share.coordinator.state.topic.min.isr": "1",
    }


def log4j(log_file: Path) -> str:
    return LOG4J.format(log_file=log_file)
