"""A real PostgreSQL server for tests, on loopback and a free port, in a folder of its own; ended by its process number."""

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path

import psycopg2

from tests.ports import free_port

PASSWORD = "s3cret-of-tests"  # of a server that only this test reaches


def binaries():
    """The folder of `initdb` and `postgres`, or None."""
    folders = [Path(found).parent for name in ("initdb",) if (found := shutil.which(name))]
    folders += sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    return next((folder for folder in folders if (folder / "initdb").exists()), None)


class Server:
    """One server; `start` and `stop` it as often as wanted."""

    def __init__(self, folder):
        self.folder, self._bin = Path(folder), binaries()
        self._as = (
            ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"] if os.getuid() == 0 else []
        )
        self.port = free_port()
        secret = self.folder / "password"
        secret.write_text(PASSWORD)
        for path in (self.folder, secret):
            self.let_have(path)
        self.data = self.folder / "data"
        self._run(
            "initdb",
            "-D",
            self.data,
            "-A",
            "scram-sha-256",
            "-U",
            "tests",
            f"--pwfile={secret}",
            "-N",
            "--no-instructions",
        )
        self._process = None

    def let_have(self, path):
        """Make a file or a folder the server's own."""
        if self._as:
            entry = pwd.getpwnam("postgres")
            os.chown(path, entry.pw_uid, entry.pw_gid)

    def url(self, database="postgres", *, user="tests", password=PASSWORD, port=None):
        return f"postgresql://{user}:{password}@127.0.0.1:{port or self.port}/{database}"

    def start(self):
        options = {
            "listen_addresses": "127.0.0.1",
            "port": self.port,
            "unix_socket_directories": "",
            "fsync": "off",
            "shared_buffers": "32MB",
        }
        settings = [part for name, value in options.items() for part in ("-c", f"{name}={value}")]
        command = [*self._as, self._bin / "postgres", "-D", self.data, *settings]
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(command, stdout=log, stderr=log, stdin=subprocess.DEVNULL)
        until_s = time.monotonic() + 60
        while True:
            try:
                psycopg2.connect(self.url()).close()
            except psycopg2.OperationalError:
                if time.monotonic() > until_s or self._process.poll() is not None:
                    raise
                time.sleep(0.05)
            else:
                return

    def stop(self, *, how=signal.SIGINT):
        if self._process is not None:
            self._process.send_signal(how)
            self._process.wait(60)
            self._process = None

    def execute(self, statement, database="postgres"):
        connection = psycopg2.connect(self.url(database))
        connection.autocommit = True
        try:
            with connection.cursor() as cursor:
                cursor.execute(statement)
                return cursor.fetchall() if cursor.description else None
        finally:
            connection.close()

    def _run(self, name, *arguments):
        done = subprocess.run(
            [*self._as, self._bin / name, *arguments],
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )
        assert done.returncode == 0, done.stderr


@contextmanager
def running():
    """A server that runs."""
    with tempfile.TemporaryDirectory(prefix="postgres-") as folder:
        Path(folder).chmod(0o755)
        server = Server(folder)
        server.start()
        try:
            yield server
        finally:
            server.stop()
