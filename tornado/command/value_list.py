"""Several values in one word of the command line: separated by commas, and with a comma inside in double quotes, as in a line of CSV."""

from __future__ import annotations

import csv


def values_of(word: str) -> list[str]:
    """Return the values of a word as texts; blanks around one that has no quotes are not part of it.

    Raises
    ------
    ValueError
        A quote is not closed, something stands between it and the next comma, or a line ends outside of quotes.

    Examples
    --------
    >>> values_of("4, 2"), values_of('"Zug, CH",Bern,"a ""b"" c"')
    (['4', '2'], ['Zug, CH', 'Bern', 'a "b" c'])
    """
    if '"' not in word:
        return [part.strip() for part in word.split(",")]
    try:
        [values] = csv.reader([word], skipinitialspace=True, strict=True)
    except csv.Error as error:
        raise ValueError(
            f"{word!r} is no list of values: {error}; a value with a comma stands in double quotes, and a quote inside of these is written twice"
        ) from error
    return values
