import io

from demo.screen import Screen, table
from tests.fakes import Terminal


def test_numbers_stand_to_the_right_and_texts_to_the_left() -> None:
    assert table(("file", "lines"), [("a", 5), ("app.log", 12345)]) == [
        "file      lines",
        "-------  ------",
        "a             5",
        "app.log  12,345",
    ]


def test_a_long_text_is_cut_and_nothing_is_shown_for_none() -> None:
    assert table(("a", "b"), [("x" * 30, None)], width=5) == ["a      b", "-----  -", "xxxx…"]


def test_a_table_without_rows_is_its_head() -> None:
    assert table(("a", "b"), []) == ["a  b", "-  -"]


def test_progress_goes_over_itself_at_a_terminal_and_is_ended_before_anything_else() -> None:
    terminal = Terminal()
    screen = Screen(terminal)
    screen.progress("1")
    screen.progress("2")
    screen.write("done")
    assert terminal.getvalue() == "\r\x1b[K1\r\x1b[K2\ndone\n"


def test_progress_elsewhere_is_a_line_now_and_then() -> None:
    out = io.StringIO()
    screen = Screen(out)
    for number in range(100):
        screen.progress(str(number))
    assert out.getvalue() == "0\n"
