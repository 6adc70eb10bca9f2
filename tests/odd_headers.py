"""A record with a header that the Python client does not write: its name is any bytes."""

import ctypes
from pathlib import Path

import confluent_kafka

# Of rd_kafka_vtype_t in librdkafka's rdkafka.h.
END, TOPIC, VALUE, FLAGS, HEADERS = 0, 1, 4, 7, 10
PRODUCER, COPY = 0, 2


def produce(bootstrap: str, topic: str, value: bytes, header: tuple[bytes, bytes]) -> None:
    """Write a record with one header, by the library that the Python client has loaded."""
    library, pointer, size = _library(), ctypes.c_void_p, ctypes.c_size_t
    for name in ("rd_kafka_conf_new", "rd_kafka_new", "rd_kafka_headers_new"):
        getattr(library, name).restype = pointer
    config, words = pointer(library.rd_kafka_conf_new()), ctypes.create_string_buffer(512)
    assert library.rd_kafka_conf_set(config, b"bootstrap.servers", bootstrap.encode(), words, size(512)) == 0
    client = pointer(library.rd_kafka_new(PRODUCER, config, words, size(512)))
    headers, (name_bytes, content) = pointer(library.rd_kafka_headers_new(size(1))), header
    lengths = ctypes.c_ssize_t(len(name_bytes)), ctypes.c_ssize_t(len(content))
    assert library.rd_kafka_header_add(headers, name_bytes, lengths[0], content, lengths[1]) == 0
    what = (TOPIC, topic.encode(), FLAGS, COPY, VALUE, value, size(len(value)), HEADERS, headers, END)
    assert library.rd_kafka_producev(client, *what) == 0
    assert library.rd_kafka_flush(client, 30_000) == 0
    library.rd_kafka_destroy(client)


def _library() -> ctypes.CDLL:
    assert confluent_kafka.libversion(), "it is loaded"
    paths = {line.split()[-1] for line in Path("/proc/self/maps").read_text().splitlines() if "librdkafka" in line}
    return ctypes.CDLL(paths.pop())
