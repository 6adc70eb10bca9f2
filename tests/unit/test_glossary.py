"""The glossary is sorted, has one line a word, and names places in the code that exist."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
ROWS = [
    [cell.strip() for cell in line.split("|")[1:-1]]
    for line in (ROOT / "GLOSSARY.md").read_text().splitlines()
    if line.startswith("| ")
][1:]


def exists(module: str) -> bool:
    return (ROOT / module).is_dir() or (ROOT / f"{module}.py").is_file()


def test_words_are_sorted_and_each_has_one_line() -> None:
    words = [row[0].lower() for row in ROWS]
    assert words == sorted(set(words))
    assert {len(row) for row in ROWS} == {4}


def test_every_place_that_the_glossary_names_exists() -> None:
    places = [(row[0], place) for row in ROWS for place in re.findall(r"`([\w/]+)`", row[3])]
    assert len(places) >= len(ROWS)
    assert [(word, place) for word, place in places if not exists(place)] == []
