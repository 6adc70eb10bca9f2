"""The configuration files of a minimal, quick-starting Apache Kafka in KRaft mode."""

import base64
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from demo.ports import free_ports

# Kafka's default layout of log lines; stack traces follow on separate lines.
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


@dataclass(frozen=True, slots=True)
class Node:
    """A broker and a controller in one process. `voters` are the controllers of its cluster, whose id is `cluster`."""

    number: int
    port: int
    controller_port: int
    voters: str
    cluster: str


def cluster_of(count: int) -> list[Node]:
    """Return the nodes of a new cluster."""
    ports = free_ports(2 * count)
    controllers = list(enumerate(ports[count:], 1))
    voters = ",".join(f"{number}@127.0.0.1:{port}" for number, port in controllers)
    cluster = base64.urlsafe_b64encode(uuid.uuid4().bytes).rstrip(b"=").decode()
    return [Node(number, ports[number - 1], port, voters, cluster) for number, port in controllers]


def server_properties(data: Path, node: Node, extra: Mapping[str, str]) -> str:
    """Return the text of `server.properties`; `extra` overrides it."""
    settings = {
        "process.roles": "broker,controller",
        "node.id": str(node.number),
        "controller.quorum.voters": node.voters,
        "listeners": f"PLAINTEXT://127.0.0.1:{node.port},CONTROLLER://127.0.0.1:{node.controller_port}",
        "advertised.listeners": f"PLAINTEXT://127.0.0.1:{node.port}",
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
        "inter.broker.listener.name": "PLAINTEXT",
        "controller.listener.names": "CONTROLLER",
        "log.dirs": str(data),
        "num.partitions": "4",
        "auto.create.topics.enable": "false",
        "group.initial.rebalance.delay.ms": "0",
        # A killed broker can register again only after its old session has expired (default: 9 s).
        "broker.session.timeout.ms": "3000",
        "broker.heartbeat.interval.ms": "500",
        **_internal_topics(),
        **extra,
    }
    return "".join(f"{key}={value}\n" for key, value in settings.items())


def _internal_topics() -> dict[str, str]:
    """Return settings with one replica for one node, and few partitions: each costs files and startup time."""
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
