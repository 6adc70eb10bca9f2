import pytest

from log_shipper.shipper.formats.text import cut_text


@pytest.mark.parametrize(
    ("text", "max_bytes", "cut"),
    [("abc", 3, "abc"), ("abcd", 3, "abc"), ("aöö", 3, "aö"), ("aöö", 4, "aö"), ("€", 2, ""), ("a\U0001f600", 4, "a")],
)
def test_a_text_is_cut_at_a_characters_boundary(text: str, max_bytes: int, cut: str) -> None:
    assert cut_text(text, max_bytes) == cut
