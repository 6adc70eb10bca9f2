from bench.table import PrintedTable, Sheet, parse, show


def test_a_sheet_has_a_row_a_figure_with_its_aim_and_a_column_a_contender() -> None:
    sheet = Sheet({"catch-up: s": "< 5"})
    for value in (4.0, 6.0, 5.0):
        sheet.add("catch-up: s", "shipper", value, ".1f")
    sheet.add("memory MB", "rsyslog", 88.4, ".0f")

    assert sheet.show("10 files").splitlines() == [
        "| 10 files    | aim | shipper       | rsyslog    |",
        "| ----------- | --- | ------------- | ---------- |",
        "| catch-up: s | < 5 | 5.0 (4.0-6.0) |            |",
        "| memory MB   |     |               | 88 (88-88) |",
    ]


def test_the_tables_of_a_text_are_found_again_as_they_were_shown() -> None:
    shown = show(("10 files", "rate", "memory MB"), [("shipper", "5.0 (4.0-6.0)", ""), ("rsyslog", "", "88")])
    tables = parse(f"# Title\n\n{shown}\n\ntext | text\n\n{shown}\n")
    table = PrintedTable("10 files", ("rate", "memory MB"), (("shipper", "5.0 (4.0-6.0)", ""), ("rsyslog", "", "88")))
    assert list(tables) == [table, table]
