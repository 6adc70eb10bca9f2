"""Random programs of what happens to the journals of several hosts: delays, outages, rotation, vacuuming, kills."""

from tests.model.journal_play import play
from tests.model.journal_program import generate
from tests.model.seeds import for_each_seed

FAILED_ONCE = [
    1354,  # a journal whose files were deleted, and whose name another one has, before journalctl had opened them
    39502,  # entries of two boots in one read, of which only some were acknowledged before a kill
    305884,  # an entry was read, and the next one deleted, before a kill: no start knows of either
]


@for_each_seed(150, FAILED_ONCE)
def test_each_entry_comes_once_in_the_order_of_its_journal(seed: int) -> None:
    play(generate(seed))
