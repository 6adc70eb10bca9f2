"""What the Debian packages consist of; tests/e2e/test_package.py installs one."""

import argparse
import re
import shlex
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest

from deploy.debian.archive import control, maintainer_script
from deploy.debian.contents import PACKAGES, ROOT, SHIPPER, SINK, Package
from deploy.debian.environment import copy_source
from deploy.debian.errors import PackagingFailed
from deploy.debian.policy import MAINTAINER, check_maintainer, rights
from log_shipper.config.yaml.load import load
from log_shipper.runtime.manual import command_page, commands, escaped, options_page, visible_options
from log_shipper.shipper.options.model import ShipperConfig
from log_shipper.spark_sink.options.model import SinkConfig
from tests.unit.deploy.units import settings

BOTH = pytest.mark.parametrize("package", PACKAGES.values(), ids=PACKAGES)
REQUESTS = {".TH", ".SH", ".SS", ".TP", ".PP", ".B", ".I", ".nf", ".fi", ".RS", ".RE"}


def leaves(parser: argparse.ArgumentParser) -> list[argparse.ArgumentParser]:
    below = commands(parser)
    return [leaf for inner in below.values() for leaf in leaves(inner)] if below else [parser]


@BOTH
def test_the_unit_runs_what_the_package_has(package: Package) -> None:
    values = settings(package.unit)
    programs = {shlex.split(value)[0] for key, value in values.items() if key in ("ExecStart", "ExecStartPre")}
    assert programs <= {f"{package.home}/bin/{package.command}"}
    assert {values.get("User"), values.get("Group")} <= {package.user, None}
    assert (f"/var/lib/{values['StateDirectory']}", package.config in values["ExecStart"]) == (package.state, True)


def test_the_configuration_of_the_package_keeps_its_data_where_the_unit_may_write() -> None:
    config, of_docs = (load(path, ShipperConfig, env={}) for path in (SHIPPER.example, ROOT / "config" / "shipper.yml"))
    assert config.path.data == SHIPPER.state
    assert config.inputs == of_docs.inputs
    assert load(SINK.example, SinkConfig, env={}).table.path.startswith(f"{SINK.state}/")


@BOTH
@pytest.mark.parametrize("name", ["postinst", "prerm", "postrm"])
def test_the_scripts_of_dpkg_are_complete_and_the_shell_can_parse_them(package: Package, name: str) -> None:
    script = maintainer_script(package, name)
    assert re.findall(r"@\w+@", script) == []
    assert script.startswith("#!/bin/sh\n")
    subprocess.run(["sh", "-n"], input=script, text=True, check=True)


def test_an_upgrade_starts_again_what_runs_and_a_removal_stops_everything() -> None:
    assert "try-restart spark-sink.service >" in maintainer_script(SINK, "postinst")
    assert 'enable --now spark-sink"' in maintainer_script(SINK, "postinst")
    assert "stop spark-sink.service >" in maintainer_script(SINK, "prerm")
    assert "rm -f /etc/systemd/system/*.wants/spark-sink.service\n" in maintainer_script(SINK, "postrm")
    assert "rm -rf /etc/shipper /var/lib/shipper /var/log/shipper\n" in maintainer_script(SHIPPER, "postrm")


@BOTH
def test_the_control_file_has_what_dpkg_needs(package: Package) -> None:
    fields = dict(re.findall(r"^([\w-]+): (.*)$", control(package, "1.2", "amd64", 1000), re.MULTILINE))
    assert fields["Package"] == package.name
    assert {"Version", "Architecture", "Maintainer", "Installed-Size", "Description"} <= fields.keys()
    assert ("java17-runtime-headless" in fields["Depends"]) is (package is SINK)
    assert fields["Conflicts"] == {SHIPPER: "log-shipper", SINK: "log-shipper-sink"}[package], "the former names"


def test_a_package_is_built_from_a_copy_of_all_that_the_wheel_has(tmp_path: Path) -> None:
    copied = {path.relative_to(tmp_path / "source") for path in copy_source(tmp_path / "source").rglob("*")}
    assert {Path(name) for name in ("pyproject.toml", "setup.py", "README.md", "LICENSE", "NOTICE")} <= copied
    for name in ("log_shipper", "config", "registry", "runtime", "shipper", "spark_sink"):
        assert {path.relative_to(ROOT) for path in (ROOT / name).rglob("*.py")} <= copied


def distribution(site: Path, name: str, metadata: str, licence: str) -> None:
    """Install a distribution with a module and a licence file."""
    info = site / f"{name}-1.dist-info"
    (info / "licenses").mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.4\nName: {name}\nVersion: 1\n{metadata}\n")
    (info / "licenses" / "LICENSE").write_text(licence)
    (info / "RECORD").write_text(f"{name}/__init__.py,,\n{info.name}/licenses/LICENSE,,\n../../../bin/{name},,\n")


def test_the_package_lists_who_holds_the_rights_in_each_part_of_it(tmp_path: Path) -> None:
    home = tmp_path / "opt/p"
    site = home / "lib/python3.11/site-packages"
    authors = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["authors"]
    distribution(site, "kafka-log-shipper", f"Author: {authors[0]['name']}", "")
    distribution(site, "dual", "License-Expression: MIT OR Apache-2.0", "MIT\n\nCopyright (c) 2020 Jane Doe\n")
    classified = "Author: Joe\nClassifier: License :: OSI Approved :: Apache Software License"
    distribution(site, "classified", classified, "Copyright (c) [yyyy] [name of copyright owner]\n")
    paragraphs = [
        dict(re.findall(r"^(\w+): (.*)$", text, re.MULTILINE)) for text in rights(home, tmp_path).split("\n\n")
    ]
    assert paragraphs[1] == {"Files": "*", "Copyright": "The log-shipper authors", "License": "Apache-2.0"}
    assert [(paragraph["Copyright"], paragraph["License"]) for paragraph in paragraphs[3:]] == [
        ("Joe", "Apache-2.0"),
        ("(c) 2020 Jane Doe", "MIT or Apache-2.0"),
    ]
    assert f"  /{site.relative_to(tmp_path)}/dual-1.dist-info/licenses/LICENSE\n" in rights(home, tmp_path)


@pytest.mark.parametrize("text", ["", "me@host.domain", "Me", "Me <me>", "Me <me@localhost>", "Me <a@b.c d>"])
def test_a_maintainer_is_a_name_with_an_address(text: str) -> None:
    with pytest.raises(PackagingFailed, match="is not of the form"):
        check_maintainer(text)
    check_maintainer(MAINTAINER)


@BOTH
def test_the_manual_has_every_command_and_option(package: Package) -> None:
    page = command_page(package.parser(), package.name, "1.2", "")
    for leaf in leaves(package.parser()):
        section = page.partition(f".SS {escaped(leaf.prog)}")[2].partition("\n.SS")[0]
        names = [
            name for action in visible_options(leaf) for name in action.option_strings if name not in ("-h", "--help")
        ]
        assert [name for name in names if f"\\fB{escaped(name)}\\fR" not in section] == []
        assert section


@BOTH
def test_the_manual_has_every_option_of_the_configuration(package: Package) -> None:
    markdown = package.options()
    page = options_page("file.yml", markdown, package.name, "1.2")
    rows = re.findall(r"^\| `([^`]+)` \|", markdown, re.MULTILINE)
    assert len(rows) > 50
    assert [option for option in rows if f".TP\n\\fB{escaped(option)}\\fR" not in page] == []
    assert ".md" not in page


@BOTH
def test_no_text_of_the_manual_is_a_request_of_roff(package: Package) -> None:
    pages = command_page(package.parser(), "p", "1", "") + options_page("f", package.options(), "p", "1")
    requests = {line.split(" ")[0] for line in pages.splitlines() if line.startswith((".", "'"))}
    assert requests <= REQUESTS


@pytest.mark.skipif(shutil.which("groff") is None, reason="groff is not installed")
@BOTH
def test_groff_has_no_complaint(package: Package) -> None:
    pages = command_page(package.parser(), "p", "1", "") + options_page("f", package.options(), "p", "1")
    done = subprocess.run(
        ["groff", "-man", "-ww", "-Tutf8", "-z"], input=pages, capture_output=True, text=True, check=True
    )
    assert done.stderr == ""


def test_a_program_that_a_page_names_is_in_the_environment_of_its_package() -> None:
    owners = {SHIPPER.home: {"shipper", "python", "pip"}, SINK.home: {"spark-sink", "spark-sql", "python", "pip"}}
    for page in (ROOT / "README.md", *ROOT.glob("docs/**/*.md")):
        for home, program in re.findall(r"(/opt/kafka-log-shipper[\w-]*)/bin/([\w-]+)", page.read_text()):
            assert program in owners[home], f"{page.name}: {home}/bin/{program}"


def test_both_packages_fit_on_one_machine() -> None:
    assert Path(SHIPPER.home) != Path(SINK.home), "each has an environment of its own: both fit on one machine"
