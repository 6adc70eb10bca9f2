"""A parser whose help has the options of one command first."""

import argparse


class CommandParser(argparse.ArgumentParser):
    """Its help has the options of this command; those that all commands share are one line of it."""

    shared: tuple[argparse.Action, ...] = ()

    def format_help(self) -> str:
        texts = [action.help for action in self.shared]
        for action in self.shared:
            action.help = argparse.SUPPRESS
        own = super().format_help()
        for action, text in zip(self.shared, texts, strict=True):
            action.help = text
        names = ", ".join(action.option_strings[0] for action in self.shared)
        return f"{own}\nas every command: {names} (see shipper --help)\n" if names else own
