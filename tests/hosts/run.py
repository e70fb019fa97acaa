#!/usr/bin/env python3
"""Plays every transcript in every host: run.py [--native PROGRAM] [--component FILE] [--web FOLDER] [CASE…]

The transcripts are those of tests/transcripts (their format: tests/tests/transcript/mod.rs) and the cases of tests/hosts/cases,
which may have these lines besides:

    = app.db          the database is this file, in a folder of its own, rather than in memory
    & locks           for hosts that have this; `& !locks` for those that lack it
    ! SQL; SQL        Python's SQLite runs this on the file; a transaction that it begins stays open
    ? SQL = VALUE     Python's SQLite reads this value
    ~ bytes N         waits until the file has that many
    ^                 the host is closed and started again; `^ kill`: it is killed first
    x TEXT            the host refuses to start, and says this

`…` in a text that is expected stands for anything. What a host lacks it declares below, and a case shows how it refuses that.
The table host by case comes last, with the digest of the component that each host runs.
"""

import argparse
import hashlib
import json
import os
import queue
import re
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

TESTS = Path(__file__).resolve().parent.parent
TRANSCRIPTS = TESTS / "transcripts"
CASES = TESTS / "hosts" / "cases"
PATIENCE = 60  # seconds that an answer may take on a busy machine
FEATURES = {"locks", "shared-memory", "root"}


class Host:
    """A program that serves a database on a pipe as `sqlarium mcp` does, and what it lacks."""

    def __init__(self, name, command, component, lacks=(), to_write=()):
        self.name, self.command, self.lacks, self.to_write = name, [str(word) for word in command], set(lacks), list(to_write)
        self.digest = component.read_text().strip() if component.name == "sha256" else digest(component)


def digest(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


class Case:
    """Lines of one file."""

    def __init__(self, path, root):
        self.name = str(path.relative_to(root).with_suffix(""))
        self.lines = path.read_text().splitlines()
        marked = [line[2:] for line in self.lines if line.startswith("& ")]
        self.lacks = {word[1:] for word in marked if word.startswith("!")}
        self.needs = {word for word in marked if not word.startswith("!")}
        unknown = (self.lacks | self.needs) - FEATURES
        assert not unknown, f"{path}: there is no feature {unknown}"
        self.shared = bool(self.lacks | self.needs)

    def fate(self, host):
        """Why a host does not play it, if it does not."""
        if lacking := self.needs & host.lacks:
            return "lacks " + ", ".join(sorted(lacking))
        return None if self.lacks <= host.lacks else "has " + ", ".join(sorted(self.lacks - host.lacks))


class Server:
    """A host at work."""

    def __init__(self, command):
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd=TRANSCRIPTS, bufsize=0
        )
        self.said = queue.Queue()
        threading.Thread(target=self.listen, daemon=True).start()

    def listen(self):
        with self.process.stdout as output:
            for line in output if output.readable() else ():
                self.said.put(line)
        self.said.put(None)

    def send(self, line):
        try:
            self.process.stdin.write(line + b"\n")
        except BrokenPipeError:
            raise Failed("it has ended") from None

    def receive(self):
        try:
            line = self.said.get(timeout=PATIENCE)
        except queue.Empty:
            raise Failed("no answer") from None
        return None if line is None else normal(json.loads(line))

    def close(self):
        """The input ends: it has nothing more to say, and ends by itself."""
        self.process.stdin.close()
        if (rest := self.receive()) is not None:
            raise Failed(f"nobody expected {json.dumps(rest)}")
        if code := self.process.wait(PATIENCE):
            raise Failed(f"it ended with {code}")

    def kill(self):
        self.process.kill()
        self.process.wait()


class Failed(Exception):
    pass


class Play:
    """One case in one host."""

    def __init__(self, case, host, folder):
        self.case, self.host, self.folder = case, host, folder
        self.flags, self.database = [], None
        self.server = self.native = None

    def run(self):
        """What went wrong, if anything did."""
        try:
            for number, line in enumerate(self.case.lines, 1):
                self.line(line)
            if self.server:
                self.server.close()
        except (Failed, OSError, ValueError, sqlite3.Error, subprocess.TimeoutExpired) as error:
            return f"{self.case.name}:{number}: {error}"
        finally:
            if self.server:
                self.server.kill()
        return None

    def line(self, line):
        mark, _, rest = line.partition(" ")
        act = {"%": self.flag, "=": self.file, "!": self.write, "?": self.check, "x": self.refused, "<": self.expect, "~": self.pause}
        if line.startswith((">", "\\>")):
            escaped = line.startswith("\\")
            text = repeated(line.lstrip("\\")[1:])
            self.running().send(unescaped(text) if escaped else text.encode())
        elif mark == "^":
            self.restart(rest)
        elif mark in act:
            act[mark](rest)
        elif line and mark not in ("#", "@", "&") and not line.startswith("#"):
            raise ValueError(f"what is {line!r}?")

    def flag(self, flags):
        self.flags += flags.split()

    def file(self, name):
        self.database = os.path.join(self.folder, name)

    def pause(self, what):
        if not what.startswith("bytes "):
            return time.sleep(int(what) / 1000)
        until = time.monotonic() + PATIENCE
        while os.path.getsize(self.database) < int(what.removeprefix("bytes ")):
            if time.monotonic() > until:
                raise Failed("the file does not grow")
            time.sleep(0.05)

    def command(self):
        # A file of its own is the host's alone, unless the case is about those that are not.
        more = self.host.to_write if self.database and not self.case.shared else []
        return [*self.host.command, "mcp", *self.flags, *more, self.database or ":memory:"]

    def running(self):
        self.server = self.server or Server(self.command())
        return self.server

    def restart(self, how):
        if how == "kill":
            self.running().kill()
        elif self.server:
            self.server.close()
        self.server = Server(self.command())

    def refused(self, text):
        ended = subprocess.run(self.command(), stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE, cwd=TRANSCRIPTS)
        if ended.returncode == 0 or text not in ended.stderr:
            raise Failed(f"it ended with {ended.returncode} and said {ended.stderr!r}")

    def write(self, sql):
        self.native = self.native or sqlite3.connect(self.database, isolation_level=None)
        for statement in sql.split("; "):
            self.native.execute(statement).fetchall()
        if not self.native.in_transaction:
            self.native.close()
            self.native = None

    def check(self, line):
        sql, _, value = line.rpartition(" = ")
        connection = sqlite3.connect(self.database)
        found = [str(row[0]) for row in connection.execute(sql)]
        connection.close()
        if found != [value]:
            raise Failed(f"SQLite reads {found}")

    def expect(self, line):
        expected, received = normal(json.loads(line)), self.running().receive()
        if not matches(expected, received):
            raise Failed(f"\n  expected {json.dumps(expected)}\n  received {json.dumps(received)}")


def repeated(text):
    """The text after the mark and its blank, repeated if `*N` stands at the mark."""
    if not text.startswith("*"):
        return text.removeprefix(" ")
    count, _, text = text[1:].partition(" ")
    before, _, rest = text.rpartition("«")
    part, _, after = rest.partition("»")
    return before + part * int(count) + after if "«" in text else text * int(count)


def unescaped(text):
    def byte(match):
        escape = match[1]
        return {b"\\": b"\\", b"r": b"\r"}.get(escape) or bytes([int(escape[1:], 16)])

    return re.sub(rb"\\(\\|r|x[0-9A-Fa-f]{2})", byte, text.encode())


def normal(value):
    """A reply without what differs from run to run or from release to release."""
    if isinstance(value, list):
        return [normal(item) for item in value]
    if not isinstance(value, dict):
        return value
    made = {}
    for name, member in value.items():
        if name in ("elapsed_ms", "fuel", "peak_memory") and isinstance(member, (int, float)):
            member = 0
        elif name == "instructions" and isinstance(member, str) and member:
            member = "*"
        elif name == "version" and isinstance(member, str) and re.fullmatch(r"\d[^.]*\.[^.]*\.[^.]*", member):
            member = "*"
        elif name == "text" and isinstance(member, str) and member.startswith("{"):
            # The JSON form of a result, as text.
            try:
                member = json.dumps(normal(json.loads(member)))
            except ValueError:
                pass
        else:
            member = normal(member)
        made[name] = member
    return made


def matches(expected, received):
    if isinstance(expected, str) and isinstance(received, str) and "…" in expected:
        return re.fullmatch(".*".join(map(re.escape, expected.split("…"))), received, re.DOTALL) is not None
    if isinstance(expected, list) and isinstance(received, list):
        return len(expected) == len(received) and all(map(matches, expected, received))
    if isinstance(expected, dict) and isinstance(received, dict):
        return expected.keys() == received.keys() and all(matches(expected[name], received[name]) for name in expected)
    return type(expected) is type(received) and expected == received


def play(case, host):
    if fate := case.fate(host):
        return fate, None
    with tempfile.TemporaryDirectory(prefix="sqlarium-") as folder:
        problem = Play(case, host, folder).run()
    return "FAILED" if problem else "ok", problem


def hosts(options):
    built = options.component
    every = []
    if options.native:
        # The component is built into the program, from the same file.
        every.append(Host("native", [options.native], built))
    every.append(Host("python", [sys.executable, TESTS / "hosts" / "python.py", built], built, {"shared-memory", "root"}))
    node = ["node", options.web / "stdio.js"]
    every.append(Host("node", node, options.web / "component" / "sha256", {"locks", "shared-memory", "root"}, ["--exclusive"]))
    return [host for host in every if not options.host or host.name in options.host]


def main():
    target = Path(os.environ.get("CARGO_TARGET_DIR") or TESTS.parent / "target").resolve()
    parser = argparse.ArgumentParser(description="Plays every transcript in every host.")
    parser.add_argument("--native", type=Path, help="the program sqlarium")
    parser.add_argument("--component", type=Path, default=target / "sqlarium.wasm")
    parser.add_argument("--web", type=Path, default=target / "web", help="the npm package, built")
    parser.add_argument("--host", action="append", help="only this one")
    parser.add_argument("cases", nargs="*", help="only cases whose names begin so")
    options = parser.parse_args()
    os.environ.setdefault("PYTHONPATH", str(TESTS / "clients" / ".venv"))
    os.environ["XDG_CACHE_HOME"] = str(target / "cache")  # where python.py keeps compiled code

    cases = [Case(path, root) for root in (TRANSCRIPTS, CASES) for path in sorted(root.glob("*/*.txt"))]
    assert len(cases) > 100, f"only {len(cases)} cases were found"
    playing = hosts(options)
    for host in playing:
        unshown = host.lacks - set().union(*(case.lacks for case in cases))
        assert not unshown, f"no case shows how {host.name} refuses what needs {unshown}"
    chosen = [case for case in cases if not options.cases or case.name.startswith(tuple(options.cases))]
    # Once, before many of them want it compiled.
    for host in playing:
        play(next(case for case in cases if case.name == "eras/ping-first"), host)
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        rows = [(case, [pool.submit(play, case, host) for host in playing]) for case in chosen]
        problems = []
        print(f"{'':46}" + "".join(f"{host.name:26}" for host in playing))
        for case, row in rows:
            cells = [cell.result() for cell in row]
            problems += [f"{host.name}: {problem}" for host, (_, problem) in zip(playing, cells) if problem]
            print((f"{case.name:46}" + "".join(f"{fate:26}" for fate, _ in cells)).rstrip(), flush=True)
    built = digest(options.component)
    for host in playing:
        print(f"{host.name} runs the component {host.digest}")
        if host.digest != built:
            problems.append(f"{host.name} runs another component than {options.component}, {built}")
    for problem in problems:
        print(problem, file=sys.stderr)
    print(f"{len(chosen)} cases in {len(playing)} hosts: {len(problems)} failed")
    sys.exit(bool(problems))


if __name__ == "__main__":
    main()
