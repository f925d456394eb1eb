"""The command `agn`: one module per subcommand, imported when it is used."""

from __future__ import annotations

import errno
import logging
import os
import sys
from importlib import import_module
from typing import Any

import click

from agnostics.types.errors import AgnosticsError, unknown_name_error

COMMANDS = {
    "complexity": "Name the complexity class of a program, from runs at growing sizes.",
    "datasets": "List data sets, show their tasks, reformulate and decontaminate them.",
    "db": "Check and upgrade the results database.",
    "doctor": "Check this machine and say how to install what is missing.",
    "eval": "Measure pass@k of models, and compare them.",
    "launch": "Run a command as several ranks on the nodes of a cluster.",
    "languages": "List, show, create, build and check languages.",
    "model": "Train the starter model.",
    "plugins": "List and check plugins.",
    "results": "Query the results database.",
    "run": "Train a model on the verdicts of its programs.",
    "scaling": "Design scaling experiments, and fit scaling laws to their runs.",
    "session": "Let agents solve problems in a language that they hardly know.",
    "sft": "Fine-tune a model on examples: prompts and completions, conversations, texts.",
    "traces": "Trace programs step by step, and show their traces.",
    "verify": "Verify a stream of programs.",
}
"""The built-in commands with their one-line help: each is `command` in the module of its name in this package."""


_STDERR = 2
_OUTPUT_ERRORS = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EBADF}
"""Errors of a full or broken output, such as stdout opened for reading only."""


class LazyGroup(click.Group):
    """A group that imports a built-in command only when it is used, so that `agn --help` is fast."""

    _extended = False

    def list_commands(self, ctx: click.Context) -> list[str]:
        self._add_plugin_commands()
        return sorted({*COMMANDS, *super().list_commands(ctx)})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            self._add_plugin_commands()
            return super().get_command(ctx, cmd_name)
        command = import_module(f"agnostics.cli.{cmd_name}").command
        assert isinstance(command, click.Command)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and self.get_command(ctx, args[0]) is None:
            raise unknown_name_error("command", args[0], self.list_commands(ctx))
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        self.list_commands(ctx)
        from_plugins = {name: command.get_short_help_str() for name, command in self.commands.items()}
        with formatter.section("Commands"):
            formatter.write_dl(sorted({**from_plugins, **COMMANDS}.items()))

    def _add_plugin_commands(self) -> None:
        """Add the commands of plugins; built-in commands take precedence over them."""
        from agnostics.plugins.manager import load_plugins

        if not self._extended:
            self._extended = True
            load_plugins().add_commands(self)


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="agnostics", prog_name="agn")
@click.option("--no-plugins", is_flag=True, help="Load no plugins.")
def agn(no_plugins: bool) -> None:
    """Teach any language model to program in any language, by running what it writes."""
    if no_plugins:
        os.environ["AGN_PLUGINS"] = ""


def main(argv: list[str] | None = None) -> None:
    """Run `agn` and exit: 0 success, 1 failure, 2 usage error, 3 missing requirement, 130 interrupted."""
    _open_standard_descriptors()
    sys.exit(call(sys.argv[1:] if argv is None else argv))


def _open_standard_descriptors() -> None:
    """Open the null device for those of stdin, stdout and stderr that are closed.

    Else the next file or socket gets the number, and what a library or a child process prints goes into it.
    """
    while (descriptor := os.open(os.devnull, os.O_RDWR)) <= _STDERR:
        os.set_inheritable(descriptor, True)
    os.close(descriptor)


def _discard_output() -> None:
    """Redirect stdout to the null device, because Python flushes it at exit and would print an error."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def call(argv: list[str]) -> int:
    """Run one command line and return its exit status; an expected error is one line on stderr.

    The name `run` is taken by the module of the command `run`.
    """
    logging.basicConfig(format="agn: %(message)s", level=logging.WARNING)
    try:
        result: Any = agn.main(argv, prog_name="agn", standalone_mode=False)
    except click.exceptions.Exit as request:
        return request.exit_code
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except click.Abort:
        click.echo("agn: interrupted", err=True)
        return 130
    except AgnosticsError as error:
        click.echo(f"agn: {error}", err=True)
        return error.exit_code
    except BrokenPipeError:
        _discard_output()
        return 141
    except OSError as error:
        if error.errno not in _OUTPUT_ERRORS:
            raise
        _discard_output()
        click.echo(f"agn: {error.filename or 'stdout'}: {error.strerror}", err=True)
        return 1
    return result if isinstance(result, int) else 0
