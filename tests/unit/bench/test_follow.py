from bench.appends import Appended, Delays
from bench.chart import picture
from bench.follow import shown

SHIPPER = Appended(Delays(0.002, 0.005, 0.01), last=0.002, core=0.012, cpu_us=120.0, memory_mb=42.0)
RSYSLOG = Appended(Delays(0.006, 0.008, 0.01), last=2.5, core=0.018, cpu_us=5.5, memory_mb=8.0)


def test_a_row_has_the_cost_of_a_contender_and_the_delays_of_its_lines() -> None:
    table = shown("100 lines/s", {"shipper": [SHIPPER], "rsyslog": [RSYSLOG]})
    shipper, rsyslog = ([cell.strip() for cell in line.split("|")[1:-1]] for line in table.splitlines()[2:])
    medians = ["1.20", "2.0", "5.0", "120", "0.002", "42"]
    assert [cell.split(" ")[0] for cell in shipper] == ["shipper", *medians]
    assert rsyslog == [
        "rsyslog",
        *("1.80 (1.80-1.80)", "6.0 (6.0-6.0)", "8.0 (8.0-8.0)", "5.5 (5.5-5.5)", "2.500 (2.500-2.500)", "8 (8-8)"),
    ]


def test_the_table_can_be_drawn() -> None:
    assert "100 lines/s" in picture(shown("100 lines/s", {"shipper": [SHIPPER]}))
