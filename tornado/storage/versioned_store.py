"""What every store promises: versions of keyed pages, written whole or not at all.

A store is a map (loop, key, version) → page, as the versioned storage of the Tornado paper (§5.2): a loop writes what
changed, and a branch or a recovery reads the state as it was at a version. Pages are opaque bytes; no store looks inside one
or loops over records. `loop` names any line of versions: a main loop, or the kept results of one branch.

Laws, for one loop. `view(v)` is the mapping of keys to pages at version v; before the first write it is empty:

1. *Write.* After ``write(loop, v, items, deletes=d)`` view(v) is the newest view so far, updated with `items`, without the
   keys in `d`. It shows wholly or not at all, whatever fails: an exception, `kill -9`, a full disk.
2. *Order.* v is at least the newest stored version. Equal means: the newest version is written once more (last write wins).
3. *History.* No write changes a view below its v. Between stored versions nothing happens: view(x) is that of the newest
   stored version not above x.
4. *Forgetting.* ``delete_before(loop, v)`` lets history begin at b, the newest stored version not above v: views from b on stay
   as they are, and asking for one below b is an `InvalidArgument`, never an old answer.
5. *Separation.* No call changes what another loop's reads give.
6. *Copies.* The store keeps copies; what the caller does to its arrays afterwards does not show.

Every call is safe from every thread. Left out on purpose: transactions over several loops, and branching histories.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Protocol, Self

from ..errors import InvalidArgument

if TYPE_CHECKING:
    from typing_extensions import Buffer

MAX_KEY_SIZE_BYTES = 240
MAX_LOOP_SIZE_BYTES = 240
MAX_VERSION = 2**63 - 1
# A scan leaves a store after this much, so that a slow consumer holds up neither what it has to do meanwhile nor its memory.
SCAN_BATCH_KEYS = 256
SCAN_BATCH_SIZE_BYTES = 8 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreStatistics:
    """What a store holds at one instant.

    Attributes
    ----------
    loops, versions : int
        How many loops, and stored versions of all loops.
    size_bytes : int
        Room in use, with the overhead of the store.
    """

    loops: int
    versions: int
    size_bytes: int


class VersionedStore(Protocol):
    """The contract; the laws are in the docstring of the module.

    Every method raises `InvalidArgument` for a malformed loop, key or version, and for a store that was closed. A durable
    store may raise any `StoreError`; after one, the store has the views it had before the call. (A server that is lost in the middle of a
    call may have carried it out. Then the next call takes that back, unless it has written a version again that was the newest.)
    """

    @property
    def url(self) -> str:
        """What `open_store` was given, in full but for a password."""
        ...

    @property
    def durable(self) -> bool:
        """Whether a write that returned survives the process."""
        ...

    def write(
        self,
        loop: str,
        version: int,
        items: Mapping[bytes, Buffer],
        *,
        deletes: Collection[bytes] = (),
        metadata: bytes = b"",
    ) -> None:
        """Store one version, atomically (laws 1 and 2).

        Parameters
        ----------
        loop : str
            1 to 240 bytes of UTF-8.
        version : int
            From 0 on, and not below the newest version of the loop.
        items : mapping of bytes to buffers
            The pages that changed: keys of at most 240 bytes, values anything with a C-contiguous buffer (bytes, NumPy arrays).
            Read, not written, and copied once.
        deletes : collection of bytes
            Keys that end here. Those that do not exist are no mistake; those that are in `items` too are.
        metadata : bytes
            What `metadata` gives back for this version; small (offsets, instant), of any format.

        Raises
        ------
        InvalidArgument
            For a version below the newest one, a key that is too long or in both `items` and `deletes`.
        StoreFull
            When there is no room; nothing has changed then.
        """
        ...

    def read(self, loop: str, key: bytes, version: int) -> bytes | None:
        """Return ``view(version)[key]``, or None where it is not in that view.

        Raises `InvalidArgument` where `delete_before` forgot that version. Cost: one lookup.
        """
        ...

    def scan(self, loop: str, version: int, prefix: bytes = b"") -> Iterator[tuple[bytes, bytes]]:
        """Yield the pairs of ``view(version)`` whose key begins with `prefix`, by ascending key.

        Nothing is locked between two pairs: a caller may write meanwhile, which does not show unless it rewrites this very
        version. Raises `InvalidArgument` when that version is forgotten before the end.
        """
        ...

    def keys(self, loop: str, version: int, prefix: bytes = b"") -> Iterator[bytes]:
        """Yield what `scan` yields, without reading the pages."""
        ...

    def metadata(self, loop: str, version: int) -> bytes | None:
        """Return the metadata of exactly this version, or None where it is not stored."""
        ...

    def versions(self, loop: str) -> list[int]:
        """Return the stored versions of the loop, ascending; none where it is unknown."""
        ...

    def loops(self) -> list[str]:
        """Return the loops with a stored version, sorted."""
        ...

    def delete_before(self, loop: str, version: int) -> int:
        """Forget history that no read at `version` or later needs (law 4).

        Returns
        -------
        int
            How many versions were forgotten. Cost: one step per stored (key, version) of the loop.
        """
        ...

    def drop(self, loop: str) -> None:
        """Forget the loop altogether; its name can begin anew. An unknown loop is no mistake."""
        ...

    def statistics(self) -> StoreStatistics:
        """Return what the store holds now."""
        ...

    def close(self) -> None:
        """End the use of the store, after the calls under way. Closing twice is no mistake."""
        ...

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


# A page to be stored as flat bytes, or None for a key that ends.
Changes = dict[bytes, memoryview | None]


def checked_changes(items: Mapping[bytes, Buffer], deletes: Collection[bytes]) -> Changes:
    """Return what a write changes, by key, after the whole call was found valid; no page is copied."""
    changes: Changes = {}
    for key, page in items.items():
        changes[checked_key(key)] = _flat(key, page)
    for key in deletes:
        if checked_key(key) in items:
            raise InvalidArgument(
                f"key {key!r} is both written and deleted", hint="Leave it out of items or of deletes."
            )
        changes[key] = None
    return changes


def checked_key(key: bytes) -> bytes:
    """Return `key` where it is bytes of a length that every store takes."""
    if not isinstance(key, bytes):
        raise InvalidArgument(f"key {key!r} is {type(key).__name__}, but keys are bytes")
    if len(key) > MAX_KEY_SIZE_BYTES:
        raise InvalidArgument(
            f"key {key[:32]!r}… has {len(key)} bytes, at most {MAX_KEY_SIZE_BYTES} are allowed"
        )
    return key


def checked_loop(loop: str) -> bytes:
    """Return the name of a loop as the bytes to store, where it is neither empty nor too long."""
    try:
        name = loop.encode()
    except UnicodeEncodeError as error:
        raise InvalidArgument(f"loop {loop!r} cannot be written as UTF-8: {error.reason}") from error
    if not 1 <= len(name) <= MAX_LOOP_SIZE_BYTES:
        raise InvalidArgument(
            f"loop {loop[:32]!r} has {len(name)} bytes of UTF-8, 1 to {MAX_LOOP_SIZE_BYTES} are allowed"
        )
    return name


def checked_version(version: int) -> int:
    """Return `version` where it is one that can be stored."""
    if not 0 <= version <= MAX_VERSION:
        raise InvalidArgument(f"version {version} is outside 0 … {MAX_VERSION}")
    return version


def check_order(loop: str, version: int, newest: int | None) -> None:
    """Raise where a write at `version` would change history (law 2)."""
    if newest is not None and version < newest:
        raise InvalidArgument(
            f"version {version} of loop {loop!r} is below its newest stored version, {newest}",
            hint="Versions never go back; drop the loop to begin anew.",
        )


def check_remembered(loop: str, version: int, floor: int) -> None:
    """Raise where `version` was forgotten (law 4)."""
    if version < floor:
        raise InvalidArgument(
            f"version {version} of loop {loop!r} was deleted; what is kept begins at version {floor}",
            hint="Ask for a stored version.",
        )


def closed_error(url: str) -> InvalidArgument:
    """Return the error of using a store after its close."""
    return InvalidArgument(f"the store {url} is closed", hint="Open it again with open_store.")


def _flat(key: bytes, page: Buffer) -> memoryview:
    try:
        view = memoryview(page)
        # An empty view with a shape refuses to be cast.
        return view.cast("B") if view.nbytes else memoryview(b"")
    except TypeError as error:
        raise InvalidArgument(
            f"the page of key {key!r} ({type(page).__name__}) is no C-contiguous buffer: {error}",
            hint="Pass bytes, or numpy.ascontiguousarray of the array.",
        ) from error
