"""The subjects of the newest commits: `scope: imperative`, so that `git log --oneline` can be scanned."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SINCE = "2026-11-27T18:50:00Z"  # older subjects had no form; a date, as a shallow clone lacks the commit
FORM = re.compile(r"[a-z][a-z0-9_./, ()-]*: (?P<verb>[a-z][a-z-]*)\b.*[^.]")
MAX_LENGTH = 72
NO_VERB = {"a", "an", "the", "this", "these", "all", "each", "what", "which", "how", "when", "no", "not"}
VERBS = {"bring", "string", "bias", "focus", "feed", "seed", "speed", "need", "embed", "shed", "exceed", "proceed"}


def is_in_form(subject: str) -> bool:
    match = FORM.fullmatch(subject)
    return match is not None and len(subject) <= MAX_LENGTH and is_imperative(match["verb"])


def is_imperative(word: str) -> bool:
    """Return False for a word that cannot be one: adding, added, adds."""
    return word in VERBS or not (word in NO_VERB or re.search(r"(ing|ed|[^s]s)$", word))


def newest_subjects() -> list[str]:
    if shutil.which("git") is None or not (ROOT / ".git").exists():
        pytest.skip("no git history, as in a source package")
    command = ["git", "log", "--no-merges", "--max-count=20", f"--since={SINCE}", "--format=%s"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        pytest.skip(f"git does not read the history: {done.stderr.strip()}")
    return done.stdout.splitlines()


def test_the_newest_commits_have_subjects_in_form() -> None:
    wrong = [subject for subject in newest_subjects() if not is_in_form(subject)]
    assert wrong == [], f"`scope: imperative`, at most {MAX_LENGTH} characters, without a full stop"


@pytest.mark.parametrize(
    "subject",
    [
        "files: read a renamed file to its end",
        "kafka input: embed the offset in the id",
        "fix(shipper/output): re-create the producer",
        "tests: pass the clock",
    ],
)
def test_an_imperative_after_a_scope_is_in_form(subject: str) -> None:
    assert is_in_form(subject)


@pytest.mark.parametrize(
    "subject",
    [
        "Read a renamed file to its end",
        "files: The renamed file is read",
        "files: the renamed file is read",
        "files: reading of renamed files",
        "files: renamed files are read",
        "files: reads a renamed file",
        "files: read a renamed file.",
        "files: read a renamed file to its end, and close it once all of its lines are acknowledged",
    ],
)
def test_other_subjects_are_not(subject: str) -> None:
    assert not is_in_form(subject)
