"""One process per store folder, held by a file lock that the kernel gives back when the process dies.

LMDB itself lets several processes write in turns; two main loops that checkpoint into one folder would spoil each other all the
same, so the second one is refused at once, and told who is there. The lock (`flock`) needs no cleaning up after `kill -9`.
"""

from __future__ import annotations

import errno
import fcntl
import os
from pathlib import Path

from ..errors import InvalidArgument, StoreError, StoreFull, StoreLocked

OWNER_FILE_NAME = "owner.lock"
# Less room than this on the disk, and creating the files of a store could fail half-way.
LEAST_FREE_SIZE_BYTES = 1 << 20

_NO_ROOM = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
_NO_PERMISSION = {errno.EACCES, errno.EPERM, errno.EROFS}
_NO_FOLDER = {errno.ENOENT, errno.ENOTDIR, errno.EEXIST, errno.ENAMETOOLONG, errno.ELOOP}


class FolderOwner:
    """The right to use a folder, from construction to `release`.

    Parameters
    ----------
    folder : Path
        Created with its parents where it is missing.

    Raises
    ------
    StoreLocked
        When another owner, in this process or another one, has the folder, or it cannot be written.
    StoreFull
        When its disk has no room for an empty store.
    InvalidArgument
        When the path cannot be a folder.
    """

    def __init__(self, folder: Path) -> None:
        self._process = os.getpid()
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._descriptor = os.open(folder / OWNER_FILE_NAME, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        except OSError as error:
            raise folder_error(folder, error) from error
        try:
            self._claim(folder)
        except BaseException:
            os.close(self._descriptor)
            raise

    def release(self) -> None:
        """Let the next owner in; the file stays, as removing it could remove the lock of another."""
        # A process that was forked meanwhile has the same lock, and may live longer, or be the one that ends.
        if os.getpid() == self._process:
            fcntl.flock(self._descriptor, fcntl.LOCK_UN)
        os.close(self._descriptor)

    def _claim(self, folder: Path) -> None:
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            other = os.pread(self._descriptor, 32, 0).decode("ascii", "replace").strip() or "unknown"
            raise StoreLocked(
                f"the store in {folder} is in use by process {other}",
                hint="Stop that one, ask it over HTTP, or choose another folder: --store lmdb:///OTHER/FOLDER",
            ) from error
        except OSError as error:
            raise folder_error(folder, error) from error
        disk = os.fstatvfs(self._descriptor)
        if disk.f_bavail * disk.f_frsize < LEAST_FREE_SIZE_BYTES:
            raise folder_error(folder, OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)))
        try:
            os.ftruncate(self._descriptor, 0)
            os.pwrite(self._descriptor, f"{os.getpid()}\n".encode("ascii"), 0)
        except OSError as error:
            raise folder_error(folder, error) from error


def folder_error(folder: Path, error: OSError) -> StoreError | InvalidArgument:
    """Return our error for what the system says of a folder."""
    reason = f"{folder}: {'it is a file' if error.errno == errno.EEXIST else error.strerror}"
    if error.errno in _NO_ROOM:
        return StoreFull(
            f"no room to open a store in {reason}", hint="Free some space, or choose another disk."
        )
    if error.errno in _NO_PERMISSION:
        return StoreLocked(
            f"no permission to keep a store in {reason}",
            hint="Make the folder writable for this user, or choose another one: --store lmdb:///OTHER/FOLDER",
        )
    if error.errno in _NO_FOLDER:
        return InvalidArgument(
            f"cannot keep a store in {reason}", hint="Name a folder, or a path where one can be made."
        )
    return StoreError(f"cannot use the folder of the store, {reason}", hint="Check the disk of that folder.")
