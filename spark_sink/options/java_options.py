"""`kafka.options`: deprecated settings of Java's client and of Spark's Kafka source, which the sink used before.

A setting that librdkafka also has is mapped to it. All others are refused, each with its replacement.
"""

from collections.abc import Iterator, Mapping

from log_shipper.config.text.checks import Finding

Raw = dict[str, str | int | float | bool]

# Java's client -> librdkafka, with the same unit and meaning.
SAME = {
    **dict.fromkeys(
        (
            "check.crcs",
            "client.dns.lookup",
            "client.rack",
            "connections.max.idle.ms",
            "fetch.max.bytes",
            "fetch.min.bytes",
            "isolation.level",
            "reconnect.backoff.max.ms",
            "reconnect.backoff.ms",
            "retry.backoff.max.ms",
            "retry.backoff.ms",
            "sasl.kerberos.service.name",
            "security.protocol",
            "socket.connection.setup.timeout.ms",
        )
    ),
    "fetch.max.wait.ms": "fetch.wait.max.ms",
    "max.partition.fetch.bytes": "fetch.message.max.bytes",
    "receive.buffer.bytes": "socket.receive.buffer.bytes",
    "request.timeout.ms": "socket.timeout.ms",
    "send.buffer.bytes": "socket.send.buffer.bytes",
}
_TOPICS = "is set by kafka.topics, topics_pattern or partitions"
_CUT = "remove it: the sink divides a micro-batch among the available cores"
_READS = "remove it: the sink itself retries for as long as a task may run"
_GROUP = "set kafka.group_id instead; the sink joins no group"
_TRUST = "set kafka.ssl.certificate_authorities to the authorities in PEM (keytool -exportcert -rfc writes them)"
_PAIR = (
    "set kafka.ssl.certificate and kafka.ssl.key to the client's certificate and key in PEM "
    "(openssl pkcs12 -in STORE.p12 writes them)"
)
_USER = "set kafka.username, kafka.password and kafka.sasl.mechanism, or kafka.sasl.oauthbearer, or kafka.kerberos"

# Options of Spark's source, in lower case, because it ignores case -> what to do.
OF_SPARK = {
    **dict.fromkeys(("subscribe", "subscribepattern", "assign"), _TOPICS),
    **dict.fromkeys(("startingoffsets", "startingoffsetsbytimestamp", "startingtimestamp"), "is set by start"),
    **dict.fromkeys(("startingoffsetsbytimestampstrategy",), "is set by start"),
    **dict.fromkeys(("endingoffsets", "endingoffsetsbytimestamp", "endingtimestamp"), "is set by stop"),
    "includeheaders": "is set by the sink, which reads headers",
    "failondataloss": "set lost_offsets instead: fail or continue",
    "maxoffsetspertrigger": "set max_offsets_per_trigger instead",
    "minoffsetspertrigger": "set min_offsets_per_trigger instead",
    "maxtriggerdelay": "set max_trigger_delay instead",
    **dict.fromkeys(("minpartitions", "maxrecordsperpartition"), _CUT),
    **dict.fromkeys(("groupidprefix", "kafka.group.id"), _GROUP),
    **dict.fromkeys(("kafkaconsumer.polltimeoutms", "fetchoffset.numretries", "fetchoffset.retryintervalms"), _READS),
}
# Prefixes of settings of Java's client -> what to do; the longest counts.
OF_JAVA = {
    "bootstrap.servers": "set kafka.hosts instead",
    "client.id": "set kafka.client_id instead",
    "metadata.max.age.ms": "set kafka.metadata_max_age instead",
    "max.poll.": "remove it: max_offsets_per_trigger limits a micro-batch",
    **dict.fromkeys(
        ("enable.auto.commit", "auto.commit.", "auto.offset.reset"), "remove it: the checkpoint has the offsets"
    ),
    **dict.fromkeys(("session.timeout.ms", "heartbeat.interval.ms", "group.", "partition.assignment."), _GROUP),
    **dict.fromkeys(("key.deserializer", "value.deserializer"), "remove it: the sink reads raw bytes"),
    "default.api.timeout.ms": _READS,
    "ssl.truststore.": _TRUST,
    "ssl.keystore.": _PAIR,
    "ssl.key.password": "set kafka.ssl.key_passphrase instead",
    "ssl.endpoint.identification.algorithm": "set kafka.ssl.verification_mode instead: full or certificate",
    "ssl.cipher.suites": "set kafka.ssl.cipher_suites instead",
    **dict.fromkeys(("ssl.protocol", "ssl.enabled.protocols"), "set kafka.ssl.supported_protocols instead"),
    "ssl.": "set the options of kafka.ssl instead",
    "sasl.": _USER,
}
_ELSE = "is unknown; put settings of librdkafka under kafka.librdkafka"


def findings(options: Raw) -> Iterator[Finding]:
    """Check that each setting can be mapped to librdkafka."""
    for name in options:
        if librdkafka_name(name) is None:
            yield name, _way_out(name)


def taken_over(options: Mapping[str, str | int | float | bool]) -> Raw:
    """Return the mapped settings by librdkafka's names."""
    named = ((librdkafka_name(name), value) for name, value in options.items())
    return {name: value for name, value in named if name is not None}


def librdkafka_name(name: str) -> str | None:
    """Return librdkafka's name of a setting of Java's client; None without an equivalent."""
    setting = name.removeprefix("kafka.")
    if setting == name or setting not in SAME:
        return None
    return SAME[setting] or setting


def _way_out(name: str) -> str:
    if (spark := OF_SPARK.get(name.lower())) is not None:
        return spark
    setting = name.removeprefix("kafka.")
    beginnings = [beginning for beginning in OF_JAVA if setting != name and setting.startswith(beginning)]
    return OF_JAVA[max(beginnings, key=len)] if beginnings else _ELSE
