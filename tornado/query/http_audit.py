"""The audit: a line in the log for each request that changes something, or was refused to, with who sent it.

Who is a name or the beginning of a hash, never a token, and no query string is in it. The line has the name of the request
(`http_request_ids.py`), and whoever shows the log adds the time.
"""

from __future__ import annotations

import logging
from urllib.parse import quote

from starlette.types import Message, Scope, Send

from .callers import Caller

AUDIT_LOGGER = __name__
_MOST_PATH = 400
_log = logging.getLogger(AUDIT_LOGGER)


def audited(scope: Scope, send: Send, caller: Caller) -> Send:
    """Return what sends the answer to a request, and logs how that began."""
    path = quote(scope["path"])[:_MOST_PATH]  # with no line's end in it, which would forge a line
    address = (scope.get("client") or ("unknown",))[0]
    who = caller.name if caller.is_known else "nobody"

    async def logged(message: Message) -> None:
        if message["type"] == "http.response.start":
            fields = {
                "who": who,
                "method": scope["method"],
                "path": path,
                "status": message["status"],
                "address": address,
            }
            _log.info(
                "%s %s by %s: %d", scope["method"], path, who, message["status"], extra={"fields": fields}
            )
        await send(message)

    return logged
