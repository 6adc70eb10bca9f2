"""What an agent wrote is counted, and the time of it is that of the first and the last line."""

import os
import socket
import sys
import threading
import time
from pathlib import Path

import pytest

from bench.input_agents import running, wait_for_port
from bench.input_senders import send_counted, send_lines


def test_lines_are_counted_until_all_have_come(tmp_path: Path) -> None:
    goes_on = tmp_path / "goes on"
    os.mkfifo(goes_on)
    program = f"""
import time
print('a\\n' * 999, flush=True)
open({str(goes_on)!r}).read()
time.sleep(0.2)
print('b', flush=True)
time.sleep(60)
"""
    with running([sys.executable, "-c", program], tmp_path) as agent:
        agent.wait_until_idle(30.0, time.perf_counter(), 1000)
        goes_on.write_text("")
        agent.wait_until_idle(30.0, time.perf_counter(), 1001)
    assert agent.received.count == 1001
    assert agent.received.last - agent.received.first >= 0.2


def test_an_agent_that_ends_is_a_failure(tmp_path: Path) -> None:
    failing = [sys.executable, "-c", "raise SystemExit(3)"]
    with running(failing, tmp_path) as agent, pytest.raises(RuntimeError, match="exited with status 3"):
        agent.wait_until_idle(30.0, time.perf_counter(), 1)


def test_the_cpu_of_children_counts(tmp_path: Path) -> None:
    child = "import time\nwhile time.process_time() < 0.3: pass\nprint(flush=True)\ntime.sleep(60)"
    program = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {child!r}])"
    with running([sys.executable, "-c", program], tmp_path) as agent:
        agent.wait_until_idle(60.0, time.perf_counter(), 1)
        assert agent.cpu() > 0.25  # in whole hundredths, of which user and system time each lose a part


def test_a_port_is_waited_for(tmp_path: Path) -> None:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))  # no one else can have it, and connections are refused until it listens
        port = listener.getsockname()[1]
        later = threading.Timer(0.3, listener.listen)
        with running(["sleep", "600"], tmp_path) as agent:
            later.start()
            wait_for_port(agent, port)
            socket.create_connection(("127.0.0.1", port)).close()
        later.join()


@pytest.mark.parametrize(("send", "ends"), [(send_lines, b"x\n"), (send_counted, b"x")])
def test_as_much_is_sent_as_is_counted(send: object, ends: bytes) -> None:
    assert callable(send)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        sender = threading.Thread(target=send, args=(listener.getsockname()[1], 1000, 3))
        sender.start()
        received = []
        for _ in range(3):
            connection, _ = listener.accept()
            with connection, connection.makefile("rb") as stream:
                received.append(stream.read())
        sender.join()
    sent = b"".join(received)
    assert len(sent) == 1000 * 200
    assert sent.endswith(ends)
