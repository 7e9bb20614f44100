"""What is logged while a service runs, as lines on standard error: warnings always, requests where they are wanted, and changes of a service that has tokens.

A line has the same form as everything else there: text for people, or with `--json` one document with time, level, logger, the
name of the request in which it happened, and the fields that whoever logged it gave (`extra={"fields": …}`).

Whoever logs does not wait until a line is written (`line_writer.py`); at the end of the `with` all of them are. A line of the audit is
written when it is logged, and never left out: it has a thread of its own, which whoever changes something waits for (`query/http_audit.py`).
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Iterator
from datetime import UTC, datetime

import click

from ..query.http_audit import AUDIT_LOGGER
from ..query.http_request_ids import ACCESS_LOGGER
from ..query.http_request_ids import current as current_request
from .line_writer import LineWriter
from .presentation import event_line


@contextlib.contextmanager
def log_lines(*, as_json: bool, with_requests: bool) -> Iterator[None]:
    """Show what is logged, and warnings of Python."""
    handler = _Lines(as_json=as_json)
    root, requests = logging.getLogger(), logging.getLogger(ACCESS_LOGGER)
    root.addHandler(handler)
    audit = logging.getLogger(AUDIT_LOGGER)
    audit.setLevel(logging.INFO)
    requests.setLevel(logging.INFO if with_requests else logging.NOTSET)
    logging.captureWarnings(True)
    try:
        yield
    finally:
        logging.captureWarnings(False)
        requests.setLevel(logging.NOTSET)
        audit.setLevel(logging.NOTSET)
        root.removeHandler(handler)
        handler.close()


class _Lines(logging.Handler):
    def __init__(self, *, as_json: bool) -> None:
        super().__init__()
        self._as_json = as_json
        self._writer = LineWriter(_write, say_left_out=self._left_out)

    def filter(self, record: logging.LogRecord) -> bool:
        """See `logging.Handler`: what libraries tell below a warning is for those who work on them."""
        return record.levelno >= logging.WARNING or record.name in {ACCESS_LOGGER, AUDIT_LOGGER}

    def emit(self, record: logging.LogRecord) -> None:
        """See `logging.Handler`: the line is made where the request is known, and written elsewhere but for the audit's."""
        if record.name == AUDIT_LOGGER:
            _write(self._line(record))
        else:
            self._writer.take(self._line(record))

    def close(self) -> None:
        """Write what waits."""
        self._writer.close()
        super().close()

    def _line(self, record: logging.LogRecord) -> str:
        level, request = record.levelname.lower(), current_request()
        is_audit = record.name == AUDIT_LOGGER
        text = f"{'audit' if is_audit else level}: {self.format(record)}"
        if not self._as_json:
            return text if request is None else f"{text} [{request}]"
        named = {} if request is None else {"request": request}
        return event_line(
            "audit" if is_audit else "log",
            message=text,
            level=level,
            time=datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            logger=record.name,
            **named,
            **getattr(record, "fields", {}),
        )

    def _left_out(self, count: int) -> str:
        text = f"warning: {count} lines were left out, because nobody read them as fast as they came"
        return event_line("lines-left-out", message=text, lines=count) if self._as_json else text


def _write(line: str) -> None:
    click.echo(line, err=True)
