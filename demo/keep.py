"""The option `--keep`: leaves the programs running, and scripts to query the table and to stop the programs."""

import sys
from collections.abc import Sequence
from pathlib import Path

from demo.shop import FAILS
from demo.site import Site

PROJECT = Path(__file__).parents[1]

STOP = """\
#!/bin/sh
# Stops the programs of script/demo --keep, in order, and removes the folder.
for process in {processes}; do
    # The process id may have been reused: stop only programs of this folder.
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
Everything keeps running in {folder}, and a program logs 20 lines per second. To inspect it, from any directory:

  http://127.0.0.1:{shipper_page}/    the agent's page
  http://127.0.0.1:{sink_page}/    the sink's page
  http://127.0.0.1:{search_page}/    the search page: why did order A-{fails} fail?

  {bin}/shipper top -c {folder}/shipper.yml
  {bin}/shipper tap -c {folder}/shipper.yml
  {bin}/shipper registry list -c {folder}/shipper.yml
  {bin}/spark-sink status -c {folder}/sink.yml
  {bin}/spark-sink search -c {folder}/sink.yml ERROR --since 5m
  sh {folder}/ask "SELECT max(ts) FROM lines"    # SQL on the table; default: sample rows and an aggregate
  tail -f {folder}/shipper.out {folder}/sink.out    # the logs of both

Kafka listens at {bootstrap}. To stop everything and remove the folder:

  sh {folder}/stop"""


def how_to_look(site: Site, bootstrap: str) -> str:
    """Return the addresses and commands to inspect the running programs."""
    pages = {"shipper_page": site.shipper_page, "sink_page": site.sink_page}
    pages |= {"search_page": site.search_page, "fails": FAILS}
    return HOW.format(bin=Path(sys.executable).parent, folder=site.folder, bootstrap=bootstrap, **pages)


def write_scripts(folder: Path, processes: Sequence[int]) -> None:
    """Write the scripts `ask` and `stop`."""
    (folder / "ask").write_text(ASK.format(project=PROJECT, python=sys.executable, folder=folder))
    (folder / "stop").write_text(STOP.format(folder=folder, processes=" ".join(map(str, processes))))
