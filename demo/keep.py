"""The option `--keep`: it leaves the programs running, and a script that stops them."""

from collections.abc import Sequence
from pathlib import Path

STOP = """\
#!/bin/sh
# Stops what script/demo --keep left running, in order, and removes the folder.
for process in {processes}; do
    # The process id may have been reused: only a program of this folder is ended.
    grep -q "{folder}" "/proc/$process/cmdline" 2>/dev/null || continue
    kill -TERM "$process"
    for _ in $(seq 200); do
        [ -d "/proc/$process" ] || break
        sleep 0.1
    done
    kill -KILL "$process" 2>/dev/null
done
rm -rf "{folder}"
"""

HOW = """\
Everything is left running in {folder}. To look at it:

  tail -f {folder}/app/app.log
  {python} -m shipper registry list -c {folder}/shipper.yml --path.data {folder}/shipper
  {python} -m shipper test output -c {folder}/shipper.yml
  {python} -m demo.ask {folder}                    # Spark SQL on the table: rows and an aggregate
  {python} -m demo.ask {folder} "SELECT max(ts) FROM lines"
  tail -f {folder}/shipper.out {folder}/sink.out    # the logs of the two

Kafka is at {bootstrap}, topic {topic}. To stop all of it and remove the folder:

  sh {folder}/stop"""


def write_stop(folder: Path, processes: Sequence[int]) -> Path:
    script = folder / "stop"
    script.write_text(STOP.format(folder=folder, processes=" ".join(map(str, processes))))
    return script
