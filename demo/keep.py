"""The option `--keep`: it leaves the programs running, and scripts that query the table and stop the programs."""

import sys
from collections.abc import Sequence
from pathlib import Path

from demo.shop import FAILS
from demo.site import Site

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

ASK = """\
#!/bin/sh
# Queries the table:  sh {folder}/ask ["SELECT ... FROM lines"]
PYTHONPATH="{project}" exec "{python}" -m demo.ask "{folder}" "$@"
"""

HOW = """\
Everything is left running in {folder}, and a program logs 20 lines a second. To look at it, from any directory:

  http://127.0.0.1:{shipper_page}/    the agent's page
  http://127.0.0.1:{sink_page}/    the sink's page
  http://127.0.0.1:{search_page}/    the page to search the lines: why did order A-{fails} fail?

  {bin}/shipper top -c {folder}/shipper.yml
  {bin}/shipper tap -c {folder}/shipper.yml
  {bin}/shipper registry list -c {folder}/shipper.yml
  {bin}/spark-sink status -c {folder}/sink.yml
  {bin}/spark-sink search -c {folder}/sink.yml ERROR --since 5m
  sh {folder}/ask "SELECT max(ts) FROM lines"    # SQL on the table; without a query, some rows and an aggregate
  tail -f {folder}/shipper.out {folder}/sink.out    # the logs of the two

Kafka is at {bootstrap}. To stop all of it and remove the folder:

  sh {folder}/stop"""


def how_to_look(site: Site, bootstrap: str) -> str:
    """Return the addresses and commands that show what was left running."""
    pages = {"shipper_page": site.shipper_page, "sink_page": site.sink_page}
    pages |= {"search_page": site.search_page, "fails": FAILS}
    return HOW.format(bin=Path(sys.executable).parent, folder=site.folder, bootstrap=bootstrap, **pages)


def write_scripts(folder: Path, processes: Sequence[int]) -> None:
    """Write the two scripts of the folder: `ask` and `stop`."""
    (folder / "ask").write_text(ASK.format(project=PROJECT, python=sys.executable, folder=folder))
    (folder / "stop").write_text(STOP.format(folder=folder, processes=" ".join(map(str, processes))))
