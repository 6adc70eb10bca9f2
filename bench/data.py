"""The input: lines of about 160 bytes, equal in all runs."""

from pathlib import Path

PADDING = "path=/api/v1/orders trace=7f3a9c51e2"


def line(number: int) -> str:
    """Return one log line without its terminator; `number` makes it unique."""
    time = f"{number // 60 % 60:02d}:{number % 60:02d}.{number % 1000:03d}"
    return (
        f"2026-11-21T09:{time}Z INFO [worker-{number % 16:02d}] "
        f"orders.Service - processed order id={number:08d} user=u{number % 9973:04d} status=OK "
        f"ms={number % 500:03d} {PADDING}"
    )


def write_lines(path: Path, count: int) -> None:
    with path.open("w", encoding="ascii") as file:
        for start in range(0, count, 10_000):
            file.write("".join(f"{line(number)}\n" for number in range(start, min(start + 10_000, count))))
