"""A whole host for sqlarium's component, in one file: python.py COMPONENT mcp [OPTIONS] DATABASE serves a database on
standard input and output. It needs the package wasmtime, 50.0.1.

docs/hosts.md explains each part. It has files with SQLite's own locks, a deadline, a work and a memory budget, recovery
after an abort, and a second instance for lines that arrive meanwhile. It has no shared memory, and no files but the
database; what an import asks for that is not here is answered as the doc comments in wit/ say.
"""

import argparse
import fcntl
import hashlib
import os
import queue
import sys
import threading
import time
from ctypes import byref, c_ubyte, c_void_p, cast, sizeof
from importlib.metadata import version
from pathlib import Path

from wasmtime import _ffi as ffi
from wasmtime import Config, Engine, Store, Trap, WasiConfig, WasmtimeError
from wasmtime.component import Component, Linker, Record, ResourceAny, ResourceHost, ResourceType, Variant
from wasmtime.component._types import ListType

CONTRACT = "sqlarium:sandbox/{}@0.2.0"
DATABASE = "main.db"
RECORD = "//undo"  # what the guest keeps for undo
FILE = 1  # by which wasmtime knows the resource type `file`

GRACE_SECONDS = 1.0  # what a call that does not stop gets on top
SMALL_SECONDS = 3.0  # for a line that is triaged, or answered for an instance that was aborted
SHUTDOWN_SECONDS = 5.0  # what a call gets when the client has gone
SLICE = 200_000  # what a call may count between two looks at the clock: about a millisecond
CALL_BEGINS = -(1 << 63)
HEAD_BYTES = 4096
READ_BYTES = 16 << 20

ADVICE = "Ask for less, or split the work."
FAULT = "Stopped: the sandbox failed during this call and was restarted. Everything that was committed is safe."
ABORTS = (Trap, WasmtimeError, TimeoutError, MemoryError)
NONE, SHARED, RESERVED, PENDING, EXCLUSIVE = LEVELS = ["none", "shared", "reserved", "pending", "exclusive"]

# The interfaces that this host does not have.
STUBS = {
    "shared-memory": {"map-region": "unsupported", "lock": "unsupported", "barrier": None, "unmap": "unsupported"},
    "direct-io": {"read": "unsupported"},
    "audit": {"begin": None, "end": None, "trouble": None},
    "threads": {"recall": [], "append": False},
    "console": {"print": False},
}


def record(**fields):
    made = Record()
    for name, value in fields.items():
        setattr(made, name.replace("_", "-"), value)
    return made


def settings(owner):
    """What the owner of the database chose."""
    limits = record(
        memory_bytes=owner.memory, disk_bytes=owner.disk, busy_ms=owner.busy_timeout, sql_bytes=max(owner.request, owner.memory // 8), fuel=owner.fuel
    )
    undo = None if owner.readonly or owner.no_undo else record(file=RECORD, bytes=64 << 20, required=False)
    return record(
        engine=record(
            database=DATABASE,
            title=owner.database,
            in_memory=owner.database == ":memory:",
            readonly=owner.readonly,
            root=False,
            notes=Path(owner.notes).read_text(),
            undo=undo,
            limits=limits,
        ),
        output=record(
            reply_bytes=owner.reply, text_bytes=owner.text, cell_chars=owner.cell, rows=min(owner.rows, owner.max_rows), max_rows=owner.max_rows
        ),
        request_bytes=owner.request,
        tools=owner.tools,
        strict=owner.strict,
        audit=False,
        threads=False,
    )


class Memory:
    """Bytes that end with the process, and can be opened by nobody else."""

    def __init__(self):
        self.data = bytearray()

    def read(self, offset, length):
        return bytes(self.data[offset : offset + length])

    def write(self, offset, data):
        self.data.extend(bytes(max(0, offset - len(self.data))))
        self.data[offset : offset + len(data)] = data

    def truncate(self, size):
        del self.data[size:]
        self.data.extend(bytes(size - len(self.data)))

    def size(self):
        return len(self.data)

    def sync(self):
        pass  # nothing outlives this process

    def lock(self, old, new):
        return True


class Disk:
    """A file on disk, with the locks that SQLite takes: <https://www.sqlite.org/lockingv3.html>, `os_unix.c`.

    The locks of POSIX belong to the process, and go when any descriptor of the file is closed. So there is one for each
    file, and it stays open.
    """

    PENDING_BYTE = 0x4000_0000
    RESERVED_BYTE = PENDING_BYTE + 1
    SHARED_FIRST, SHARED_SIZE = PENDING_BYTE + 2, 510

    def __init__(self, path, writable, create):
        flags = (os.O_RDWR if writable else os.O_RDONLY) | (os.O_CREAT if writable and create else 0)
        self.descriptor = os.open(path, flags | os.O_CLOEXEC, 0o666)

    def read(self, offset, length):
        return os.pread(self.descriptor, length, offset)

    def write(self, offset, data):
        while data:
            done = os.pwrite(self.descriptor, data, offset)
            offset, data = offset + done, data[done:]

    def truncate(self, size):
        os.ftruncate(self.descriptor, size)

    def size(self):
        return os.fstat(self.descriptor).st_size

    def sync(self):
        os.fsync(self.descriptor)

    def set(self, how, start, length=1):
        try:
            fcntl.lockf(self.descriptor, how if how == fcntl.LOCK_UN else how | fcntl.LOCK_NB, length, start)
            return True
        except OSError:
            return False

    def lock(self, old, new):
        """Moves from one level to another; whether nobody was in the way."""
        if LEVELS.index(new) < LEVELS.index(old):
            if new == NONE:
                return self.set(fcntl.LOCK_UN, self.PENDING_BYTE, 2 + self.SHARED_SIZE)
            return self.set(fcntl.LOCK_SH, self.SHARED_FIRST, self.SHARED_SIZE) and self.set(fcntl.LOCK_UN, self.PENDING_BYTE, 2)
        if new == SHARED:
            # A writer that waits for its readers to go lets no new ones in.
            got = self.set(fcntl.LOCK_SH, self.PENDING_BYTE) and self.set(fcntl.LOCK_SH, self.SHARED_FIRST, self.SHARED_SIZE)
            self.set(fcntl.LOCK_UN, self.PENDING_BYTE)
            return got
        if new == RESERVED:
            return self.set(fcntl.LOCK_EX, self.RESERVED_BYTE)
        return self.set(fcntl.LOCK_EX, self.PENDING_BYTE) and self.set(fcntl.LOCK_EX, self.SHARED_FIRST, self.SHARED_SIZE)

    def is_reserved(self):
        """Whether another process means to write. A file that may only be read cannot be asked, and is not rolled back."""
        if not self.set(fcntl.LOCK_EX, self.RESERVED_BYTE):
            return True
        self.set(fcntl.LOCK_UN, self.RESERVED_BYTE)
        return False


class Storage:
    """Files by name, and nothing but the names that the owner granted. They outlive an instance."""

    def __init__(self, owner):
        self.owner = owner
        self.on_disk = owner.database != ":memory:"
        self.places = {} if self.on_disk else {DATABASE: Memory()}
        self.left = owner.disk
        self.handles = {}
        self.last = 0

    def path(self, name):
        """Where a file is on disk, if it is there."""
        if self.on_disk and name.startswith(DATABASE):
            return self.owner.database + name.removeprefix(DATABASE)
        return None

    def find(self, name, role, options):
        if role in ("plain", "staged") or name.removesuffix("-journal").removesuffix("-wal") not in ("", DATABASE, RECORD):
            return "denied"
        if not name:
            return Memory()
        path = self.path(name)
        if path and name in self.places and not os.path.exists(path):
            del self.places[name]
        if name not in self.places:
            if not path and "create" not in options:
                return "not-found"
            try:
                self.places[name] = Disk(path, not self.owner.readonly, "create" in options) if path else Memory()
            except FileNotFoundError:
                return "not-found"
            except OSError:
                return "denied"
        return self.places[name]

    def open(self, name, role, options):
        place = self.find(name, role, options)
        if isinstance(place, str):
            return place
        self.last += 1
        self.handles[self.last] = File(self, place, temporary=not name)
        return ResourceHost.own(self.last, FILE)

    def delete(self, name, durable):
        if self.owner.readonly and name.startswith(DATABASE):
            return "read-only"
        if not self.exists(name, False):
            return "not-found"
        if path := self.path(name):
            os.unlink(path)
            folder = os.open(os.path.dirname(path) or ".", os.O_RDONLY)
            os.fsync(folder)
            os.close(folder)
        self.places.pop(name, None)
        return None

    def exists(self, name, writable):
        path = self.path(name)
        return os.path.exists(path) if path else name in self.places

    def close(self, handle):
        self.handles.pop(handle).close()

    def abandon(self):
        """Lets go of what an instance had open that is no more."""
        for file in self.handles.values():
            file.close()
        self.handles = {}


class File:
    """An open file. Its methods are those of `storage.file`."""

    def __init__(self, storage, place, temporary):
        self._storage, self._place, self._temporary, self._level = storage, place, temporary, NONE

    def _others(self):
        return [f for f in self._storage.handles.values() if f is not self and f._place is self._place]

    def read(self, offset, length):
        return self._place.read(offset, length) if length <= READ_BYTES else "invalid"

    def write(self, offset, data):
        return self._grow(offset + len(data)) or self._place.write(offset, data)

    def truncate(self, size):
        return self._grow(size) or self._place.truncate(size)

    def _grow(self, size):
        grown = max(0, size - self._place.size())
        if grown > self._storage.left:
            return "full"
        self._storage.left -= grown
        return None

    def sync(self, mode):
        self._place.sync()

    def size(self):
        return self._place.size()

    def lock(self, level):
        if LEVELS.index(level) <= LEVELS.index(self._level):
            return None
        held = max((LEVELS.index(f._level) for f in self._others()), default=0)
        if held >= LEVELS.index(PENDING if level == SHARED else RESERVED) or (level == EXCLUSIVE and held):
            return "busy"
        if not (level == SHARED and held) and not self._place.lock(self._level, level):
            return "busy"
        self._level = level
        return None

    def unlock(self, level):
        if LEVELS.index(level) < LEVELS.index(self._level):
            # The locks on disk are those of the process.
            if level == SHARED or all(f._level == NONE for f in self._others()):
                self._place.lock(self._level, level)
            self._level = level

    def check_reserved(self):
        if any(LEVELS.index(f._level) >= LEVELS.index(RESERVED) for f in (self, *self._others())):
            return True
        return isinstance(self._place, Disk) and self._place.is_reserved()

    def device(self):
        return record(sector_size=4096, characteristics=0, shared_memory=False, direct_io=False)

    def is_read_only(self):
        return self._storage.owner.readonly and isinstance(self._place, Disk)

    def has_moved(self):
        return False

    def publish(self, replace):
        return "denied"

    def close(self):
        self.unlock(NONE)
        if self._temporary:
            self._storage.left += self._place.size()


class Control:
    """The budgets of the call that an instance runs, and what they say to each other meanwhile."""

    def __init__(self, owner, attend=lambda: None, notify=lambda line: None):
        self.owner, self.attend, self.notify = owner, attend, notify
        self.state = b""
        self.running, self.queued = None, []
        self.begin(owner.timeout)

    def begin(self, seconds):
        """A call begins, which may take so long."""
        self.seconds, self.began = seconds, time.monotonic()
        self.granted = self.spent = 0
        self.stopped = self.aborted = None

    def elapsed(self):
        return time.monotonic() - self.began

    def verdict(self):
        """`proceed` with the time in microseconds, `cancelled`, or `stop` with a sentence: bare, as their types differ."""
        if self.stopped:
            return None if self.stopped == "cancelled" else self.stopped
        if self.elapsed() >= self.seconds:
            return self.out_of_time()
        if self.spent > self.owner.fuel - min(self.owner.fuel // 10, 7_000_000):
            return self.out_of_fuel()
        return int(self.elapsed() * 1e6)

    def out_of_time(self):
        return f"Stopped: the call reached its time budget of {self.seconds:g} s (--timeout). {ADVICE}"

    def out_of_fuel(self):
        return f"Stopped: the call reached its work budget of {self.owner.fuel} fuel (--fuel). {ADVICE}"

    def check(self):
        self.attend()
        return self.verdict()

    def usage(self):
        return record(verdict=self.check(), fuel=self.spent, time_us=int(self.elapsed() * 1e6))

    def wait(self, ms):
        until = time.monotonic() + min(ms, 1000) / 1000
        while isinstance(verdict := self.check(), int) and not isinstance(verdict, bool) and time.monotonic() < until:
            time.sleep(0.005)
        return verdict

    def meter(self, left):
        if left != CALL_BEGINS:
            self.spent += self.granted - left
        if left > self.granted:
            self.abort(FAULT)
        if self.spent > self.owner.fuel:
            self.abort(self.out_of_fuel())
        if self.elapsed() > self.seconds + GRACE_SECONDS:
            self.abort(self.out_of_time())
        self.granted = SLICE
        return SLICE

    def abort(self, sentence):
        self.aborted = sentence
        raise TimeoutError(sentence)

    def save(self, state):
        if len(state) > self.owner.reply + (64 << 10):
            self.abort(FAULT)
        self.state = state

    def functions(self):
        return {
            "check": self.check,
            "wait": self.wait,
            "usage": self.usage,
            "notify": self.notify,
            "save-state": self.save,
            "extend-state": lambda part: self.save(self.state + part),
            "running": lambda: self.running,
            "queued": lambda index: self.queued[index] if index < len(self.queued) else None,
            "meter": self.meter,
            "offset-at": lambda seconds: time.localtime(seconds).tm_gmtoff or 0,
        }


class Guest:
    """One instance of the component with a session in it, which may be thrown away at any time."""

    def __init__(self, code, owner, storage, control):
        engine, component = code
        self.storage = storage
        self.store = Store(engine)
        self.store.set_wasi(WasiConfig())  # no arguments, no environment, no folders
        self.store.set_limits(memory_size=owner.memory)
        linker = Linker(engine)
        linker.add_wasip2()
        with linker.root() as root:
            for name, functions in self.imports(control).items():
                with root.add_instance(CONTRACT.format(name)) as interface:
                    if name == "storage":
                        drop = lambda _, rep: storage.close(rep)  # noqa: E731
                        interface.add_resource("file", ResourceType.host(FILE), drop)
                    for function, answer in functions.items():
                        interface.add_func(function, taking_handles(answer))
        self.instance = linker.instantiate(self.store, component)
        self.settings = settings(owner)
        self.session = self.call("[constructor]session", self.settings, control.state)

    def imports(self, control):
        def method(name):
            return lambda rep, *rest: attempt(getattr(self.storage.handles[rep], name), *rest)

        storage = {"open": self.storage.open, "delete": self.storage.delete, "exists": self.storage.exists}
        for name in (name for name in vars(File) if not name.startswith("_") and name != "close"):
            storage["[method]file." + name.replace("_", "-")] = method(name)
        stubs = {
            name: {function: lambda *_, answer=answer: answer for function, answer in stub.items()}
            for name, stub in STUBS.items()
        }
        return {"storage": storage, "control": control.functions(), **stubs}

    def call(self, function, *arguments):
        """Calls an export of `server`. Raises if the guest traps, or does not stop when it should."""
        server = self.instance.get_export_index(self.store, CONTRACT.format("server"))
        index = self.instance.get_export_index(self.store, function, server)
        return self.instance.get_func(self.store, index)(self.store, *arguments)

    def about(self, method, *arguments):
        return self.call(f"[method]session.{method}", self.session, *arguments)


def copy_bytes_at_once():
    """wasmtime converts a `list<u8>` byte by byte, which takes a millisecond for a page. Here it takes some microseconds."""
    value = ffi.wasmtime_component_val_t
    stride, at = sizeof(value), value.of.offset
    slow_to_c, slow_from_c = ListType.convert_to_c, ListType.convert_from_c

    def memory(values, length):
        return memoryview((c_ubyte * (length * stride)).from_address(cast(values, c_void_p).value)).cast("B")

    def to_c(self, store, data, ptr):
        if not isinstance(data, bytes) or not data:
            return slow_to_c(self, store, data, ptr)
        made = ffi.wasmtime_component_vallist_t()
        ffi.wasmtime_component_vallist_new_uninit(made, len(data))
        raw = memory(made.data, len(data))
        raw[value.kind.offset :: stride] = bytes([ffi.WASMTIME_COMPONENT_U8.value]) * len(data)
        raw[at::stride] = data
        ptr.contents.kind = ffi.WASMTIME_COMPONENT_LIST
        ptr.contents.of.list = made

    def from_c(self, c):
        made = c.of.list
        if not made.size or not self._is_bytes():
            return slow_from_c(self, c)
        try:
            return memory(made.data, made.size)[at::stride].tobytes()
        finally:
            ffi.wasmtime_component_vallist_delete(byref(made))

    ListType.convert_to_c, ListType.convert_from_c = to_c, from_c


def attempt(work, *arguments):
    """Does something to a file; a failure of the system is one that SQLite knows."""
    try:
        return work(*arguments)
    except OSError as error:
        return "full" if error.errno in (28, 122) else "io"


def taking_handles(answer):
    """wasmtime hands over handles that have to be consumed, used or not; here a file becomes its number."""

    def function(store, *arguments):
        return answer(*(a.to_host(store).rep if isinstance(a, ResourceAny) else a for a in arguments))

    return function


def load(path):
    """The component, compiled; once for each of its versions, which takes some seconds."""
    config = Config()
    config.max_wasm_stack = 2 << 20  # SQLite calls itself for each level of an expression
    engine = Engine(config)
    code = Path(path).read_bytes()
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "sqlarium"
    compiled = cache / f"{hashlib.sha256(code).hexdigest()}-wasmtime-{version('wasmtime')}.cwasm"
    if not compiled.exists():
        cache.mkdir(mode=0o700, parents=True, exist_ok=True)
        made = compiled.with_suffix(f".{os.getpid()}")
        made.write_bytes(Component(engine, code).serialize())
        made.rename(compiled)
    # What is loaded here is not checked: the folder must be the owner's alone.
    return engine, Component.deserialize_file(engine, str(compiled))


def send(line):
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def log(what, abort):
    print(f"{what}: {str(abort).splitlines()[-1].strip()}", file=sys.stderr)


class Server:
    """One client on standard input and output."""

    def __init__(self, owner):
        self.owner = owner
        self.code = load(owner.component)
        self.storage = Storage(owner)
        self.control = Control(owner, self.attend, send)
        self.arriving, self.waiting = queue.Queue(maxsize=1024), []
        self.control.queued = self.waiting  # a batch looks there for what cancels its members
        self.closed_at = None
        self.guest = Guest(self.code, owner, self.storage, self.control)

    def read(self):
        """Lines as they arrive, on a thread of its own: bounded before they are whole."""
        most = self.owner.request
        while line := sys.stdin.buffer.readline(most + 1):
            whole = line.endswith(b"\n")
            if len(line) <= most or whole:
                self.arriving.put(("line", line.removesuffix(b"\n")))
                continue
            self.arriving.put(("overlong", line[:HEAD_BYTES]))
            while not whole and line:
                line = sys.stdin.buffer.readline(most)
                whole = line.endswith(b"\n")
        self.arriving.put(("closed", b""))

    def take(self, kind, line):
        """Takes what is no line to be answered."""
        if kind == "overlong":
            send(self.aside("overlong", line))
        elif kind == "closed":
            self.closed_at = time.monotonic()

    def attend(self):
        """While a call runs: looks at the lines that have arrived."""
        if self.closed_at and time.monotonic() > self.closed_at + SHUTDOWN_SECONDS:
            self.control.stopped = "Stopped: the server is shutting down."
        while not self.arriving.empty() and self.closed_at is None:
            kind, line = self.arriving.get()
            if kind != "line":
                self.take(kind, line)
                continue
            verdict = self.aside("triage", line) or Variant("defer")
            if verdict.tag == "defer":
                self.waiting.append(line)
            elif verdict.tag == "handled" and verdict.payload is not None:
                send(verdict.payload)
            elif verdict.tag == "cancel-running":
                self.control.stopped = "cancelled"
            elif verdict.tag == "cancel-queued":
                del self.waiting[verdict.payload]

    def aside(self, question, line):
        """Asks an instance of its own about a line: made from the saved state, without files."""
        control = Control(self.owner)
        control.state, control.running, control.queued = self.control.state, self.control.running, self.waiting
        nothing = Storage(argparse.Namespace(database=":memory:", disk=0, readonly=True))
        control.begin(SMALL_SECONDS)
        try:
            return Guest(self.code, self.owner, nothing, control).about(question, line)
        except ABORTS as abort:
            return log("a line could not be looked at", abort)

    def answer(self, line):
        self.control.begin(self.owner.timeout)
        self.control.running = line
        try:
            return self.guest.about("answer", line)
        except ABORTS as abort:
            reason = "cancelled" if self.control.stopped == "cancelled" else self.control.aborted or FAULT
            log("aborted", abort)
            return self.recover(line, reason)

    def recover(self, line, reason):
        """A fresh instance, and its reply to the line that the last one was aborted over."""
        for state in (self.control.state, b""):
            self.storage.abandon()
            self.control.state = state
            self.control.begin(SMALL_SECONDS)
            try:
                self.guest = Guest(self.code, self.owner, self.storage, self.control)
                return self.guest.about("interrupted", line, None if reason == "cancelled" else reason)
            except ABORTS as abort:
                log("aborted again", abort)
        raise SystemExit("The sandbox failed three times in a row.")

    def serve(self):
        refused = self.guest.call("check", self.guest.settings)
        if isinstance(refused, str):
            raise SystemExit(refused)
        for warning in refused:
            print(warning, file=sys.stderr)
        threading.Thread(target=self.read, daemon=True).start()
        while self.waiting or self.closed_at is None:
            kind, line = ("line", self.waiting.pop(0)) if self.waiting else self.arriving.get()
            if kind != "line":
                self.take(kind, line)
            elif (reply := self.answer(line)) is not None:
                send(reply)
        self.control.begin(SMALL_SECONDS)
        self.guest.session.drop(self.guest.store)  # closes the databases


def size(text):
    unit = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}.get(text[-1:])
    return int(text[:-1]) * unit if unit else int(text)


def duration(text):
    return int(text.removesuffix("ms")) / 1000 if text.endswith("ms") else float(text.removesuffix("s"))


def owner():
    """What the owner says by flags: those of the program sqlarium, as far as this host has what they ask for."""
    parser = argparse.ArgumentParser()
    parser.add_argument("component")
    parser.add_argument("command", choices=["mcp"])
    parser.add_argument("database")
    for flag in ("readonly", "strict", "no-undo"):
        parser.add_argument(f"--{flag}", action="store_true")
    parser.add_argument("--tools", default="all")
    parser.add_argument("--notes", default=os.devnull)
    parser.add_argument("--timeout", type=duration, default=60.0)
    parser.add_argument("--busy-timeout", type=lambda text: round(duration(text) * 1000), default=5000)
    parser.add_argument("--fuel", type=int, default=200_000_000_000)
    for flag, default in {
        "memory": "256M", "disk": "1G", "rows": "200", "max-rows": "10000", "text": "48000", "cell": "2000", "request": "1M", "reply": "8M"
    }.items():
        parser.add_argument(f"--{flag}", type=size, default=size(default))
    return parser.parse_args()


if __name__ == "__main__":
    copy_bytes_at_once()
    Server(owner()).serve()
