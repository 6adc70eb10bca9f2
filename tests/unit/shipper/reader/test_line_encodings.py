"""One file for each encoding and terminator; the model test has their combinations."""

import codecs
import gzip
import itertools
import os
from pathlib import Path

import pytest

from log_shipper.config.text.encodings import LineTerminator
from log_shipper.shipper.event import TRUNCATED, Messages
from log_shipper.shipper.reader import line
from log_shipper.shipper.reader.gzip_file import GzipFile
from log_shipper.shipper.reader.limit import limit
from log_shipper.shipper.reader.log_file import LogFile
from log_shipper.shipper.reader.stream import Stream
from tests.short_reads import LogOnDisk

Row = tuple[str, int, int]


def rows(runs: list[Messages]) -> list[Row]:
    return [row for run in runs for row in zip(run.texts, run.offsets, run.lengths, strict=True)]


def read(
    file: LogFile | GzipFile | Stream, encoding: str, terminator: LineTerminator = "auto", max_bytes: int = 1000
) -> list[Row]:
    return rows(list(iter(line.build(encoding, terminator, file, max_bytes).next, None)))


@pytest.mark.parametrize(
    ("encoding", "raw", "text"),
    [
        ("plain", "zwölf €".encode(), "zwölf €"),
        ("utf-8", b"a\xffb", "a\ufffdb"),
        ("utf-8-bom", b"a\xc3", "a\ufffd"),
        ("utf-16le", "zwölf \U0001f600".encode("utf-16-le"), "zwölf \U0001f600"),
        ("utf-16be", "日本".encode("utf-16-be"), "日本"),
        ("utf-16le", b"a\0\x00\xd8b\0", "a\ufffdb"),
        ("utf-16le", b"a\0\x00\xdcb\0", "a\ufffdb"),
        ("utf-16be", b"\xd8\x00", "\ufffd"),
        ("iso8859-1", b"\xe4\x80", "ä\x80"),
        ("latin1", b"\xe4\x80", "ä€"),
        ("iso-8859-9", b"\xdd", "İ"),
        ("iso8859-6e", b"\xc7\xa1", "\u0627\ufffd"),
        ("iso8859-8i", b"\xf9", "ש"),
        ("windows-1251", "журнал".encode("cp1251"), "журнал"),
        ("windows1255", b"\xca", "\u05ba"),
        ("koi8r", "журнал".encode("koi8-r"), "журнал"),
        ("koi8u", b"\xae\xbe", "ўЎ"),
        ("macintosh", b"\x8a", "ä"),
        ("macintosh-cyrillic", b"\xff", "€"),
        ("x-user-defined", b"a\x80", "a\uf780"),
        ("gbk", "中文".encode("gbk"), "中文"),
        ("gb18030", "中\U00020000".encode("gb18030"), "中\U00020000"),
        ("gb18030", b"a\x81\x30", "a\ufffd"),
        ("hz-gb-2312", b"a~{VPND~}b", "a中文b"),
        ("hz-gb-2312", b"~{VP", "中"),
        ("big5", "中文".encode("big5"), "中文"),
        ("euc-kr", "뢔로그".encode("cp949"), "뢔로그"),
        ("euc-jp", "日本".encode("euc-jp"), "日本"),
        ("shift-jis", "①表示".encode("cp932"), "①表示"),
        ("shift-jis", b"a\x81", "a\ufffd"),
        ("iso-2022-jp", "日本a".encode("iso2022-jp"), "日本a"),
        ("iso-2022-jp", b"\x1b$BF|", "日"),
    ],
)
@pytest.mark.parametrize("size", [1, 1000])
def test_a_line_is_decoded_and_its_raw_bytes_are_counted(
    encoding: str, raw: bytes, text: str, size: int, log: LogOnDisk
) -> None:
    """Also the second of two equal lines: nothing is left over from the first."""
    codec = encoding.replace("le", "-le").replace("be", "-be") if encoding.startswith("utf-16") else "ascii"
    ending = "\r\n".encode(codec)
    log.write((raw + ending) * 2)
    length = len(raw + ending)
    assert read(log.open(sizes=itertools.repeat(size)), encoding) == [(text, 0, length), (text, length, length)]


@pytest.mark.parametrize("encoding", ["ebcdic-037", "ebcdic-1047", "ebcdic-1040"])
def test_the_terminator_is_that_of_the_encoding(encoding: str, log: LogOnDisk) -> None:
    log.write("AB\r\nC\n".encode("cp037"))
    assert read(log.open(), encoding) == [("AB", 0, 4), ("C", 4, 2)]


@pytest.mark.parametrize(
    ("terminator", "text", "lines"),
    [
        ("auto", "a\r\nb\n\r\r\nc\r", ["a", "b", "\r"]),
        ("line_feed", "a\r\nb\n\r\r\nc\r", ["a\r", "b", "\r\r"]),
        ("vertical_tab", "a\vb\n\v", ["a", "b\n"]),
        ("form_feed", "a\fb\n\f", ["a", "b\n"]),
        ("carriage_return", "a\r\nb\r", ["a", "\nb"]),
        ("carriage_return_line_feed", "a\nb\rc\r\n\r\r\n", ["a\nb\rc", "\r"]),
        ("next_line", "a\x85b\n\x85", ["a", "b\n"]),
        ("line_separator", "a\u2028b\u2029\u2028", ["a", "b\u2029"]),
        ("paragraph_separator", "a\u2029b\u2028\u2029", ["a", "b\u2028"]),
        ("null_terminator", "a\0b\n\0", ["a", "b\n"]),
    ],
)
@pytest.mark.parametrize(
    ("encoding", "codec"), [("utf-8", "utf-8"), ("utf-16le", "utf-16-le"), ("utf-16be", "utf-16-be")]
)
@pytest.mark.parametrize("size", [1, 2, 3, 1000])
def test_a_line_ends_at_its_terminator_wherever_reads_end(
    terminator: LineTerminator, text: str, lines: list[str], encoding: str, codec: str, size: int, log: LogOnDisk
) -> None:
    log.write(text.encode(codec))
    assert [row[0] for row in read(log.open(sizes=itertools.repeat(size)), encoding, terminator)] == lines


@pytest.mark.parametrize("size", [1, 2, 5, 1000])
def test_in_utf_16_two_halves_of_characters_are_no_terminator(size: int, log: LogOnDisk) -> None:
    content = "\u0a00\u0a0d\u000d\u0a00x\n".encode("utf-16-be") + b"\0"
    log.write(content)
    assert read(log.open(sizes=itertools.repeat(size)), "utf-16be") == [("\u0a00\u0a0d\r\u0a00x", 0, 12)]


def test_after_a_cut_within_a_character_the_next_ones_are_where_they_were(log: LogOnDisk) -> None:
    log.write("ab\ncd\n".encode("utf-16-le"))
    assert read(log.open(cuts=(1,)), "utf-16le") == [("\ufffd", 0, 1), ("\ufffdb", 1, 5), ("cd", 6, 6)]


@pytest.mark.parametrize("size", [1, 2, 1000])
@pytest.mark.parametrize(
    ("encoding", "codec"),
    [("plain", "utf-8"), ("utf-16le", "utf-16-le"), ("utf-16-bom", "utf-16-be"), ("gb18030", "gb18030")],
)
def test_a_byte_order_mark_is_no_text_at_the_start_of_the_file_only(
    encoding: str, codec: str, size: int, log: LogOnDisk
) -> None:
    first, second = "\ufeffa\n".encode(codec), "\ufeffb\n".encode(codec)
    log.write(first + second)
    expected = [("a", 0, len(first)), ("\ufeffb", len(first), len(second))]
    assert read(log.open(sizes=itertools.repeat(size)), encoding) == expected


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16-bom"])
def test_of_a_byte_order_mark_alone_an_empty_message_remains(encoding: str, log: LogOnDisk) -> None:
    log.write(codecs.BOM_UTF8 if encoding == "utf-8" else codecs.BOM_UTF16_BE)
    size = log.path.stat().st_size
    assert read(log.open(cuts=(size,)), encoding) == [("", 0, size)]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16-bom", "shift-jis", "hz-gb-2312"])
def test_an_empty_file_has_no_lines(encoding: str, log: LogOnDisk) -> None:
    log.write(b"")
    assert read(log.open(), encoding) == []


@pytest.mark.parametrize(
    ("encoding", "mark", "codec"),
    [
        ("utf-16-bom", codecs.BOM_UTF16_LE, "utf-16-le"),
        ("utf-16-bom", codecs.BOM_UTF16_BE, "utf-16-be"),
        ("utf-16le-bom", codecs.BOM_UTF16_BE, "utf-16-be"),
        ("utf-16be-bom", codecs.BOM_UTF16_LE, "utf-16-le"),
        ("utf-16", codecs.BOM_UTF16_BE, "utf-16-be"),
        ("utf-16", b"", "utf-16-le"),
        ("utf-16le-bom", b"", "utf-16-le"),
        ("utf-16be-bom", b"", "utf-16-be"),
    ],
)
def test_the_byte_order_mark_decides_also_where_reading_resumes_in_the_middle(
    encoding: str, mark: bytes, codec: str, log: LogOnDisk, tmp_path: Path
) -> None:
    first = mark + "one\n".encode(codec)
    content = first + "two\n".encode(codec)
    log.write(content)
    two = ("two", len(first), 8)
    assert read(log.open(), encoding) == [("one", 0, len(first)), two]
    assert read(log.open(len(first)), encoding) == [two]
    packed = tmp_path / "app.log.gz"
    packed.write_bytes(gzip.compress(content))
    with packed.open("rb") as file:
        assert read(GzipFile(file.fileno(), len(first)), encoding) == [two]


def test_a_byte_order_mark_may_come_byte_by_byte_and_late(log: LogOnDisk) -> None:
    log.write(b"")
    reader = line.build("utf-16-bom", "auto", log.open(), 1000)
    assert reader.next() is None
    runs = []
    for byte in codecs.BOM_UTF16_BE + "a\n".encode("utf-16-be"):
        log.append(bytes([byte]))
        run = reader.next()
        assert run is not None
        runs.append(run)
    assert rows(runs) == [("a", 0, 6)]


def test_a_file_without_the_mark_it_must_have_is_not_read_on_a_guess(log: LogOnDisk) -> None:
    log.write("one\n".encode("utf-16-le"))
    with pytest.raises(OSError, match=r"no byte order mark, .* utf-16le-bom or utf-16be-bom") as caught:
        read(log.open(), "utf-16-bom")
    assert caught.value.strerror  # this is what is logged


@pytest.mark.parametrize(("mark", "codec"), [(b"", "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be")])
def test_a_stream_without_the_mark_is_little_endian(mark: bytes, codec: str) -> None:
    """It cannot be read again with another encoding, so it is read now."""
    end, other = os.pipe()
    try:
        os.write(other, mark + "one\n".encode(codec))
        os.close(other)
        assert read(Stream(end), "utf-16-bom") == [("one", 0, 8 + len(mark))]
    finally:
        os.close(end)


@pytest.mark.parametrize("size", [1, 7, 1000])
@pytest.mark.parametrize(
    ("encoding", "raw", "kept"),
    [
        ("utf-8", b"\xef\xbb\xbf" + "aééé".encode(), "aéé"),
        ("utf-16le", "\ufeffa\U0001f600b".encode("utf-16-le"), "a\U0001f600"),
        ("iso8859-1", b"a\xe9\xe9\xe9", "aéé"),
        ("gb18030", b"\x84\x31\x95\x33" + "aééé".encode("gb18030"), "aéé"),
        ("shift-jis", b"\xb1\xb2", "ｱ"),
        ("big5", b"a\x88\x62b", "aÊ\u0304"),
    ],
)
def test_a_long_line_is_cut_between_characters(encoding: str, raw: bytes, kept: str, size: int, log: LogOnDisk) -> None:
    """The limit counts bytes of UTF-8, whatever the file has."""
    raw += ("." * 40).encode("utf-16-le" if encoding == "utf-16le" else "ascii")
    ending = b"\n\0" if encoding == "utf-16le" else b"\n"
    log.write(raw + ending)
    limited = limit(line.build(encoding, "auto", log.open(sizes=itertools.repeat(size)), 5), 5)
    (run,) = [run for run in iter(limited.next, None) if run.texts]
    assert (run.texts, run.lengths, run.flags) == ([kept], [len(raw + ending)], {0: (TRUNCATED,)})


@pytest.mark.parametrize("size", [1, 7, 1000])
def test_escape_sequences_without_end_are_cut_and_flagged_though_they_are_no_text(size: int, log: LogOnDisk) -> None:
    raw = b"a" + b"\x1b$B\x1b(J" * 20 + b"b\n"
    log.write(raw)
    (run,) = [
        run
        for run in iter(line.build("iso-2022-jp", "auto", log.open(sizes=itertools.repeat(size)), 5).next, None)
        if run.texts
    ]
    assert (run.texts, run.lengths, run.flags) == (["a"], [len(raw)], {0: (TRUNCATED,)})
