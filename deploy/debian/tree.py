"""All files of a package in their installed layout."""

import gzip
import shutil
from pathlib import Path

from deploy.debian import environment
from deploy.debian.contents import ROOT, Package
from deploy.debian.policy import changelog, overrides, rights
from log_shipper.runtime.completion import completion
from log_shipper.runtime.manual import command_page, options_page

CONFIG_MODE = 0o640
COMPLETIONS = {
    "bash": "usr/share/bash-completion/completions/{}",
    "zsh": "usr/share/zsh/vendor-completions/_{}",
    "fish": "usr/share/fish/vendor_completions.d/{}.fish",
}


def lay_out(package: Package, version: str, stage: Path, scratch: Path, epoch: int) -> Path:
    """Lay out the package below `stage`; return its environment's directory. Raises PackagingFailed."""
    home = environment.create(package, stage, scratch)
    _copy(package.unit, stage / "usr/lib/systemd/system" / package.unit.name)
    _copy(package.example, stage / package.config.lstrip("/"))
    command = stage / "usr/bin" / package.command
    command.parent.mkdir(parents=True)
    command.symlink_to(f"{package.home}/bin/{package.command}")
    _write_manual(package, version, stage / "usr/share/man")
    for shell, place in COMPLETIONS.items():
        _write(completion(package.parser(), shell), stage / place.format(package.command))
    documents = stage / "usr/share/doc" / package.name
    # The project's layout, so that links work, also those of the alert rules to docs/reference/alerts.md.
    for page in (*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.*")):
        _copy(page, documents / page.relative_to(ROOT))
    _compress(changelog(package.name, version, package.maintainer, epoch), documents / "changelog.gz")
    (documents / "copyright").write_text(rights(home, stage))
    _write(overrides(package.name), stage / "usr/share/lintian/overrides" / package.name)
    _set_modes(stage)
    (stage / package.config.lstrip("/")).chmod(CONFIG_MODE)
    return home


def _write_manual(package: Package, version: str, directory: Path) -> None:
    config = Path(package.config)
    see_also = f"{config.name}(5), /usr/share/doc/{package.name}"
    command = command_page(package.parser(), package.name, version, see_also)
    _compress(command, directory / "man1" / f"{package.command}.1.gz")
    options = options_page(config.name, package.options(), package.name, version)
    _compress(options, directory / "man5" / f"{config.name}.5.gz")


def _copy(source: Path, destination: Path) -> None:
    destination.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source, destination)


def _write(text: str, destination: Path) -> None:
    destination.parent.mkdir(parents=True, exist_ok=True)
    destination.write_text(text)


def _compress(text: str, destination: Path) -> None:
    destination.parent.mkdir(parents=True, exist_ok=True)
    destination.write_bytes(gzip.compress(text.encode(), mtime=0))


def _set_modes(stage: Path) -> None:
    """Set modes that do not depend on the builder's umask."""
    stage.chmod(0o755)
    for path in stage.rglob("*"):
        if not path.is_symlink():
            path.chmod(0o755 if path.is_dir() or path.stat().st_mode & 0o100 else 0o644)
