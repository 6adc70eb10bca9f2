"""Documents as /status has them: of a shipper in an incident, and of a sink that lands with a view down."""

import math
from typing import Any

Json = dict[str, Any]

NOW = 1795563862.4
STARTED = NOW - 3 * 86_400 - 4 * 3600
HOSTILE = '<img src=x onerror="window.hacked=1"><script>window.hacked=1</script>&amp;\'"`${1}\u202etxt.exe'
POINTS = 300
STEP = 2.0
CONFIGURATION = """\
shipper.inputs:
- id: app
  type: filestream
  paths:
  - /var/log/app/*.log
- id: nginx
  type: filestream
  paths:
  - /var/log/nginx/access.log
output.kafka:
  hosts:
  - kafka-1.prod.example:9093
  - kafka-2.prod.example:9093
  topic: logs-%{[fields.team]:other}
  username: shipper
  password: xxxxx
  ssl.enabled: true
http.enabled: true
"""


def figure(name: str, label: str, value: float | None, unit: str, rate: float | None = None) -> Json:
    values = {"id": name, "label": label, "value": value, "unit": unit}
    return values if rate is None else {**values, "rate": rate}


def chart(name: str, title: str, unit: str, **series: list[float | None]) -> Json:
    named = [{"id": label, "label": label, "values": values} for label, values in series.items()]
    return {"id": name, "title": title, "unit": unit, "step_seconds": STEP, "until": NOW, "series": named}


def table(name: str, title: str, empty: str, columns: str, *rows: list[Any]) -> Json:
    """`columns`: "path File text, behind Behind bytes": id, label and kind."""
    split = [column.split() for column in columns.split(",")]
    named = [{"id": first, "label": " ".join(label), "kind": kind} for first, *label, kind in split]
    return {"id": name, "title": title, "empty": empty, "columns": named, "rows": list(rows)}


def shipper_incident() -> Json:
    """Return a shipper whose broker is down for four minutes, with a refused topic and a truncated file."""
    outage = 120  # points
    read: list[float | None] = [
        None if index < 2 else max(0.0, 4200 + 900 * math.sin(index / 17) + 260 * math.sin(index * 1.7))
        for index in range(POINTS)
    ]
    for index in range(POINTS - outage + 18, POINTS):
        read[index] = 0.0
    acked = [None if value is None else round(value * 0.985, 1) for value in read]
    for index in range(POINTS - outage, POINTS):
        acked[index] = 0.0
    acked[100] = acked[101] = read[100] = read[101] = None
    lag = [2000.0 + 900 * math.sin(index / 9) for index in range(POINTS)]
    for index in range(POINTS - outage, POINTS):
        lag[index] = 2000 + 410_000.0 * (index - POINTS + outage) ** 1.05
    return {
        "program": "shipper",
        "version": "0.3.0",
        "name": "web-1",
        "host": "web-1.prod.example",
        "started": STARTED,
        "now": NOW,
        "health": {
            "state": "failing",
            "text": "Kafka does not answer since 23:40:22: kafka-1.prod.example:9093: Connection refused. 12,600 "
            "events wait in the queue, which is full, so nothing more is read. Nothing is lost while the files are "
            "there: look at the broker.",
            "warnings": 2,
            "since": NOW - 240.4,
        },
        "figures": [
            figure("events_read", "Events read", 1_284_662_311, "events", 0.0),
            figure("events_acknowledged", "Acknowledged", 1_284_649_700, "events", 0.0),
            figure("bytes_read", "Bytes read", 287_641_993_012, "bytes", 0.0),
            figure("lag_bytes", "Behind", 62_914_560, "bytes"),
            figure("oldest_unacknowledged_seconds", "Oldest unacknowledged", 240.4, "seconds"),
            figure("queue_events", "In the queue", 12_600, "events"),
            figure("batches_in_flight", "Batches in flight", 31, "batches"),
            figure("events_dead_lettered", "Dead letters", 17, "events", 0.0),
            figure("bytes_lost", "Bytes lost", 4096, "bytes"),
            figure("files_open", "Files open", 42, "files"),
            figure("output_errors", "Output errors", 1933, "", 8.1),
            figure("data_free_bytes", "Free in path.data", None, "bytes"),
        ],
        "charts": [
            chart("events", "Events per second", "events/s", read=read, acknowledged=acked),
            chart("lag", "Bytes behind", "bytes", behind=[*lag]),
        ],
        "tables": [
            table(
                "files",
                "Files furthest behind",
                "No file is behind.",
                "path File text,behind Behind bytes,age Oldest seconds,input Input text",
                ["/var/log/app/orders.log", 41_231_288, 240.4, "app"],
                ["/var/log/nginx/access.log", 18_004_211, 239.8, "nginx"],
                [
                    "/var/log/pods/prod_checkout-7d9f6c5b8-x2x4q_0f3c2b1a-9a41-4e3c/checkout/0.log",
                    3_600_111,
                    31.0,
                    "pods",
                ],
                [f"/srv/upload/{HOSTILE}", 78_950, 0.42, "app"],
                ["/var/log/app/audit.log", 512, 0.0123, "app"],
            ),
            table(
                "errors",
                "Last warnings and errors",
                "The log has no warning and no error.",
                "time Last time time,level Level text,message Message text,count Times number",
                [NOW - 2.2, "error", "Kafka: kafka-1.prod.example:9093: Connection refused; tried again in 10 s", 24],
                [NOW - 71.0, "warning", "the topic logs-pay is refused (TOPIC_AUTHORIZATION_FAILED): 3 files wait", 2],
                [
                    NOW - 240.9,
                    "warning",
                    "/var/log/app/orders.log was truncated by 4,096 bytes before they were read",
                    1,
                ],
                [NOW - 90_000, "warning", f"a name of a file: {HOSTILE}", 1],
            ),
            table(
                "dead_letters",
                "Dead letters",
                "No event was refused.",
                "reason Reason text,count Events number,last Last time,path Example text,offset Offset number",
                ["MSG_SIZE_TOO_LARGE", 14, NOW - 3900, "/var/log/app/orders.log", 880_123_412],
                ["no topic: fields.team is missing", 3, NOW - 86_000, "/var/log/app/audit.log", 7712],
            ),
            table(
                "inputs",
                "Inputs",
                "There is no input.",
                "id Input text,type Type text,events Events number,rate Events/s number,behind Behind bytes,"
                "open Open number",
                ["app", "filestream", 1_184_662_311, 0.0, 41_310_750, 17],
                ["nginx", "filestream", 99_000_000, 0.0, 18_004_211, 1],
                ["pods", "container", 1_000_000, 0.0, 3_600_111, 24],
            ),
            table(
                "topics",
                "Blocked topics",
                "No topic is blocked.",
                "topic Topic text,files Files number,since Waits for seconds",
                ["logs-pay", 3, 71.0],
            ),
        ],
        "configuration": CONFIGURATION,
    }


def quiet_shipper() -> Json:
    """Return the same shipper on another day."""
    calm = shipper_incident()
    read: list[float | None] = [4200 + 900 * math.sin(index / 17) for index in range(POINTS)]
    acknowledged: list[float | None] = [round((value or 0) * 0.999, 1) for value in read]
    lag: list[float | None] = [2000.0 + 900 * math.sin(index / 9) for index in range(POINTS)]
    calm["health"] = {**calm["health"], "state": "ok", "warnings": 0, "text": "Kafka accepts records."}
    calm["charts"] = [
        chart("events", "Events per second", "events/s", read=read, acknowledged=acknowledged),
        chart("lag", "Bytes behind", "bytes", behind=lag),
    ]
    for one in calm["tables"]:
        one["rows"] = [] if one["id"] in ("dead_letters", "topics", "errors") else one["rows"]
    return calm
