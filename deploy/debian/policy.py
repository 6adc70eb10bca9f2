"""Debian's requirements of a package: copyright file (DEP-5), changelog, and lintian overrides with reasons."""

import re
from collections.abc import Iterator
from email import message_from_string
from email.message import Message
from email.utils import formatdate
from importlib.metadata import Distribution, distributions
from pathlib import Path

from deploy.debian.errors import PackagingFailed

MAINTAINER = "The log-shipper authors <log-shipper@example.org>"
OURS = "kafka-log-shipper"
# Classifiers of wheels without an SPDX expression.
_CLASSIFIED = {"Apache Software License": "Apache-2.0", "BSD License": "BSD-3-Clause", "MIT License": "MIT"}
_LICENCE = re.compile(r"\.dist-info/(licenses/)?[^/]*(LICEN[CS]E|COPYING|NOTICE)[^/]*$", re.IGNORECASE)
_HOLDER = re.compile(r"^[\W_]*Copyright\s+((?:\(c\)|©|\d{4}).*)$", re.IGNORECASE | re.MULTILINE)
MAX_HOLDERS = 5  # per package: its installed licence files have all of them

HEADER = """Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: kafka-log-shipper
Comment: Each Python package below /opt has its own licence. The text is installed with it.

Files: *
Copyright: {holders}
License: Apache-2.0

License: Apache-2.0
 The text is in /usr/share/common-licenses/Apache-2.0, and NOTICE in the package's metadata in /{home}.
"""


def check_maintainer(text: str) -> None:
    """Raise PackagingFailed if dpkg would reject the text as a name with an address."""
    if not re.fullmatch(r"[^<>\s][^<>\n]* <[^@\s<>]+@[\w-]+(\.[\w-]+)+>", text):
        raise PackagingFailed(f"--maintainer {text!r} is not of the form: Name <user@host.domain>")


def changelog(name: str, version: str, maintainer: str, epoch: int) -> str:
    """Return the package's changelog (deb-changelog(5)), which refers to the project's."""
    when = formatdate(epoch)
    changes = f"/usr/share/doc/{name}/CHANGELOG.md"
    return f"{name} ({version}) stable; urgency=medium\n\n  * What changed: {changes}\n\n -- {maintainer}  {when}\n"


def overrides(name: str) -> str:
    """Return the lintian overrides, with the reasons."""
    reasons = {
        "dir-or-file-in-opt": "A separate Python environment, which other packages cannot break.",
        "unusual-interpreter": "The scripts of that environment.",
        "package-installs-python-pycache-dir": "The service cannot write below /opt, and would compile at each start.",
        "script-not-executable": "Modules of wheels that begin with #!: they are imported, not run.",
        "unstripped-binary-or-object": "Wheels are installed as published, with the hashes of the lock.",
        "embedded-library": "Wheels contain the tested versions of their libraries.",
        "hardening-no-fortify-functions": "Libraries of wheels.",
        "malformed-deb-archive": "Compressed with zstd, which dpkg of Debian 12 supports, but not its lintian.",
        "non-standard-file-perm": "The configuration may contain a password.",
        "extra-license-file": "Each wheel has its own licence.",
        "package-contains-documentation-outside-usr-share-doc": "Texts in wheels.",
        "spelling-error-in-binary": "Libraries of wheels.",
    }
    return "".join(f"# {reason}\n{name}: {tag}\n" for tag, reason in reasons.items())


def rights(home: Path, stage: Path) -> str:
    """Return the file `copyright` of a package with the environment `home`."""
    site = str(*home.glob("lib/*/site-packages"))
    installed = sorted(distributions(path=[site]), key=lambda distribution: distribution.name.lower())
    (ours,) = (distribution for distribution in installed if distribution.name == OURS)
    own = HEADER.format(holders=_metadata(ours)["Author"], home=home.relative_to(stage))
    others = (distribution for distribution in installed if distribution is not ours)
    return "\n".join([own, *("\n".join(_paragraph(other, stage)) + "\n" for other in others)])


def _paragraph(distribution: Distribution, stage: Path) -> Iterator[str]:
    files = [str(file) for file in distribution.files or ()]
    site = Path(str(distribution.locate_file("."))).relative_to(stage)
    tops = sorted({f"{site}/{file.split('/')[0]}{'/*' if '/' in file else ''}" for file in files if file[:2] != ".."})
    yield "Files: " + "\n ".join(tops)
    texts = [file for file in files if _LICENCE.search(file)]
    yield "Copyright: " + "\n ".join(list(_holders(distribution, texts))[:MAX_HOLDERS])
    yield f"License: {_licence(distribution)}"
    yield " The text is in:" if texts else " The package does not contain the text."
    yield from (f"  /{site}/{text}" for text in texts)


def _holders(distribution: Distribution, texts: list[str]) -> Iterator[str]:
    paths = (Path(str(distribution.locate_file(text))) for text in texts)
    holders = [
        " ".join(holder.split())
        for path in paths
        for holder in _HOLDER.findall(path.read_text(encoding="utf-8", errors="replace"))
        if "[" not in holder and "{" not in holder  # placeholders at the end of Apache's licence
    ]
    authors = _metadata(distribution)["Author"] or _metadata(distribution)["Author-email"]
    yield from dict.fromkeys(holders or [authors or f"the authors of {distribution.name}"])


def _metadata(distribution: Distribution) -> Message:
    return message_from_string(distribution.read_text("METADATA") or "")


def _licence(distribution: Distribution) -> str:
    metadata = _metadata(distribution)
    given = str(metadata["License-Expression"] or metadata["License"] or "")
    if given and len(given) < 60 and "://" not in given:
        return given.replace(" AND ", " and ").replace(" OR ", " or ")
    names = [value.rpartition(" :: ")[2] for value in metadata.get_all("Classifier") or () if "License ::" in value]
    return " or ".join(_CLASSIFIED.get(name, name) for name in names) or "unknown"
