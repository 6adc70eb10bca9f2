import subprocess
import sys

from log_shipper.spark_sink.monitor.processes import usage

CHILD = "import sys; data = bytearray(64 << 20); sum(range(3_000_000)); print(flush=True); sys.stdin.read()"


def test_a_child_counts_and_what_it_has_used_stays_when_it_has_ended() -> None:
    before = usage()
    child = subprocess.Popen([sys.executable, "-c", CHILD], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    with child:
        assert child.stdin is not None
        assert child.stdout is not None
        child.stdout.readline()
        own, during = usage(child.pid), usage()
        child.stdin.close()
    assert own.memory >= 64 << 20
    assert own.cpu_seconds > 0
    assert during.memory >= before.memory // 2 + own.memory
    rose = usage().cpu_seconds - before.cpu_seconds
    assert round(rose, 2) >= own.cpu_seconds, "in hundredths of a second, as proc(5) has it"


def test_a_process_that_has_ended_uses_nothing() -> None:
    child = subprocess.Popen([sys.executable, "-c", ""])
    child.wait()
    assert usage(child.pid) == type(usage())(0.0, 0)
