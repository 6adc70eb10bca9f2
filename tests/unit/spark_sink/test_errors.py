import pytest

from spark_sink.errors import root_cause, translate

TRACE = """An error occurred while calling o1.get.
: java.util.concurrent.ExecutionException: outer
\tat a.b.C.d(C.java:1)
Caused by: org.apache.kafka.common.errors.TimeoutException: Timed out waiting for a node assignment. Call: listTopics
\tat e.f.G.h(G.java:2)
"""


def test_the_innermost_cause_is_the_gist() -> None:
    assert root_cause(TRACE) == "TimeoutException: Timed out waiting for a node assignment. Call: listTopics"


def test_without_a_cause_the_first_line_is_the_gist() -> None:
    assert (
        root_cause("An error occurred while calling o1.x.\n: java.io.IOException: no\n\tat a")
        == "java.io.IOException: no"
    )


def test_a_failure_has_what_was_done_what_it_means_and_sparks_reason() -> None:
    assert str(translate(TRACE, "reading")).startswith("reading: Kafka does not answer, ")
    assert str(translate(TRACE, "reading")).endswith(
        ": TimeoutException: Timed out waiting for a node assignment. Call: listTopics"
    )


@pytest.mark.parametrize(
    ("text", "meaning"),
    [
        ("[KAFKA_DATA_LOSS.COULD_NOT_READ_OFFSET_RANGE] x. TimeoutException", "deleted in Kafka before they were read"),
        ("java.io.IOException: Mkdirs failed to create file:/x", "no permission to write"),
        ("No space left on device", "the disk is full"),
        ('UnsupportedFileSystemException: No FileSystem for scheme "s3x"', "no file system for this kind of path"),
        ("org.apache.kafka.common.errors.SaslAuthenticationException: x", "refused the credentials"),
        ("[JAVA_GATEWAY_EXITED] Java gateway process exited before sending its port number.", "SHIPPER_CACHE"),
    ],
)
def test_sparks_text_is_put_in_plain_words(text: str, meaning: str) -> None:
    assert meaning in str(translate(text, "landing"))


LOSS = """Some data may have been lost because they are not available in Kafka any more;
If you don't want your streaming query to fail on such cases, set the source option failOnDataLoss to false.
Reason: """


def test_of_a_loss_sparks_reason_is_the_gist() -> None:
    assert root_cause(LOSS + "Partitions Set(t-1) have been deleted.\n\nx") == "Partitions Set(t-1) have been deleted."


# What Kafka's client 3.9 and Spark's source 4.0 say; the words after an option's name are ours.
@pytest.mark.parametrize(
    ("text", "meaning"),
    [
        (LOSS + "Partition t-0 offset was changed from 9 to 2.", "deleted in Kafka before they were read"),
        (LOSS + "x", "lost_offsets: continue, which records the missing offsets"),
        ("Cannot fetch offset 4: OffsetOutOfRangeException: x", "spark-sink repair --from-kafka"),
        (LOSS + "Added partition t-1 starts from 5 instead of 0.", "deleted the first records"),
        (LOSS + "Partitions Set(t-1) have been deleted.", "waits for what is named), and set lost_offsets: continue"),
        (
            "AssertionError: If startingOffsets contains specific offsets, you must specify all TopicPartitions.",
            "came or went while the job started: start it again",
        ),
        (
            "Client SASL mechanism 'SCRAM-SHA-256' not enabled in the server, enabled mechanisms are [PLAIN]",
            "look at kafka.sasl.mechanism",
        ),
        ("IllegalSaslStateException: Unexpected handshake request with client mechanism PLAIN", "wants no password"),
        (
            "SslAuthenticationException: SSL handshake failed\nCaused by: a.CertificateException: "
            "No subject alternative names matching IP address 127.0.0.1 found",
            "is for another host name",
        ),
        ("CertificateException: No name matching kafka.example found", "verification_mode: certificate"),
        (
            "SSL handshake failed\nCaused by: ValidatorException: PKIX path building failed: unable to find valid "
            "certification path to requested target",
            "under kafka.ssl.certificate_authorities",
        ),
        ("SSLException: Unsupported or unrecognized SSL message", "does not speak TLS"),
        (
            "SSL handshake failed\nCaused by: SSLHandshakeException: Received fatal alert: bad_certificate",
            "do not agree on TLS (kafka.ssl, or a client certificate",
        ),
        (
            "Failed to create new KafkaAdminClient\nCaused by: NoSuchAlgorithmException: PBES2 SecretKeyFactory not "
            "available",
            "does not open a key that is encrypted in this way",
        ),
        ("ConfigException: x\nCaused by: BadPaddingException: x", "key_passphrase does not open"),
        ("TopicAuthorizationException: Not authorized to access topics: [logs]", "may not read the topic"),
        ("GroupAuthorizationException: Not authorized to access group: people", "may not use the consumer group"),
        ("UnknownMemberIdException: Failed altering consumer group offsets", "another program consumes as this group"),
        ("UnknownTopicOrPartitionException: This server does not host", "does not have the topic"),
    ],
)
def test_what_kafka_refuses_is_reported_with_the_option_that_decides(text: str, meaning: str) -> None:
    assert meaning in str(translate(text, "landing"))


# As Spark 4.0 says what a function of foreachBatch raised. (The end-to-end test has it from Spark itself.)
BATCH = """[STREAM_FAILED] Query [id = 5, runId = 9] terminated with exception: [FOREACH_BATCH_USER_FUNCTION_ERROR] \
An error occurred in the user provided function in foreach batch sink. Reason: An exception was raised by the Python \
Proxy. Return Message: Traceback (most recent call last):
  File "a.py", line 1, in call
py4j.protocol.Py4JJavaError: An error occurred while calling o1.x.
Caused by: java.io.IOException: No space left on device

The above exception was the direct cause of the following exception:

Traceback (most recent call last):
  File "a.py", line 2, in call
spark_sink.errors.Refused: the table /data/logs was restored: say repair --from-kafka


\tat py4j.Protocol.getReturnValue(Protocol.java:476)
"""


def test_what_a_batch_refused_is_the_message() -> None:
    assert str(translate(BATCH, "landing")) == "landing: the table /data/logs was restored: say repair --from-kafka"
    assert str(translate(BATCH, "")) == "the table /data/logs was restored: say repair --from-kafka"


def test_an_unknown_text_comes_through() -> None:
    assert str(translate("Something new\nat x", "landing")) == "landing: Something new"
