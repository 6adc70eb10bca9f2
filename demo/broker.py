"""A real Apache Kafka in its own directory, for the demo, the benchmarks and the tests."""

import atexit
import signal
import socket
import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from types import MappingProxyType, TracebackType
from typing import Any, Self

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewPartitions, NewTopic

from demo.broker_config import Node, cluster_of, log4j, server_properties
from demo.jars import broker_class_path
from demo.process import end, last_lines, spawn
from log_shipper.spark_sink.platform.java import find_java

# For short runs that share few cores with measured programs. No performance data: a killed JVM leaves the file behind.
QUICK_START = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-XX:-UsePerfData", "-Djava.awt.headless=true")
ANSWER_SECONDS = 60.0  # a busy machine may stall
REQUEST_SECONDS = 10.0  # a broker that was frozen may lose requests until its session is renewed
NO_PROPERTIES: Mapping[str, str] = MappingProxyType({})


class BrokerFailed(Exception):
    """Raised when the broker fails to start; the text has the last lines of its log."""


class Broker:
    """A broker to start, stop, kill and freeze; port and data stay the same across restarts.

    A single-node cluster, or a `node` of a larger one. With `outlives`, it keeps running after this process (the
    demo's `--keep`). Not thread-safe. Raises JarsMissing or NoJava (spark_sink).
    """

    def __init__(
        self,
        directory: Path,
        heap: str = "512m",
        properties: Mapping[str, str] = NO_PROPERTIES,
        outlives: bool = False,
        jvm_options: Sequence[str] = QUICK_START,
        node: Node | None = None,
    ) -> None:
        self._jvm_options = jvm_options
        self._outlives = outlives
        self._directory = directory.absolute()
        self.log_file = self._directory / "server.log"
        self._output = self._directory / "output.log"
        self._heap = heap
        self._process: subprocess.Popen[bytes] | None = None
        self._class_path = broker_class_path()
        self._java = find_java().java
        self._node = node if node is not None else cluster_of(1)[0]
        self._configure(properties)

    @property
    def bootstrap(self) -> str:
        return f"127.0.0.1:{self._node.port}"

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process is not None else None

    @property
    def running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def __repr__(self) -> str:
        return f"<Broker {self.bootstrap} {'running' if self.running else 'stopped'} in {self._directory}>"

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def start(self, timeout: float = 60) -> None:
        """Start the broker, and return when it responds. Raises BrokerFailed, with no process left running."""
        self.launch()
        self.await_answer(timeout)

    def launch(self) -> None:
        """Start the process. A node responds once the majority of its cluster runs. Raises BrokerFailed."""
        self._format()
        if not self._outlives:
            atexit.register(self.kill)
        self._process = spawn(self._jvm("kafka.Kafka", self._settings), self._output, outlives=self._outlives)

    def await_answer(self, timeout: float = 60) -> None:
        """Return when the broker responds. Raises BrokerFailed, with no process left running."""
        with ExitStack() as undo:  # also for Ctrl-C
            undo.callback(self.kill)
            self._await_answer(time.monotonic() + timeout)
            undo.pop_all()

    def stop(self, timeout: float = 20) -> None:
        """Send SIGTERM for a clean shutdown, and SIGKILL after `timeout` seconds."""
        if self._process is not None:
            end(self._process, timeout)
            self._forget()

    def kill(self) -> None:
        """Send SIGKILL, as in a power failure."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._forget()

    def leave_running(self) -> None:
        """Leave the process running: `stop` does nothing from now on."""
        self._forget()

    def restart(self) -> None:
        self.stop()
        self.start()

    def freeze(self) -> None:
        """Send SIGSTOP: connections stay open, and the broker does not respond."""
        if self._process is not None:
            self._process.send_signal(signal.SIGSTOP)

    def thaw(self) -> None:
        if self._process is not None:
            self._process.send_signal(signal.SIGCONT)

    def create_topic(self, name: str, partitions: int) -> None:
        """Create a topic, and return when it is writable. Raises KafkaException, also if the topic exists."""
        admin = self.admin()
        deadline, allowed = time.monotonic() + ANSWER_SECONDS, {KafkaError._TIMED_OUT}
        while True:
            request = admin.create_topics([NewTopic(name, partitions, 1)], request_timeout=REQUEST_SECONDS)
            try:
                request[name].result(ANSWER_SECONDS)
            except KafkaException as error:
                if error.args[0].code() not in allowed or time.monotonic() > deadline:
                    raise
                if error.args[0].code() == KafkaError.TOPIC_ALREADY_EXISTS:  # only the response was lost
                    break
                allowed.add(KafkaError.TOPIC_ALREADY_EXISTS)
            else:
                break
        while len(admin.list_topics(name, timeout=ANSWER_SECONDS).topics[name].partitions) < partitions:
            time.sleep(0.02)

    def add_partitions(self, name: str, partitions: int) -> None:
        """Raise the number of a topic's partitions, and return when they are writable. Raises KafkaException."""
        admin = self.admin()
        admin.create_partitions([NewPartitions(name, partitions)])[name].result(ANSWER_SECONDS)
        while len(admin.list_topics(name, timeout=ANSWER_SECONDS).topics[name].partitions) < partitions:
            time.sleep(0.02)

    def delete_topic(self, name: str) -> None:
        """Delete a topic, and return when its name is free. Raises KafkaException."""
        admin = self.admin()
        admin.delete_topics([name])[name].result(ANSWER_SECONDS)
        while name in admin.list_topics(timeout=ANSWER_SECONDS).topics:
            time.sleep(0.02)

    def admin(self) -> AdminClient:
        """Return a new client that does not log failed connections."""
        settings: dict[str, Any] = {"bootstrap.servers": self.bootstrap, "reconnect.backoff.max.ms": 200}
        return AdminClient(settings | {"log_level": 0, "error_cb": lambda error: None})

    def _configure(self, properties: Mapping[str, str]) -> None:
        (self._directory / "tmp").mkdir(parents=True, exist_ok=True)
        self._data = self._directory / "data"
        self._settings = self._directory / "server.properties"
        self._settings.write_text(server_properties(self._data, self._node, properties))
        self._log4j = self._directory / "log4j2.xml"
        self._log4j.write_text(log4j(self.log_file))

    def _jvm(self, main: str, *arguments: str | Path) -> list[str | Path]:
        options = [f"-Xmx{self._heap}", f"-Dlog4j2.configurationFile={self._log4j}"]
        options.append(f"-Djava.io.tmpdir={self._directory / 'tmp'}")
        return [self._java, *self._jvm_options, *options, "-cp", self._class_path, main, *arguments]

    def _format(self) -> None:
        """Write the cluster id into a new data directory."""
        if (self._data / "meta.properties").is_file():
            return
        # One argument: an id may begin with a dash.
        cluster = f"--cluster-id={self._node.cluster}"
        command = self._jvm("kafka.tools.StorageTool", "format", cluster, "-c", self._settings)
        process = spawn(command, self._output)
        try:
            status = process.wait(60)
        finally:
            process.kill()
        if status != 0:
            raise BrokerFailed(f"cannot format the broker's data directory:\n{last_lines(self._output)}")

    def _await_answer(self, deadline: float) -> None:
        admin = self.admin()
        while not (self._listens() and self._responds(admin)):
            if not self.running or time.monotonic() > deadline:
                state = "is not responding" if self.running else "has exited"
                logs = f"{last_lines(self._output)}\n{last_lines(self.log_file)}"
                raise BrokerFailed(f"the broker {state}. Last lines of its logs:\n{logs}")
            time.sleep(0.05)

    def _listens(self) -> bool:
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self._node.port)) == 0

    def _responds(self, admin: AdminClient) -> bool:
        try:
            return bool(admin.list_topics(timeout=2).brokers)
        except KafkaException:
            return False

    def _forget(self) -> None:
        self._process = None
        atexit.unregister(self.kill)
