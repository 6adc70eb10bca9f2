from log_shipper.spark_sink.kafka.offsets import describe_partitions, flat, lag


def test_a_configurations_offsets_are_by_partition() -> None:
    assert flat({"a": {0: 1, 1: 2}, "b": {}}) == {("a", 0): 1, ("a", 1): 2}


def test_the_lag_of_a_partition_that_was_never_read_is_all_of_it() -> None:
    assert lag({("a", 0): 4}, {("a", 0): 10, ("a", 1): 10}) == {("a", 0): 6, ("a", 1): 10}


def test_a_partition_that_is_shorter_than_what_landed_of_it_has_no_lag() -> None:
    assert lag({("a", 0): 40}, {("a", 0): 10}) == {("a", 0): 0}


def test_many_partitions_are_reported_by_the_first_and_their_number() -> None:
    assert describe_partitions([("b", 1), ("a", 10), ("a", 9)]) == "a/9, a/10, b/1"
    assert describe_partitions([("a", number) for number in range(7)]) == "a/0, a/1, a/2, a/3, a/4 and 2 more"
