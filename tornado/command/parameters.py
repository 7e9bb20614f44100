"""Program parameters: every dataclass field of a program is an option of `tornado run`, with its type.

The first argument that is no option is APP; the options are then those of `tornado run` and those of its program, so
`tornado run sssp --help` lists both and a misspelt one is answered with the valid ones.
"""

from __future__ import annotations

import dataclasses
import enum
import types
import typing
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import click

from ..config import AUTO_DELAY_BOUND, AUTO_WORKERS
from ..errors import InvalidArgument, NotSupported
from ..query.parameters import is_vertex
from ..query.programs import ProgramEntry, load_program
from .value_list import values_of

PROGRAM_KEY = "tornado.program"
OTHERS_KEY = "tornado.others"
AND = "--and"
_STRING_IDS_KEY = "tornado.string_ids"
_PREFIX = "parameter_"
# Of a parameter whose field says that a table may have it, `field(metadata={"table": OTHER})`: vertices, and weights for OTHER.
_TABLE_PREFIX, _COLUMN_PREFIX = "table_of_", "column_of_"

# What belongs to a loop and not to a run: the same wherever a loop is named on the command line.
name_option = click.option("--name", metavar="LOOP", help="What the loop is called. Default: like the app.")
delay_bound_option = click.option(
    "--delay-bound",
    metavar="N|unbounded|auto",
    show_default=AUTO_DELAY_BOUND,
    help="B of the paper; 1 is synchronous, and all that a program of rounds takes. auto: none where no answer depends on it, and vertices "
    "go by their values; else 64.",
)
table_option = click.option(
    "--table",
    metavar="NAME",
    help="Which table of the result --output has: of a linear model coefficients, of kmeans centroids or assignments, and values of every "
    "program. Default: the first of these.",
)
predict_option = click.option(
    "--predict",
    metavar="PATH",
    help="A file of points, as of --points: --output has what the exact answer predicts of them, in place of a table.",
)


class NumberOrAuto(click.IntRange):
    """A whole number of a range, or ``auto``."""

    name = "number or auto"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """See `click.ParamType`."""
        return value if value == AUTO_WORKERS else super().convert(value, param, ctx)


@dataclasses.dataclass(frozen=True, slots=True)
class VertexFile:
    """A file that has a parameter of vertices.

    Attributes
    ----------
    path : str
        Where it is.
    ids : str
        What a vertex is in it.
    weights : str
        The parameter that its weights are.
    """

    path: str
    ids: str
    weights: str


@dataclasses.dataclass(frozen=True, slots=True)
class OtherProgram:
    """A program behind `--and`: its options are its parameters, and those that belong to a loop.

    Attributes
    ----------
    entry : ProgramEntry
        The program.
    values : dict
        Parsed values of its options.
    """

    entry: ProgramEntry
    values: dict[str, Any]

    @property
    def name(self) -> str:
        """What its loop is called."""
        return str(self.values["name"] or self.entry.name)


class ProgramCommand(click.Command):
    """A command whose options grow by the parameters of the program that its argument `app` names.

    Where it has options of a loop (`loop_options`), further programs may follow behind `--and`, each with its own.
    """

    loop_options: Sequence[str] = ()

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """Return the options of the command and, once the program is known, those of the program."""
        declared = super().get_params(ctx)
        entry = ctx.meta.get(PROGRAM_KEY)
        if entry is None:
            return declared
        taken = {name for parameter in declared for name in parameter.opts}
        string_ids = bool(ctx.meta.get(_STRING_IDS_KEY))
        return [*declared, *program_options(entry, taken=taken, string_ids=string_ids)]

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse in two steps: which program, then everything."""
        if self.loop_options and AND in args:
            args = self._take_others(ctx, args)
        app = self._find_app(ctx, args)
        if app is not None:
            ctx.meta[PROGRAM_KEY] = load_program(app)
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            raise click.UsageError(self._unknown_option(ctx, error), ctx) from error

    def _take_others(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse what stands behind each `--and`, and return the rest: the options of the command may stand anywhere."""
        end = args.index("--") if "--" in args else len(args)
        first, *segments = _split(args[:end], AND)
        self._require_arguments(ctx, first)
        string_ids = self._has_string_ids(ctx, args[:end])
        own = [
            parameter
            for parameter in super().get_params(ctx)
            if isinstance(parameter, click.Option) and parameter.name in self.loop_options
        ]
        others = []
        for segment in segments:
            if not segment or segment[0].startswith("-"):
                raise click.UsageError(
                    f"{AND} is followed by APP: the name of a program, then its parameters", ctx
                )
            entry = load_program(segment[0])
            taken = {name for parameter in super().get_params(ctx) for name in parameter.opts}
            command = click.Command(
                entry.name,
                params=[*own, *program_options(entry, taken=taken, string_ids=string_ids)],
                context_settings={"ignore_unknown_options": True, "allow_extra_args": True},
                add_help_option=False,
            )
            with command.make_context(entry.name, segment[1:], parent=ctx) as parsed:
                others.append(OtherProgram(entry, dict(parsed.params)))
                self._require_arguments(ctx, parsed.args)
                first += parsed.args
        ctx.meta[OTHERS_KEY] = others
        return [*first, *args[end:]]

    def _first_look(self, ctx: click.Context, args: Sequence[str]) -> tuple[dict[str, Any], list[str]]:
        """Return the values of what is known before the program is, and the words that are left.

        Both end where something is wrong: the full parse says what, in the same words as for any command.
        """
        before, ctx.resilient_parsing = ctx.resilient_parsing, True
        try:
            return self._parsed_before_program(ctx, args)
        finally:
            ctx.resilient_parsing = before

    def _require_arguments(self, ctx: click.Context, words: Sequence[str]) -> None:
        """Refuse an option of the command that ends a segment and lacks its argument: the next segment is not meant by it."""
        self._parsed_before_program(ctx, words)

    def _parsed_before_program(
        self, ctx: click.Context, words: Sequence[str]
    ) -> tuple[dict[str, Any], list[str]]:
        """Return the values of the command's own options and arguments, and the words that are left."""
        parser = self.make_parser(ctx)
        parser.ignore_unknown_options = True
        values, left, _ = parser.parse_args(list(words))
        return values, left

    def _has_string_ids(self, ctx: click.Context, args: list[str]) -> bool:
        values, _ = self._first_look(ctx, [word for word in args if word != AND])
        return bool(values.get("ids") == "string")

    def _find_app(self, ctx: click.Context, args: Sequence[str]) -> str | None:
        values, left = self._first_look(ctx, args)
        ctx.meta[_STRING_IDS_KEY] = values.get("ids") == "string"
        # Where the look ended early, arguments are among the words.
        app = values.get("app", left[0] if left else None)
        if not isinstance(app, str):
            return None
        if app.startswith("-"):
            raise click.UsageError(
                f"{app} stands before APP: the program is named first, then its parameters "
                "(tornado run sssp --source 1)",
                ctx,
            )
        return app

    def _unknown_option(self, ctx: click.Context, error: click.NoSuchOption) -> str:
        entry = ctx.meta.get(PROGRAM_KEY)
        if entry is None:
            return error.format_message()
        own = [option.opts[0] for option in self.get_params(ctx) if str(option.name).startswith(_PREFIX)]
        general = [
            option.opts[0]
            for option in super().get_params(ctx)
            if isinstance(option, click.Option) and not option.hidden
        ]
        return (
            f"no such option {error.option_name}. Parameters of {entry.name} ({entry.kind.__name__}): "
            f"{', '.join(own) or 'none'}. Options of {ctx.info_name}: {', '.join(general)}."
        )


def program_options(entry: ProgramEntry, *, taken: set[str], string_ids: bool = False) -> list[click.Option]:
    """Return one option for each parameter of a program.

    Parameters
    ----------
    entry : ProgramEntry
        The program; its class is a dataclass, or has no parameters.
    taken : set of str
        Options the command has already. A parameter of the same name is spelt `--program-NAME`.
    string_ids : bool
        Whether a parameter that is a vertex is given as a string.

    Raises
    ------
    NotSupported
        A field without a default has a type that cannot be written on a command line.
    """
    if not dataclasses.is_dataclass(entry.kind):
        return []
    hints = typing.get_type_hints(entry.kind)
    options = []
    for field in dataclasses.fields(entry.kind):
        if not field.init:
            continue
        hint = hints[field.name]
        if string_ids and is_vertex(field):
            hint = tuple[str, ...] if typing.get_origin(hint) is tuple else str
        option = _option(field, hint, taken=taken)
        if option is not None:
            options.append(option)
        elif _required(field):
            raise NotSupported(
                f"parameter {field.name} of {entry.kind.__name__} has the type {field.type}, which has no spelling "
                "on the command line",
                hint="Start this program from Python: tornado.open(…).start(program).",
            )
        if option is not None and "table" in field.metadata:
            options += _table_options(field, option.opts[0], string_ids=string_ids)
    return options


def make_program(entry: ProgramEntry, values: dict[str, Any]) -> Any:
    """Return an instance of the program with the parameters that were given; the rest keep their defaults.

    Where ids are strings it names vertices by these, until its loop is started.

    Parameters
    ----------
    entry : ProgramEntry
        The program.
    values : dict
        Parsed values by the names that `program_options` gave; None is "not given".
    """
    try:
        return entry.kind(**given_parameters(values))
    except TypeError as error:
        raise InvalidArgument(f"{entry.kind.__name__} cannot be made: {error}") from error


def _split(words: Sequence[str], at: str) -> list[list[str]]:
    parts: list[list[str]] = [[]]
    for word in words:
        if word == at:
            parts.append([])
        else:
            parts[-1].append(word)
    return parts


def given_parameters(values: dict[str, Any]) -> dict[str, Any]:
    """Return the parameters of a program that were given, by the names of its fields; those in files are read.

    Raises
    ------
    InvalidArgument
        When a file cannot be read, or a parameter is given twice.
    """
    given = {
        name.removeprefix(_PREFIX): value
        for name, value in values.items()
        if name.startswith(_PREFIX) and value is not None
    }
    for name, column in values.items():
        if name.startswith(_COLUMN_PREFIX) and column is not None:
            of = name.removeprefix(_COLUMN_PREFIX)
            if values[_TABLE_PREFIX + of] is None:
                raise InvalidArgument(
                    f"--{of}-column is {column!r}, but --{of}-file names no file", hint="Name it."
                )
    for name, file in _table_files(values):
        given |= _read(name, file, values[_COLUMN_PREFIX + name], given)
    return given


def files_of_parameters(values: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the files that have parameters of a program: the option of each, and its path."""
    for name, file in _table_files(values):
        yield f"--{name.replace('_', '-')}-file", file.path


def _table_files(values: Mapping[str, Any]) -> Iterator[tuple[str, VertexFile]]:
    for name, file in values.items():
        if name.startswith(_TABLE_PREFIX) and file is not None:
            yield name.removeprefix(_TABLE_PREFIX), file


def _read(name: str, file: VertexFile, column: str | None, given: dict[str, Any]) -> dict[str, Any]:
    twice = sorted({name, file.weights} & given.keys())
    if twice:
        raise InvalidArgument(
            f"--{name}-file is {file.path}, and --{twice[0]} is given besides", hint="Leave one of them out."
        )
    from ..ingest.vertex_table import read_vertex_weights

    found = read_vertex_weights(file.path, column=column, ids=file.ids)
    return {name: found.vertices, file.weights: found.weights}


def _table_options(field: dataclasses.Field[Any], spelling: str, *, string_ids: bool) -> list[click.Option]:
    """Return the options by which a file has a parameter: its path, and the column of the weights."""
    ids, weights = "string" if string_ids else "int", str(field.metadata["table"])
    return [
        click.Option(
            [f"{spelling}-file", _TABLE_PREFIX + field.name],
            type=lambda path: VertexFile(path, ids, weights),
            metavar="PATH",
            help=f"{field.name} and {weights} by a file: vertex,weight (.csv, .tsv, .txt, plain or .gz; .parquet, .arrow).",
        ),
        click.Option(
            [f"{spelling}-column", _COLUMN_PREFIX + field.name],
            metavar="NAME",
            help="The column of that file with the weights. Default: weight, where there is one.",
        ),
    ]


def _option(field: dataclasses.Field[Any], hint: Any, *, taken: set[str]) -> click.Option | None:
    spelling = "--" + field.name.replace("_", "-")
    if spelling in taken:
        spelling = "--program-" + field.name.replace("_", "-")
    kind = _unwrap_optional(hint)
    name = _PREFIX + field.name
    required = _required(field)
    shown = "required" if required else f"default {_default_of(field)!r}"
    text = f"Parameter of the program, {shown}."
    # A default of None would count as a value that was given.
    settings: dict[str, Any] = {"required": True} if required else {"default": None}
    if kind is bool:
        negative = "--no-" + spelling.removeprefix("--")
        return click.Option([f"{spelling}/{negative}", name], help=text, **settings)
    parse = _parse_as(kind)
    return None if parse is None else click.Option([spelling, name], type=parse, help=text, **settings)


def _parse_as(kind: Any) -> Callable[[str], Any] | None:
    """Return what turns a word of the command line into a value of this type; None where nothing does."""
    if kind in {int, float, str}:
        parse: Callable[[str], Any] = kind
        return parse
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin is typing.Literal:
        return _one_of({str(value): value for value in arguments})
    if isinstance(kind, type) and issubclass(kind, enum.Enum):
        return _one_of({str(member.value): member for member in kind})
    if origin in {tuple, list, Sequence} and arguments:
        item = _parse_as(arguments[0])
        return None if item is None else _several(item, list if origin is list else tuple)
    return None


def _one_of(spellings: dict[str, Any]) -> Callable[[str], Any]:
    def choice(word: str) -> Any:
        if word not in spellings:
            raise click.BadParameter(f"{word!r} is not one of {', '.join(spellings)}")
        return spellings[word]

    return choice


def _several(item: Callable[[str], Any], container: type) -> Callable[[str], Any]:
    def values(word: str) -> Any:
        try:
            parts = values_of(word)
        except ValueError as error:
            raise click.BadParameter(str(error)) from error
        if not all(parts):
            raise click.BadParameter(f"{word!r} has an empty part; separate values by single commas")
        try:
            return container(item(part) for part in parts)
        except ValueError as error:
            raise click.BadParameter(f"{word!r}: {error}; separate values by commas") from error

    return values


def _unwrap_optional(hint: Any) -> Any:
    if typing.get_origin(hint) in {typing.Union, types.UnionType}:
        rest = [part for part in typing.get_args(hint) if part is not types.NoneType]
        if len(rest) == 1:
            return rest[0]
    return hint


def _required(field: dataclasses.Field[Any]) -> bool:
    return field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING


def _default_of(field: dataclasses.Field[Any]) -> Any:
    return field.default if field.default is not dataclasses.MISSING else "made by the program"
