"""`tornado demo [roads|learning]`: the stories that are told; roads, where none is named."""

from __future__ import annotations

import click

from .demo import roads_command
from .demo_learning import learning_command


class _Stories(click.Group):
    """A group whose first command is meant where none is named."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Put in the name of the story that is meant."""
        if not args or (args[0] not in self.commands and args[0] not in ctx.help_option_names):
            args = ["roads", *args]
        return super().parse_args(ctx, args)


@click.group("demo", cls=_Stories)
def demo_command() -> None:
    """Watch exact answers to a stream, checked before your eyes: of `roads` (that is meant where none is named), or `learning`."""


demo_command.add_command(roads_command)
demo_command.add_command(learning_command)
