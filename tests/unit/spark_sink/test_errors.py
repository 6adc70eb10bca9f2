import pytest

from log_shipper.spark_sink.errors import SinkError, root_cause, translate

TRACE = """An error occurred while calling o1.get.
: java.util.concurrent.ExecutionException: outer
\tat a.b.C.d(C.java:1)
Caused by: org.apache.hadoop.security.AccessControlException: Permission denied: user=sink, path="/data"
\tat e.f.G.h(G.java:2)
"""


def test_the_innermost_cause_is_the_gist() -> None:
    assert root_cause(TRACE) == 'AccessControlException: Permission denied: user=sink, path="/data"'


def test_without_a_cause_the_first_line_is_the_gist() -> None:
    assert (
        root_cause("An error occurred while calling o1.x.\n: java.io.IOException: no\n\tat a")
        == "java.io.IOException: no"
    )


def test_a_failure_has_what_was_done_what_it_means_and_sparks_reason() -> None:
    assert str(translate(TRACE, "writing to /data")) == (
        'writing to /data: no permission to write: AccessControlException: Permission denied: user=sink, path="/data"'
    )


@pytest.mark.parametrize(
    ("text", "meaning"),
    [
        ("java.io.IOException: Mkdirs failed to create file:/x", "no permission to write"),
        ("No space left on device", "the disk is full"),
        ('UnsupportedFileSystemException: No FileSystem for scheme "s3x"', "no file system for this kind of path"),
        ("[JAVA_GATEWAY_EXITED] Java gateway process exited before sending its port number.", "spark.jars.packages"),
        (
            "Caused by: java.lang.NoSuchMethodError: 'void a.b.C.<init>(int)'",
            "a jar was built for another Spark version",
        ),
        (
            "org.apache.spark.SparkException: Python worker exited unexpectedly (crashed)",
            "lower max_offsets_per_trigger",
        ),
    ],
)
def test_sparks_text_is_put_in_plain_words(text: str, meaning: str) -> None:
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
log_shipper.spark_sink.errors.Refused: the table /data/logs was restored: say repair --from-kafka


\tat py4j.Protocol.getReturnValue(Protocol.java:476)
"""


def test_what_a_batch_refused_is_the_message() -> None:
    assert str(translate(BATCH, "landing")) == "landing: the table /data/logs was restored: say repair --from-kafka"
    assert str(translate(BATCH, "")) == "the table /data/logs was restored: say repair --from-kafka"


def test_an_unknown_text_comes_through() -> None:
    assert str(translate("Something new\nat x", "landing")) == "landing: Something new"


def test_an_error_of_deltalake_is_in_one_line() -> None:
    quoted = (
        "Generic error\n \x1b[31m↳\x1b[0m Error performing PUT\n  \x1b[31m↳\x1b[0m <Error>\n<Code>x</Code></Error>\n"
    )
    assert str(SinkError(f"cannot write: {quoted}. Look at it")) == (
        "cannot write: Generic error: Error performing PUT: <Error> <Code>x</Code></Error>. Look at it"
    )
    assert str(SinkError("a\n\nb ")) == "a\n\nb "
