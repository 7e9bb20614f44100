"""The HTTP server: the application served by uvicorn on a thread of its own.

The socket is bound and listens before the thread starts, so a port that is taken is an error of `start`, with nothing
begun; port 0 takes a free one. Bound to loopback unless told otherwise; anything else needs tokens.
"""

from __future__ import annotations

import asyncio
import errno
import logging
import socket
import ssl
import threading
import time
from typing import Self

import uvicorn

from ..config import DEFAULT_HTTP_HOST, DEFAULT_HTTP_PORT
from ..errors import InternalError, InvalidArgument, PeerError, PortInUse
from .exposure import is_loopback, require_loopback
from .http_app import create_app
from .http_bulkheads import Bulkheads
from .http_connections import AcceptFailures, Connections
from .http_hosts import LOOPBACK_HOSTS
from .http_requests import HttpLimits
from .http_routes_queries import Stopping
from .http_routes_streams import LoopControl
from .metrics import Metrics
from .observer import Observer
from .server_certificate import ServerCertificate
from .service import QueryService
from .token_file import TokenFile

STARTING_S = 10.0
STOPPING_S = 5
_CANCELLED_S = 1  # and then the framework ends them, each with its traceback
BACKLOG = 512
_ACCEPTED_AT_ONCE = 64  # before those are counted: fewer than the files that there are beside

_log = logging.getLogger(__name__)


class HttpServer:
    """Serves a query service over HTTP.

    Parameters
    ----------
    service : QueryService
        Not ours to close.
    host : str
        Name or address to bind to.
    port : int
        0 takes a free one; see `port` after `start`.
    loops : LoopControl, optional
        Starts and removes loops; left out, none can be.
    limits : HttpLimits, optional
        What one client may take.
    tokens : TokenFile, optional
        Who is let in; left out, anybody who can reach it, which must then be this machine alone.
    certificate : ServerCertificate, optional
        With which it speaks TLS; left out, it does not.

    Attributes
    ----------
    observer : Observer
        What looks for everybody who watches.
    """

    def __init__(
        self,
        service: QueryService,
        host: str = DEFAULT_HTTP_HOST,
        port: int = DEFAULT_HTTP_PORT,
        *,
        loops: LoopControl | None = None,
        limits: HttpLimits | None = None,
        tokens: TokenFile | None = None,
        certificate: ServerCertificate | None = None,
    ) -> None:
        if not 0 <= port <= 65_535:
            raise InvalidArgument(f"port is {port} but must be from 0 to 65535", hint="0 takes a free one.")
        self.service = service
        self.host = host
        self.port = port
        self.tokens = tokens
        self._certificate = certificate
        self._context: ssl.SSLContext | None = None
        self._wanted_port = port
        self._loops = loops
        self._limits = limits or HttpLimits()
        self._metrics = Metrics(
            service,
            service.pusher.quarantine.counts,
            let_go=lambda: service.pusher.quarantine.statistics().let_go,
            within_s=self._limits.look_timeout_s / 2,
        )
        self.observer = Observer(service, within_s=self._limits.look_timeout_s / 2)
        self._server: uvicorn.Server | None = None
        self._thread: threading.Thread | None = None
        self._stopping = Stopping()
        self._bulkheads = Bulkheads.of(self._limits)
        self._loop: asyncio.AbstractEventLoop | None = None

    @property
    def url(self) -> str:
        """Where the server is, without a slash at the end."""
        return f"{'http' if self._certificate is None else 'https'}://{self._host}:{self.port}"

    def start(self) -> Self:
        """Bind, and answer requests on a thread from now on.

        Raises
        ------
        InvalidArgument
            When other machines could reach it, and there are no tokens; or its certificate is of no use.
        PortInUse
            When somebody listens there.
        PeerError
            When the address cannot be bound for another reason.
        """
        if self._thread is not None:
            raise InvalidArgument(f"the server at {self.url} runs already", hint="Stop it first.")
        if self.tokens is None:
            require_loopback(self.host)
        self._context = None
        if self._certificate is not None:
            self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            self._certificate.load_into(self._context)
        bound = _bind(self.host, self._wanted_port)
        self.port = bound.getsockname()[1]
        is_local = is_loopback(str(bound.getsockname()[0]))
        self._stopping = Stopping()
        self._bulkheads = Bulkheads.of(self._limits)
        self._connections = Connections(
            most=self._limits.connections,
            head_s=self._limits.head_timeout_s,
            read_s=self._limits.unread_timeout_s,
            context=self._context,
        )
        app = create_app(
            self.service,
            loops=self._loops,
            metrics=self._metrics,
            observer=self.observer,
            limits=self._limits,
            bulkheads=self._bulkheads,
            stopping=self._stopping,
            hosts=[*LOOPBACK_HOSTS, self._host] if is_local else None,
            tokens=self.tokens,
        )
        config = uvicorn.Config(
            app,
            log_level="warning",
            log_config=None,
            http=self._connections,  # type: ignore[arg-type]  # it is only called
            access_log=False,
            lifespan="off",
            server_header=False,
            ws="none",
            backlog=_ACCEPTED_AT_ONCE,
            timeout_keep_alive=30,
            timeout_graceful_shutdown=STOPPING_S + _CANCELLED_S,
        )
        self.observer.start()
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._run, args=(bound,), name="tornado-http", daemon=True)
        self._thread.start()
        give_up_s = time.monotonic() + STARTING_S
        while not self._server.started:
            if not self._thread.is_alive() or time.monotonic() > give_up_s:
                self.stop()
                raise InternalError(f"the HTTP server did not start at {self.url} within {STARTING_S:g} s")
            time.sleep(0.002)
        bound.listen(BACKLOG)  # the framework has it hold no more than are accepted at once
        return self

    def reload(self) -> None:
        """Read tokens and certificate again; connections that are there keep what they have.

        Raises
        ------
        InvalidArgument
            When either cannot be used; it stays as it was then, and the other is read all the same.
        """
        refused = []
        if self.tokens is not None:
            try:
                self.tokens.reload()
            except InvalidArgument as error:
                refused.append(f"the tokens stay as they were: {error}")
        if self._certificate is not None and self._context is not None:
            try:
                self._certificate.load_into(self._context)
            except InvalidArgument as error:
                refused.append(f"the certificate stays as it was: {error}")
        if refused:
            raise InvalidArgument("; ".join(refused))

    def stop(self) -> None:
        """Finish the answers under way, wake those that wait, and end the thread; a second call does nothing.

        What takes longer than `STOPPING_S` is answered as unresponsive (503).
        """
        thread, server, loop = self._thread, self._server, self._loop
        self._thread = None
        if thread is None or server is None:
            return
        server.should_exit = True
        if loop is not None and thread.is_alive():
            loop.call_soon_threadsafe(self._begin_to_end, server)
        thread.join()
        self.observer.stop()
        self._bulkheads.close()

    @property
    def _host(self) -> str:
        """The host as a URL writes it."""
        return f"[{self.host}]" if ":" in self.host else self.host

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _begin_to_end(self, server: uvicorn.Server) -> None:
        """Wake those that wait, and have the others come to an end in time; on the event loop."""
        self._stopping.set()
        asyncio.get_running_loop().call_later(STOPPING_S, _give_up, server)

    def _run(self, bound: socket.socket) -> None:
        assert self._server is not None
        with bound, asyncio.Runner() as runner:
            self._loop = runner.get_loop()
            self._loop.set_exception_handler(AcceptFailures())
            runner.run(self._server.serve(sockets=[bound]))


def _give_up(server: uvicorn.Server) -> None:
    """Cancel what is under way still; each request is answered then (`RequestIds`)."""
    tasks = server.server_state.tasks
    if tasks:
        _log.warning(
            "the HTTP server ends, and waits no longer for requests that have not come to an end within %g s: %d",
            STOPPING_S,
            len(tasks),
        )
    for task in tasks:
        task.cancel()


def _bind(host: str, port: int) -> socket.socket:
    """Return a socket that listens."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except socket.gaierror as error:
        raise InvalidArgument(
            f"the host {host!r} has no address: {error.strerror}",
            hint="Use 127.0.0.1, or this machine's own name.",
        ) from error
    family, kind, protocol, _, address = found[0]
    bound = socket.socket(family, kind, protocol)
    try:
        # A restart must not wait for connections of the last run to fade; two that listen are refused all the same.
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind(address)
        bound.listen(BACKLOG)
    except OSError as error:
        bound.close()
        if error.errno == errno.EADDRINUSE:
            raise PortInUse(
                f"port {port} on {host} is in use",
                hint=f"Choose another one, such as --http {host}:{port + 1 if port < 65_535 else 8080}, take a free one "
                f"with --http {host}:0, or stop the program that listens there.",
            ) from error
        if error.errno == errno.EACCES:
            raise PeerError(
                f"port {port} on {host} may not be used: {error.strerror}",
                hint="Ports below 1024 need privileges; choose a higher one.",
            ) from error
        raise PeerError(
            f"{host}:{port} cannot be bound: {error.strerror}", hint="Is this an address of this machine?"
        ) from error
    return bound
