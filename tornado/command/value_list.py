"""Several values in one word of the command line: separated by commas, and with a comma inside in double quotes, as in a line of CSV."""

from __future__ import annotations

import re
from typing import Final

_VALUE: Final = re.compile(r'\s*"((?:[^"]|"")*)"\s*,|\s*([^\s",][^,]*|),')


def values_of(word: str) -> list[str]:
    """Return the values of a word as texts; blanks around one, and around its quotes, are not part of it.

    Raises
    ------
    ValueError
        A quote is not closed, or something stands between it and the next comma.

    Examples
    --------
    >>> values_of("4, 2"), values_of('"Zug, CH" , Bern ,"a ""b"" c"')
    (['4', '2'], ['Zug, CH', 'Bern', 'a "b" c'])
    """
    # Python's csv knows no blanks behind values, and of those before them only spaces.
    text = f"{word},"
    values: list[str] = []
    position = 0
    while position < len(text):
        found = _VALUE.match(text, position)
        if found is None:
            raise ValueError(
                f"{word!r} is no list of values: a quote is not closed, or something stands between it and the next comma; a value with a "
                "comma stands in double quotes, and a quote inside of these is written twice"
            )
        quoted, plain = found.groups()
        values.append(plain.rstrip() if quoted is None else quoted.replace('""', '"'))
        position = found.end()
    return values
