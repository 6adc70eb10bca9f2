import pytest

from spark_sink.errors import gist, translate

TRACE = """An error occurred while calling o1.get.
: java.util.concurrent.ExecutionException: outer
\tat a.b.C.d(C.java:1)
Caused by: org.apache.kafka.common.errors.TimeoutException: Timed out waiting for a node assignment. Call: listTopics
\tat e.f.G.h(G.java:2)
"""


def test_the_innermost_cause_is_the_gist() -> None:
    assert gist(TRACE) == "TimeoutException: Timed out waiting for a node assignment. Call: listTopics"


def test_without_a_cause_the_first_line_is_the_gist() -> None:
    assert gist("An error occurred while calling o1.x.\n: java.io.IOException: no\n\tat a") == "java.io.IOException: no"


def test_a_failure_says_what_was_done_what_it_means_and_what_spark_said() -> None:
    assert str(translate(TRACE, "reading")).startswith("reading: Kafka does not answer: TimeoutException: Timed out")


@pytest.mark.parametrize(
    ("text", "meaning"),
    [
        ("[KAFKA_DATA_LOSS.COULD_NOT_READ_OFFSET_RANGE] x. TimeoutException", "deleted in Kafka before they were read"),
        ("java.io.IOException: Mkdirs failed to create file:/x", "no permission to write"),
        ("No space left on device", "the disk is full"),
        ('UnsupportedFileSystemException: No FileSystem for scheme "s3x"', "no file system for this kind of path"),
        ("org.apache.kafka.common.errors.SaslAuthenticationException: x", "refused the credentials"),
    ],
)
def test_sparks_text_is_put_in_plain_words(text: str, meaning: str) -> None:
    assert meaning in str(translate(text, "landing"))


def test_a_text_that_nobody_knows_comes_through() -> None:
    assert str(translate("Something new\nat x", "landing")) == "landing: Something new"
