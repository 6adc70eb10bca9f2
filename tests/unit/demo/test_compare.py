from collections import Counter

from demo.compare import Arrived, Compared, lines_arrived, lines_on_disk

FILE = (1, 7)
OTHER = (1, 8)


def arrived(offset: int, text: str, file: tuple[int, int] = FILE) -> Arrived:
    return Arrived(file, offset, len(text.encode()) + 1, text)


def compared(in_kafka: str, in_delta: str, on_disk: str = "a b") -> Compared:
    return Compared("app.log", Counter(on_disk.split()), Counter(in_kafka.split()), Counter(in_delta.split()))


def test_empty_lines_and_line_ends_of_windows_do_not_count() -> None:
    assert lines_on_disk(b"one\r\n\n\r\ntwo\n") == Counter({"one": 1, "two": 1})


def test_bytes_that_are_not_utf_8_count_as_they_are_shipped() -> None:
    assert lines_on_disk(b"caf\xe9\n") == Counter({"caf\ufffd": 1})


def test_a_message_of_several_lines_counts_as_its_lines() -> None:
    arrived_lines = lines_arrived([arrived(0, "Error\n\tat a\n\n\tat b")], {FILE: 100})
    assert arrived_lines[FILE] == Counter({"Error": 1, "\tat a": 1, "\tat b": 1})


def test_the_lines_behind_the_size_do_not_count() -> None:
    messages = [arrived(0, "one"), arrived(4, "two\nthree"), arrived(14, "four")]
    assert lines_arrived(messages, {FILE: 8})[FILE] == Counter({"one": 1, "two": 1})


def test_files_are_kept_apart_and_a_file_of_which_nothing_came_has_no_lines() -> None:
    arrived_lines = lines_arrived([arrived(0, "one")], {FILE: 10, OTHER: 10})
    assert arrived_lines == {FILE: Counter({"one": 1}), OTHER: Counter()}


def test_messages_of_a_file_that_is_not_compared_are_left_out() -> None:
    assert lines_arrived([arrived(0, "one", OTHER)], {FILE: 10}) == {FILE: Counter()}


def test_equal_is_each_line_as_often_as_on_disk() -> None:
    assert compared("a b", "b a").equal
    assert not compared("a b", "a b b").equal
    assert not compared("a b", "a").equal
    assert not compared("a", "a").equal


def test_a_line_in_place_of_another_is_a_difference_although_the_counts_agree() -> None:
    arrived_lines = compared("a b", "a c")
    assert not arrived_lines.equal
    assert arrived_lines.differences() == [
        "app.log: 1 lines missing in Delta, for example 'b'",
        "app.log: 1 lines too many in Delta, for example 'c'",
    ]


def test_what_is_equal_has_no_differences() -> None:
    assert compared("b a", "a b").differences() == []
