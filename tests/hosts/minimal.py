"""A whole host for sqlarium's component: minimal.py COMPONENT serves a database in memory on standard input and output.

docs/hosts.md explains each part. It has no meter but a deadline, no locks, no shared memory and no second
instance at a time; what an import asks for that is not here is answered as the doc comments in wit/ say.
"""

import sys
import time

from wasmtime import Engine, Store, Trap, WasiConfig, WasmtimeError
from wasmtime.component import Component, Linker, Record, ResourceAny, ResourceHost, ResourceType

CONTRACT = "sqlarium:sandbox/{}@0.2.0"
DATABASE = "main.db"
FILE = 1  # by which wasmtime knows the resource type `file`

CALL_SECONDS = 1.0  # what `check` allows a call
GRACE_SECONDS = 1.0  # what a call that does not stop gets on top
SLICE = 200_000  # what a call may count between two looks at the clock: about a millisecond
MEMORY_BYTES = 256 << 20
REQUEST_BYTES = 1 << 20
READ_BYTES = 16 << 20

OUT_OF_TIME = f"Stopped: a call may take {CALL_SECONDS:g} s here. Ask for less."
ABORTS = (Trap, WasmtimeError, TimeoutError)
LEVELS = ["none", "shared", "reserved", "pending", "exclusive"]

# The interfaces that this host does not have.
STUBS = {
    "shared-memory": {"map-region": "unsupported", "lock": "unsupported", "barrier": None, "unmap": "unsupported"},
    "direct-io": {"read": "unsupported"},
    "audit": {"begin": None, "end": None},
    "threads": {"recall": [], "append": None},
    "console": {"print": False},
}


def record(**fields):
    made = Record()
    for name, value in fields.items():
        setattr(made, name.replace("_", "-"), value)
    return made


# What the owner of a database chooses.
SETTINGS = record(
    engine=record(
        database=DATABASE,
        title=":memory:",
        in_memory=True,
        readonly=False,
        root=False,
        notes="",
        undo=None,
        limits=record(memory_bytes=MEMORY_BYTES, disk_bytes=1 << 30, busy_ms=0, sql_bytes=1 << 20, fuel=0),
    ),
    output=record(reply_bytes=8 << 20, text_bytes=48 << 10, cell_chars=2000, rows=200, max_rows=10_000),
    request_bytes=REQUEST_BYTES,
    tools="all",
    strict=False,
    audit=False,
    threads=False,
)


class File:
    """An open file: bytes, and the lock that this handle holds. Its methods are those of `storage.file`."""

    def __init__(self, data):
        self.data = data
        self.level = 0

    def read(self, offset, length):
        return bytes(self.data[offset : offset + length]) if length <= READ_BYTES else "invalid"

    def write(self, offset, data):
        self.data.extend(bytes(max(0, offset - len(self.data))))
        self.data[offset : offset + len(data)] = data

    def truncate(self, size):
        del self.data[size:]
        self.data.extend(bytes(size - len(self.data)))

    def sync(self, mode):
        pass  # the bytes outlive an instance, and nothing outlives this process

    def size(self):
        return len(self.data)

    def lock(self, level):
        self.level = max(self.level, LEVELS.index(level))  # granted: no one else is here

    def unlock(self, level):
        self.level = min(self.level, LEVELS.index(level))

    def check_reserved(self):
        return self.level >= LEVELS.index("reserved")

    def device(self):
        return record(sector_size=4096, characteristics=0, shared_memory=False, direct_io=False)

    def is_read_only(self):
        return False

    def has_moved(self):
        return False

    def publish(self, replace):
        return "denied"


class Host:
    """What outlives an instance: the files and the saved state."""

    def __init__(self, path):
        self.engine = Engine()
        self.component = Component.from_file(self.engine, path)
        self.files = {DATABASE: bytearray()}
        self.state = b""
        self.began = 0.0

    def find(self, name, role, options):
        """The bytes of a file, or why there are none."""
        if role in ("plain", "staged"):
            return "denied"
        if not name:
            return bytearray()  # temporary, and nobody else's
        if name not in (DATABASE, f"{DATABASE}-journal", f"{DATABASE}-wal"):
            return "denied"
        if name not in self.files and "create" not in options:
            return "not-found"
        return self.files.setdefault(name, bytearray())

    def delete(self, name, durable):
        return "not-found" if self.files.pop(name, None) is None else None

    def exists(self, name, writable):
        return name in self.files

    def elapsed_us(self):
        return int((time.monotonic() - self.began) * 1e6)

    def verdict(self):
        elapsed = self.elapsed_us()
        return elapsed if elapsed < CALL_SECONDS * 1e6 else OUT_OF_TIME

    def meter(self, left):
        if self.elapsed_us() > (CALL_SECONDS + GRACE_SECONDS) * 1e6:
            raise TimeoutError("the call does not end")
        return SLICE

    def save(self, state):
        self.state = state

    def control(self):
        return {
            "check": self.verdict,
            "wait": lambda ms: self.verdict(),  # at once: no one else holds a lock
            "usage": lambda: record(fuel=0, time_us=self.elapsed_us(), verdict=self.verdict()),
            "notify": send,
            "save-state": self.save,
            "extend-state": lambda part: self.save(self.state + part),
            "running": lambda: None,
            "queued": lambda index: None,
            "meter": self.meter,
            "offset-at": lambda seconds: 0,
        }


class Guest:
    """One instance of the component with a session in it, which may be thrown away at any time."""

    def __init__(self, host, state):
        self.host = host
        self.handles = {}
        self.store = Store(host.engine)
        self.store.set_wasi(WasiConfig())  # no arguments, no environment, no folders
        self.store.set_limits(memory_size=MEMORY_BYTES)
        linker = Linker(host.engine)
        linker.add_wasip2()
        with linker.root() as root:
            for name, functions in self.imports().items():
                with root.add_instance(CONTRACT.format(name)) as interface:
                    if name == "storage":
                        interface.add_resource("file", ResourceType.host(FILE), lambda _, rep: self.handles.pop(rep))
                    for function, answer in functions.items():
                        interface.add_func(function, taking_handles(answer))
        self.instance = linker.instantiate(self.store, host.component)
        self.session = self.call("[constructor]session", SETTINGS, state)

    def imports(self):
        def method(name):
            return lambda rep, *rest: getattr(self.handles[rep], name)(*rest)

        storage = {"open": self.open, "delete": self.host.delete, "exists": self.host.exists}
        for name in (name for name in vars(File) if not name.startswith("_")):
            storage["[method]file." + name.replace("_", "-")] = method(name)
        stubs = {
            name: {function: lambda *_, answer=answer: answer for function, answer in stub.items()}
            for name, stub in STUBS.items()
        }
        return {"storage": storage, "control": self.host.control(), **stubs}

    def open(self, name, role, options):
        data = self.host.find(name, role, options)
        if isinstance(data, str):
            return data
        rep = max(self.handles, default=0) + 1
        self.handles[rep] = File(data)
        return ResourceHost.own(rep, FILE)

    def call(self, function, *arguments):
        """Calls an export of `server`. Raises if the guest traps, or does not stop when it should."""
        server = self.instance.get_export_index(self.store, CONTRACT.format("server"))
        index = self.instance.get_export_index(self.store, function, server)
        self.host.began = time.monotonic()
        return self.instance.get_func(self.store, index)(self.store, *arguments)

    def about(self, method, *arguments):
        return self.call(f"[method]session.{method}", self.session, *arguments)


def taking_handles(answer):
    """wasmtime hands over handles that have to be consumed, used or not; here a file becomes its number."""

    def function(store, *arguments):
        return answer(*(a.to_host(store).rep if isinstance(a, ResourceAny) else a for a in arguments))

    return function


def send(line):
    print(line, flush=True)


def log(what, abort):
    print(f"{what}: {str(abort).splitlines()[-1].strip()}", file=sys.stderr)


def serve(path):
    host = Host(path)
    guest = Guest(host, b"")
    refused = guest.call("check", SETTINGS)
    if isinstance(refused, str):
        raise SystemExit(refused)
    while line := sys.stdin.buffer.readline(REQUEST_BYTES + 1):
        if len(line) > REQUEST_BYTES and not line.endswith(b"\n"):
            send(guest.about("overlong", line[:4096]))
            break  # the rest of the line is no line
        line = line.removesuffix(b"\n")
        try:
            reply = guest.about("answer", line)
        except ABORTS as abort:
            log("aborted", abort)
            guest, reply = recover(host, line)
        if reply is not None:
            send(reply)
    host.began = time.monotonic()
    guest.session.drop(guest.store)  # closes the databases


def recover(host, line):
    """A fresh instance, and its reply to the line that the last one was aborted over."""
    for state in (host.state, b""):
        try:
            guest = Guest(host, state)
            return guest, guest.about("interrupted", line, OUT_OF_TIME)
        except ABORTS as abort:
            log("aborted again", abort)
    raise SystemExit("The sandbox failed three times in a row.")


if __name__ == "__main__":
    serve(sys.argv[1])
