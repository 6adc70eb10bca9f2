"""Text from outside (lines of logs): cut to a size, made valid Unicode."""


def cut_text(text: str, max_bytes: int) -> str:
    """Return the longest prefix of at most `max_bytes` bytes of UTF-8; `text` itself where it fits."""
    if len(text) * 4 <= max_bytes:
        return text
    raw = text.encode()
    return text if len(raw) <= max_bytes else raw[:max_bytes].decode("utf-8", "ignore")


def without_surrogates(text: str) -> str:
    """Return the text with `?` for each surrogate, for which UTF-8 has no bytes."""
    return text.encode("utf-8", "replace").decode()
