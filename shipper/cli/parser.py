"""A parser whose help lists the options of one command first."""

import argparse
from collections.abc import Callable


class CommandParser(argparse.ArgumentParser):
    """A parser whose help lists this command's options, and the shared ones in a single line."""

    shared: tuple[argparse.Action, ...] = ()

    def format_usage(self) -> str:
        return self._without_shared(super().format_usage)

    def format_help(self) -> str:
        own = self._without_shared(super().format_help)
        names = ", ".join(action.option_strings[0] for action in self.shared)
        return f"{own}\nas every command: {names} (see shipper --help)\n" if names else own

    def _without_shared(self, formatted: Callable[[], str]) -> str:
        texts = [action.help for action in self.shared]
        for action in self.shared:
            action.help = argparse.SUPPRESS
        text = formatted()
        for action, help_text in zip(self.shared, texts, strict=True):
            action.help = help_text
        return text
