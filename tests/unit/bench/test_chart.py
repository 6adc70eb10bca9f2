from pathlib import Path
from xml.etree import ElementTree

import pytest

from bench.chart import Figure, figure, picture

DOCS = Path(__file__).parents[3] / "docs"
SVG = "{http://www.w3.org/2000/svg}"
TABLE = """\
| 10 lines | k events/s    | CPU µs per event |
| -------- | ------------- | ---------------- |
| shipper  | 100 (50-200)  | 3.0 (2.0-4.0)    |
| <other>  | 50 (50-50)    | 6.0 (6.0-8.0)    |
"""


def bars(svg: str) -> list[tuple[str, str]]:
    """Return the width and the colour of each bar, without the background."""
    _, *rectangles = ElementTree.fromstring(svg).iter(f"{SVG}rect")
    return [(bar.attrib["width"], bar.attrib["fill"]) for bar in rectangles]


def texts(svg: str) -> list[str]:
    return [element.text or "" for element in ElementTree.fromstring(svg).iter(f"{SVG}text")]


def test_bars_of_a_column_are_as_long_as_the_medians_beside_its_largest_run() -> None:
    assert [width for width, _ in bars(picture(TABLE))] == ["65.0", "32.5", "48.8", "97.5"]


def test_the_shippers_bars_have_a_colour_of_their_own() -> None:
    colours = [colour for _, colour in bars(picture(TABLE))]
    assert colours[0] == colours[2] != colours[1] == colours[3]


def test_each_panel_has_its_column_the_contenders_and_the_medians_as_they_were_printed() -> None:
    assert texts(picture(TABLE)) == [
        "10 lines",
        *("k events/s (higher is better)", "shipper", "100", "<other>", "50"),
        *("CPU µs per event (lower is better)", "shipper", "3.0", "<other>", "6.0"),
        "Not measured, because they are not installed: Filebeat, Fluent Bit",
    ]


def test_the_picture_explains_the_floor_and_shows_rivals_that_a_run_had() -> None:
    more = "| floor | 200 (200-200) | 1.5 (1.5-1.5) |\n| Filebeat 9.1 | 30 (29-31) | 9.0 (9.0-9.0) |\n"
    shown = texts(picture(f"{TABLE}{more}"))
    assert shown.count("Filebeat 9.1") == 2
    assert shown[-2:] == [
        "floor: the same records sent by Kafka's client library, without reading files or saving positions",
        "Not measured, because they are not installed: Fluent Bit",
    ]


def test_only_tables_of_one_file_are_drawn() -> None:
    other = "| | k rows/s |\n|---|---|\n| the sink | 57 |\n"
    assert picture(f"text\n\n{other}\n{TABLE}\ntext") == picture(TABLE)
    with pytest.raises(ValueError, match="no table with the first column k events/s"):
        picture(other)


def test_a_cell_is_a_median_with_its_spread() -> None:
    assert figure("3.25 (3.02-4.03)") == Figure(3.25, 3.02, 4.03, "3.25")
    with pytest.raises(ValueError, match="'57' is not a median"):
        figure("57")


def test_the_picture_in_the_docs_is_of_the_tables_on_the_page() -> None:
    page, svg = (DOCS / "explained" / "figures.md").read_text(), (DOCS / "explained" / "figures.svg").read_text()
    assert svg == picture(page), (
        "make it again: python -m bench.chart docs/explained/figures.md docs/explained/figures.svg"
    )
