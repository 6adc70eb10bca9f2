"""The configuration of the running agent changes: SIGHUP, and files of `config.inputs`."""

import os
import signal
from pathlib import Path
from typing import Any

import orjson

from tests.e2e.files.local import LocalAgent
from tests.e2e.running import LiveWriter, await_true, lines_of


def an_input(agent: LocalAgent, name: str, **options: Any) -> dict[str, Any]:
    paths = [str(agent.logs / f"{name}*.log*")]
    return {"type": "filestream", "id": name, "paths": paths, "prospector.scanner.check_interval": "200ms", **options}


def write(file: Path, config: Any) -> None:
    """Replace the file in one step, as an editor does."""
    made = file.with_suffix(".new")
    made.write_bytes(orjson.dumps(config))
    made.chmod(0o600)
    made.replace(file)


def configure(agent: LocalAgent, *inputs: dict[str, Any], **more: Any) -> None:
    output = {"output.file": {"path": str(agent.destination.parent), "filename": agent.destination.name}}
    file = agent.directory / "shipper.yml"
    write(file, {"shipper.inputs": list(inputs), "path.data": str(agent.data), **output, **more})


def configure_folder(agent: LocalAgent, *inputs: dict[str, Any], path: str = "") -> Path:
    """Have the agent take inputs from a new directory of files, too; return the directory."""
    folder = agent.directory / "inputs.d"
    folder.mkdir()
    rules = {"path": path or str(folder / "*.yml"), "reload": {"enabled": True, "period": "100ms"}}
    configure(agent, *inputs, **{"shipper.config.inputs": rules})
    return folder


def hang_up(agent: LocalAgent) -> None:
    agent.process.send_signal(signal.SIGHUP)


def tags(agent: LocalAgent) -> dict[str, list[str]]:
    return {event["message"]: event.get("tags", []) for event in agent.events}


def inodes_open(agent: LocalAgent) -> dict[int, str]:
    """Return the agent's descriptors of log files, by inode."""
    return {inode: number for number, target, inode in agent.descriptors() if target.startswith(str(agent.logs))}


def test_sighup_takes_what_changed_and_leaves_alone_what_did_not(agent: LocalAgent) -> None:
    app, web = agent.logs / "app.log", agent.logs / "web.log"
    configure(agent, an_input(agent, "app"), an_input(agent, "web"))
    agent.append("app one", path=app)
    agent.append("web one", path=web)
    agent.start()
    agent.await_messages("app one", "web one")
    before = inodes_open(agent)[app.stat().st_ino]
    configure(agent, an_input(agent, "app"), an_input(agent, "web", tags=["new"]), an_input(agent, "db"))
    hang_up(agent)
    agent.await_log("reloaded: 1 input added, 1 changed, 1 unchanged")
    agent.append("app two", path=app)
    agent.append("web two", path=web)
    agent.append("db one", path=agent.logs / "db.log")
    agent.await_messages("app two", "web two", "db one")
    assert inodes_open(agent)[app.stat().st_ino] == before
    assert tags(agent) == {"app one": [], "app two": [], "web one": [], "web two": ["new"], "db one": []}
    hang_up(agent)
    agent.await_log("reloaded: nothing changed")
    assert agent.stop() == 0
    assert len(agent.all) == 5


def test_files_of_inputs_are_taken_as_they_are_created_changed_and_deleted(agent: LocalAgent) -> None:
    folder = configure_folder(agent, path="inputs.d/*.yml")
    app, web = agent.logs / "app.log", agent.logs / "web.log"
    agent.start()
    agent.await_log("started: 0 inputs")
    write(folder / "app.yml", [an_input(agent, "app")])
    agent.append("app one", path=app)
    agent.await_messages("app one")
    write(folder / "web.yml", [an_input(agent, "web")])
    agent.append("web one", path=web)
    agent.await_messages("web one")
    agent.await_log("reloaded: 1 input added, 1 unchanged")
    write(folder / "web.yml", [an_input(agent, "web", tags=["new"])])
    agent.await_log("reloaded: 1 input changed, 1 unchanged")
    agent.append("web two", path=web)
    agent.await_messages("web two")
    write(folder / "web.yml", [an_input(agent, "app")])
    agent.await_log("'app' is used by 2 inputs; each input needs a unique id")
    assert f"{folder}/web.yml:1: [0].id" in agent.log
    (folder / "web.yml").unlink()
    agent.await_log("reloaded: 1 input removed, 1 unchanged")
    agent.append("web three", path=web)
    agent.append("app two", path=app)
    agent.await_messages("app two")
    assert tags(agent)["web two"] == ["new"]
    write(folder / "web.yml", [an_input(agent, "web")])
    agent.await_messages("web three")
    assert agent.stop() == 0
    assert sorted(agent.all) == ["app one", "app two", "web one", "web three", "web two"]


def test_a_file_of_inputs_that_others_may_write_is_not_taken(agent: LocalAgent) -> None:
    folder = configure_folder(agent, an_input(agent, "app"))
    agent.start()
    agent.append("one")
    agent.await_messages("one")
    (folder / "web.yml").write_bytes(orjson.dumps([an_input(agent, "web")]))
    (folder / "web.yml").chmod(0o666)
    agent.await_log("is writable by other users")
    agent.append("two")
    agent.await_messages("two")
    (folder / "web.yml").chmod(0o600)
    agent.await_log("reloaded: 1 input added, 1 unchanged")


def test_files_that_are_not_a_configuration_change_nothing(agent: LocalAgent) -> None:
    folder = configure_folder(agent, an_input(agent, "app"), an_input(agent, "off", enabled=False))
    agent.start()
    agent.await_log("started: 1 input")
    aliases = "".join(f"  - &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 30))
    files = {
        "deep.yml": ("- " + "[" * 100_000, "deep.yml:1: is nested deeper than the limit of 64 levels"),
        "bomb.yml": (f"-\n  - &a0 x\n{aliases}", "bomb.yml:8: exceeds the limit of 250,000 values"),
        "text.yml": ("\0" * 100, "text.yml:1: is not YAML: character 0 is not allowed"),
    }
    for count, (name, (text, expected)) in enumerate(files.items()):
        (folder / name).write_text(text)
        (folder / name).chmod(0o600)
        agent.await_log(expected)
        agent.append(f"after {count}")
        agent.await_messages(f"after {count}")
        (folder / name).unlink()
    os.mkfifo(folder / "pipe.yml", 0o600)
    agent.await_log("pipe.yml: cannot be read: it is a named pipe (FIFO)")
    agent.append("after the pipe")
    agent.await_messages("after the pipe")
    (folder / "pipe.yml").unlink()
    write(folder / "web.yml", [an_input(agent, "web")])
    agent.await_log("reloaded: 1 input added, 1 unchanged")
    assert agent.stop() == 0


def test_under_a_live_writer_nothing_is_lost_or_sent_twice(agent: LocalAgent) -> None:
    configure(agent, an_input(agent, "app"))
    agent.start()
    with LiveWriter(agent.path):
        for number in range(10):
            count = len(agent.all)
            await_true(
                lambda enough=count + 300: len(agent.all) > enough,  # type: ignore[misc]  # a default: not inferred
                "lines go on",
            )
            configure(agent, an_input(agent, "app", tags=["ab"[number % 2]]))
            hang_up(agent)
            await_true(
                lambda times=number + 1: agent.log.count("reloaded: ") == times,  # type: ignore[misc]  # as above
                "it is reloaded: of two signals that come before it has read the first, the second has no effect",
            )
    expected = [text for _, _, text in lines_of(agent.path.read_bytes())]
    await_true(lambda: len(agent.all) >= len(expected), "all lines")
    assert agent.stop() == 0
    assert agent.all == expected
