"""The audit: a line in the log for each request that changes something, or was refused to, with who sent it.

Who is a name or the beginning of a hash, never a token, and no query string is in it. The line has the name of the request
(`http_request_ids.py`), and whoever shows the log adds the time. It is written before the answer begins, by a thread of its own: where
standard error takes nothing, only those wait that change something.
"""

from __future__ import annotations

import asyncio
import logging
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from functools import partial
from urllib.parse import quote

from starlette.types import Message, Scope, Send

from .callers import Caller

AUDIT_LOGGER = __name__
_MOST_PATH = 400
_log = logging.getLogger(AUDIT_LOGGER)
_writer = ThreadPoolExecutor(1, thread_name_prefix="tornado-audit")


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
            text = f"{scope['method']} {path} by {who}: {message['status']}"
            line = partial(_log.info, "%s", text, extra={"fields": fields})
            # The context has the name of the request.
            await asyncio.get_running_loop().run_in_executor(_writer, copy_context().run, line)
        await send(message)

    return logged
