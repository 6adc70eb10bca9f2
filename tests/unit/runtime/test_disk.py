from log_shipper.runtime.disk import DiskFile, write_all


class NearlyFull(DiskFile):
    def __init__(self) -> None:
        self.taken = b""

    def write(self, data: bytes) -> int:
        self.taken += data[:3]
        return min(3, len(data))


def test_a_file_that_takes_a_part_at_a_time_gets_it_all() -> None:
    file = NearlyFull()
    write_all(file, b"0123456789")
    assert file.taken == b"0123456789"
