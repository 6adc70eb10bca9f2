"""The option `--keep`: it leaves the programs running, and a script that stops them."""

from collections.abc import Sequence
from pathlib import Path

PROJECT = Path(__file__).parents[1]

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

  cd {project}
  tail -f {folder}/app/app.log
  .venv/bin/shipper registry list -c {folder}/shipper.yml --path.data {folder}/shipper
  .venv/bin/shipper test output -c {folder}/shipper.yml
  .venv/bin/python -m demo.ask {folder}    # SQL on the table: rows and an aggregate
  .venv/bin/python -m demo.ask {folder} "SELECT max(ts) FROM lines"
  tail -f {folder}/shipper.out {folder}/sink.out    # the logs of the two

Kafka is at {bootstrap}, topic {topic}. To stop all of it and remove the folder:

  sh {folder}/stop"""


def how_to_look(folder: Path, bootstrap: str, topic: str) -> str:
    """Return the commands that show what was left running in the folder; they work in any directory."""
    return HOW.format(project=PROJECT, folder=folder, bootstrap=bootstrap, topic=topic)


def write_stop(folder: Path, processes: Sequence[int]) -> Path:
    script = folder / "stop"
    script.write_text(STOP.format(folder=folder, processes=" ".join(map(str, processes))))
    return script
