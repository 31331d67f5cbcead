"""The disk cache of builds: entries are directories, keyed by a hash of everything that the build depends on.

An entry is made in a temporary directory and renamed under a lock. So processes that want the same entry build it once,
and a build that is killed leaves nothing that could be taken for an entry. The sizes and checksums of its files are
kept with the entry and checked at each use. Cached files are executed, so a directory or entry that other users can
write to is not used. Locks do not outlive a fork: the child holds none of its parent's.
"""

from __future__ import annotations

import atexit
import errno
import fcntl
import hashlib
import json
import os
import shutil
import stat
import sys
import tempfile
import threading
import time
import warnings
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from scriptc.backend_c.fork_safety import unforkable

META = "meta.json"
OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH
LOOK = "looked-at"  # a file whose mtime is the time of the last check of the total size
PRUNE_EVERY = 64  # new entries of a process, at least, between two checks of the total size, ...
PRUNE_SECONDS = 3600  # ... but a process checks first only if no process has for so long, as this reads the directory
PROCESSES = 8  # so many may build at a time and stay below the limit, if none checks before its share of the room is built
DEFAULT_MAX_MB = 2048
CLOCK_SECONDS = 2  # writes that are no further apart than this may leave the same time of change
GRACE_SECONDS = 600  # an entry used this recently may be about to be loaded, so it is not pruned
# On one of these errors, a private directory replaces the cache. Other errors are raised to the caller.
STORAGE_ERRORS = {
    errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EPERM, errno.EIO, errno.ENOLCK, errno.EOPNOTSUPP
}  # fmt: skip


class CacheRefused(Exception):
    """The directory exists, but using it would not be safe."""


def cache_key(*parts: object) -> str:
    """Return a hash of strings, bytes, numbers, None and nested sequences of these.

    Lengths are hashed too, which keeps the parts apart.
    """
    digest = hashlib.sha256()

    def add(part: object) -> None:
        if isinstance(part, (list, tuple)):
            digest.update(b"[%d]" % len(part))
            for item in part:
                add(item)
        else:
            data = part if isinstance(part, bytes) else str(part).encode(errors="surrogatepass")
            digest.update(b"%s:%d:" % (type(part).__name__.encode(), len(data)))
            digest.update(data)

    add(parts)
    return digest.hexdigest()


class Cache:
    """One directory of entries."""

    def __init__(self, root: Path, *, private: bool = False) -> None:
        root.mkdir(mode=0o700, parents=True, exist_ok=True)
        root = root.resolve()  # a link may later point to another directory than the one that was checked
        _require_safe(root)
        if not os.access(root, os.W_OK | os.X_OK):
            raise PermissionError(errno.EACCES, "not writable", str(root))
        self.root = root
        self.private = private
        self._built = 0
        self._room = 0  # the bytes that were free at the last check of the total size
        self._added = 0  # the bytes that this process has built since

    def find(self, key: str) -> Path | None:
        """Return the directory of `key`, or None if there is none or it is damaged."""
        path = self.root / key
        return path if self._use(path) else None

    def entry(self, key: str, produce: Callable[[Path], None], *, again: bool = False) -> Path:
        """Return the directory of `key`, which `produce` fills if there is none, or if `again` is set.

        An exception of `produce` leaves nothing behind.
        """
        path = self.root / key
        if not again and self._use(path):
            return path
        self.root.mkdir(mode=0o700, parents=True, exist_ok=True)  # the user may have cleared it while we ran
        with self._locked(key):
            if not again and self._use(path):  # another process has built the entry
                return path
            _remove(path)
            temporary = self.root / f"{key}.tmp"
            _remove(temporary)  # left by a killed builder: this process holds the lock now
            try:
                temporary.mkdir(mode=0o700)
                produce(temporary)
                self._added += _write_meta(temporary, key)
                os.replace(temporary, path)
            except BaseException:
                _remove(temporary)
                raise
        if self._built % PRUNE_EVERY == 0 and (self._added >= self._room / PROCESSES if self._built else self._unseen()):
            self.prune()
        self._built += 1
        return path

    def _unseen(self) -> bool:
        """Return whether the last check of the total size, by any process, is long ago."""
        try:
            return time.time() - (self.root / LOOK).stat().st_mtime > PRUNE_SECONDS
        except FileNotFoundError:
            return True

    def size(self) -> int:
        """Return the number of bytes in all entries."""
        return sum(size for _, size, _ in self._entries())

    def prune(self, max_bytes: int | None = None, *, grace: float = GRACE_SECONDS) -> int:
        """Drop the least recently used entries until at most `max_bytes` are left. Return the number of dropped
        entries.
        """
        with suppress(OSError):  # the disk may be full, and pruning helps then
            (self.root / LOOK).touch()
        limit = max_bytes if max_bytes is not None else _max_bytes()
        entries = sorted(self._entries())
        total = sum(size for _, size, _ in entries)
        dropped = 0
        for used, size, path in entries:
            if total <= limit or used > time.time() - grace:
                break
            if self._drop(path):
                total -= size
                dropped += 1
        self._room, self._added = max(0, limit - total), 0
        return dropped

    def _drop(self, path: Path) -> bool:
        """Remove an entry, or the leftovers of a dead builder. Return False if a process holds its lock or has removed
        it.
        """
        key = path.name.removesuffix(".tmp")
        with self._locked(key, wait=False) as mine:
            if not mine or not path.exists():
                return False
            doomed = path.with_name(f"{key}.tmp")
            if doomed != path:
                _remove(doomed)
                os.replace(path, doomed)  # removes the entry atomically
            _remove(doomed)
        return True

    def _entries(self) -> Iterator[tuple[float, int, Path]]:
        """Return (last use, bytes, path) of each entry, and of the leftovers of dead builders."""
        with os.scandir(self.root) as items:
            for item in items:
                try:
                    if item.is_dir():
                        files = {path: info for path, info in _files(item.path) if stat.S_ISREG(info.st_mode)}
                        used = files.get(f"{item.path}/{META}", item.stat()).st_mtime
                        yield used, sum(info.st_size for info in files.values()), Path(item.path)
                except FileNotFoundError:  # another process has removed or renamed it
                    continue

    def _use(self, path: Path) -> bool:
        """Return whether there is a whole entry at `path`, and note that it was used."""
        try:
            if not _is_whole(path):
                return False
        except (OSError, ValueError, TypeError, KeyError, AttributeError):
            return False
        try:
            os.utime(path / META)
        except OSError:  # a read-only cache still serves what it has
            pass
        return True

    @contextmanager
    def _locked(self, key: str, *, wait: bool = True) -> Iterator[bool]:
        """Hold the lock of `key`, which ends with the process. Yield False if it is taken and `wait` is not set."""
        path = self.root / f"{key}.lock"
        while True:
            with unforkable:
                descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
                _descriptors.add(descriptor)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                _close(descriptor)
                yield False
                return
            except BaseException:
                _close(descriptor)
                raise
            # The last holder unlinks the file. A process that waited on that file holds nothing and tries again.
            if _same_file(descriptor, path):
                break
            _close(descriptor)
        try:
            yield True
        finally:
            if descriptor in _descriptors:  # else this is a forked child, and its parent holds the lock
                path.unlink(missing_ok=True)
                _close(descriptor)


_caches: dict[str, Cache] = {}  # the cache in use, by configured directory
_caches_lock = threading.RLock()
_read: dict[str, tuple[int, ...]] = {}  # by path: the state and the checksum of a file that this process has read whole
_descriptors: set[int] = set()  # files whose locks this process holds or waits for


def _close(descriptor: int) -> None:
    _descriptors.remove(descriptor)
    fcntl.flock(descriptor, fcntl.LOCK_UN)  # also for copies, such as those of a child that C forked
    os.close(descriptor)


def _forget_locks() -> None:
    """Close, in a forked child, the locks that threads of the parent hold.

    A file lock belongs to all copies of its descriptor. With a copy, the child would wait for itself, and hold the lock
    after the parent has ended.
    """
    global _caches_lock
    _caches_lock = threading.RLock()
    while _descriptors:
        os.close(_descriptors.pop())


os.register_at_fork(after_in_child=_forget_locks)


def cache_directory() -> Path:
    """Return the directory in which the user wants builds to be kept."""
    chosen = os.environ.get("SCRIPTC_CACHE_DIR")
    if chosen:
        return Path(chosen).expanduser().absolute()
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return Path(base, "scriptc").absolute()


def current() -> Cache:
    """Return the cache of this process: the configured one or, if that cannot be used, a private temporary one."""
    root = cache_directory()
    with _caches_lock:
        if str(root) not in _caches:
            try:
                _caches[str(root)] = Cache(root)
            except (OSError, CacheRefused) as error:
                return _fall_back(root, error)
        return _caches[str(root)]


def cached(key: str, produce: Callable[[Path], None], *, again: bool = False) -> Path:
    """Return `Cache.entry` of the current cache. Use a private directory if the disk is full or becomes read-only."""
    cache = current()
    try:
        return cache.entry(key, produce, again=again)
    except OSError as error:
        if cache.private or error.errno not in STORAGE_ERRORS:
            raise
        return _fall_back(cache.root, error).entry(key, produce, again=again)


def _fall_back(root: Path, reason: Exception) -> Cache:
    with _caches_lock:
        known = _caches.get(str(root))
        if known is None or not known.private:
            warnings.warn(
                f"scriptc does not use the cache directory {root} ({reason}); builds of this process go to a temporary "
                "directory. Set SCRIPTC_CACHE_DIR to a directory that only you can write.",
                RuntimeWarning,
                stacklevel=3,
            )
            directory = tempfile.mkdtemp(prefix="scriptc-")
            atexit.register(_remove_if_ours, directory, os.getpid())
            try:
                known = _caches[str(root)] = Cache(Path(directory), private=True)
            except CacheRefused as error:
                raise CacheRefused(f"nor is the temporary directory {directory} safe: {error}; set TMPDIR") from None
        return known


def _remove_if_ours(directory: str, owner: int) -> None:
    if os.getpid() == owner:  # a forked child must not remove its parent's directory
        shutil.rmtree(directory, ignore_errors=True)


def _require_safe(root: Path) -> None:
    """Raise CacheRefused if somebody else may put files into a directory, or another directory in its place."""
    info = root.stat()
    if not stat.S_ISDIR(info.st_mode):
        raise CacheRefused("it is not a directory")
    if info.st_uid != os.geteuid():
        raise CacheRefused(f"it belongs to user {info.st_uid}")
    if info.st_mode & OTHERS_WRITE:
        raise CacheRefused(f"others can write it, its mode is {stat.S_IMODE(info.st_mode):04o}; chmod go-w helps")
    trusted = {0, info.st_uid, os.stat("/").st_uid}
    for folder in root.parents:
        info = folder.stat()
        mode = f"its mode is {stat.S_IMODE(info.st_mode):04o}; chmod go-w, or +t, helps"
        if info.st_uid not in trusted:
            raise CacheRefused(f"it lies below {folder}, which belongs to user {info.st_uid}")
        if info.st_mode & OTHERS_WRITE and not info.st_mode & stat.S_ISVTX and not _is_private_group(info):
            raise CacheRefused(f"it lies below {folder}, which others can write, {mode}")


def _is_private_group(info: os.stat_result) -> bool:
    """Return whether a directory may be written by its owner's group alone, in which nobody but the owner is."""
    if info.st_mode & stat.S_IWOTH:
        return False
    import grp
    import pwd

    try:
        group, owner = grp.getgrgid(info.st_gid), pwd.getpwuid(info.st_uid)
    except KeyError:
        return False
    return group.gr_name == owner.pw_name and set(group.gr_mem) <= {owner.pw_name}


def _max_bytes() -> int:
    chosen = os.environ.get("SCRIPTC_CACHE_MAX_MB", "").strip()
    try:
        limit = float(chosen or DEFAULT_MAX_MB)
        if limit >= 0:
            return int(min(limit * 2**20, sys.maxsize))
    except ValueError:
        pass
    warnings.warn(
        f"SCRIPTC_CACHE_MAX_MB is {chosen!r}, which is no number of megabytes; {DEFAULT_MAX_MB} is used",
        RuntimeWarning,
        stacklevel=2,
    )
    return DEFAULT_MAX_MB * 2**20


def _files(folder: str) -> Iterator[tuple[str, os.stat_result]]:
    """Return the paths and states of all that a folder holds, folders included."""
    with os.scandir(folder) as items:
        for item in items:
            yield item.path, item.stat()
            if item.is_dir(follow_symlinks=False):
                yield from _files(item.path)


def _write_meta(directory: Path, key: str) -> int:
    """Note the size and digest of each file of an entry. From then on its owner alone may write them. Return their bytes."""
    files = {}
    for path, info in list(_files(os.fspath(directory))):
        os.chmod(path, stat.S_IMODE(info.st_mode) & ~OTHERS_WRITE)
        if stat.S_ISREG(info.st_mode):
            files[os.path.relpath(path, directory)] = [info.st_size, _digest(path)]
    (directory / META).write_text(json.dumps({"key": key, "files": files}), encoding="utf-8")
    (directory / META).chmod(0o600)
    return sum(size for size, _ in files.values())


def _is_whole(entry: Path) -> bool:
    """Return whether the files of an entry are those that were written, and nobody else may write them."""
    owner = os.geteuid()

    def is_ours(info: os.stat_result, kind: int) -> bool:
        return stat.S_IFMT(info.st_mode) == kind and info.st_uid == owner and not info.st_mode & OTHERS_WRITE

    folder = os.fspath(entry)
    if not is_ours(os.lstat(folder), stat.S_IFDIR) or not is_ours(os.lstat(f"{folder}/{META}"), stat.S_IFREG):
        return False
    with open(f"{folder}/{META}", "rb") as file:
        meta = json.loads(file.read())
    if meta["key"] != entry.name:
        return False
    for name, (size, digest) in meta["files"].items():
        path = f"{folder}/{name}"
        info = os.lstat(path)
        if not is_ours(info, stat.S_IFREG) or info.st_size != size:
            return False
        state = (info.st_dev, info.st_ino, info.st_size, info.st_mtime_ns, info.st_ctime_ns, digest)
        if _read.get(path) == state:  # compiled headers have megabytes, and each build uses them
            continue
        if _digest(path) != digest:
            return False
        if time.time() - info.st_ctime > CLOCK_SECONDS:
            _read[path] = state
    return True


def _digest(path: str | Path) -> int:
    """Return the CRC-32 of a file.

    It finds damage, such as any flipped bit. Against malice, the owner of the file is checked. A cryptographic hash
    would take five times as long, at each start of a process.
    """
    with open(path, "rb") as file:
        return zlib.crc32(file.read())


def _same_file(descriptor: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), path.stat())
    except FileNotFoundError:
        return False


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)
