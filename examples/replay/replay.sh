#!/bin/sh
# Sends all logs below a directory once, and ends with 0 only if every line was delivered.
#   replay.sh DIRECTORY          to the topic KAFKA_TOPIC at KAFKA_HOSTS
#   replay.sh DIRECTORY FILE     to a file, one JSON object a line
set -eu
[ $# -ge 1 ] || { echo "usage: $0 DIRECTORY [FILE]" >&2; exit 2; }
here=$(cd "$(dirname "$0")" && pwd)
LOGS=$(cd "$1" && pwd)
export LOGS
# Positions of its own: what the host's agent, or an earlier replay, has read does not count.
data=${DATA:-$(mktemp -d)}

if [ $# -ge 2 ]; then
    mkdir -p "$(dirname "$2")"
    directory=$(cd "$(dirname "$2")" && pwd)
    set -- -E output.kafka.enabled=false -E "output.file.path=$directory" -E "output.file.filename=$(basename "$2")"
else
    set --
fi
code=0
shipper run --once --once-timeout "${TIMEOUT:-10m}" -c "$here/shipper.yml" --path.data "$data" "$@" || code=$?
case $code in
0)
    echo "replayed: $LOGS"
    [ -n "${DATA:-}" ] || rm -rf "$data"
    ;;
3)
    echo "replayed: $LOGS, but for these events, which were refused (DATA=$data):" >&2
    shipper dead-letter list -c "$here/shipper.yml" --path.data "$data" "$@" >&2
    ;;
*) echo "not finished: $LOGS. To continue: DATA=$data $0 ..." >&2 ;;
esac
exit $code
