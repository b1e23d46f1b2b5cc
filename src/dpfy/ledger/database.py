"""The ledger's file: tables, version, transactions, and engine errors in plain words."""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from dpfy.errors import LedgerConflictError, SourceError, SpecError

__all__ = ["connect", "engine_errors", "transaction"]

_VERSION = 1
_APPLICATION = 0x64706679  # "dpfy"
_BUSY_SECONDS = 30.0

_TABLES = """
CREATE TABLE account (
  id INTEGER PRIMARY KEY,
  cap_epsilon REAL CHECK (cap_epsilon >= 0),
  cap_delta REAL CHECK (cap_delta >= 0)
) STRICT;
CREATE TABLE alias (
  kind TEXT NOT NULL CHECK (kind IN ('dataset', 'fingerprint', 'population')),
  name TEXT NOT NULL CHECK (name <> ''),
  account INTEGER NOT NULL REFERENCES account (id),
  PRIMARY KEY (kind, name)
) STRICT;
CREATE INDEX alias_account ON alias (account);
CREATE TABLE run (
  id TEXT PRIMARY KEY,
  account INTEGER NOT NULL REFERENCES account (id),
  time TEXT NOT NULL,
  dataset TEXT NOT NULL,
  operation TEXT NOT NULL,
  idempotency_key TEXT UNIQUE,
  state TEXT NOT NULL CHECK (state IN ('reserved', 'started', 'committed', 'released')),
  planned_events TEXT NOT NULL,
  planned_epsilon REAL NOT NULL CHECK (planned_epsilon > 0),
  planned_delta REAL NOT NULL CHECK (planned_delta >= 0 AND planned_delta < 1),
  charges TEXT,
  epsilon REAL NOT NULL CHECK (epsilon >= 0),
  delta REAL NOT NULL CHECK (delta >= 0 AND delta <= planned_delta),
  gaussian_mu_squared REAL NOT NULL CHECK (gaussian_mu_squared >= 0),
  threshold_delta REAL NOT NULL CHECK (threshold_delta >= 0),
  exact INTEGER NOT NULL CHECK (exact IN (0, 1)),
  CHECK ((state = 'committed') = (charges IS NOT NULL)),
  CHECK (epsilon <= planned_epsilon)
) STRICT;
CREATE INDEX run_account ON run (account);
CREATE TABLE journal (
  entry INTEGER PRIMARY KEY,
  time TEXT NOT NULL,
  transition TEXT NOT NULL CHECK (transition IN ('reserve', 'start', 'commit', 'release', 'cap')),
  content TEXT NOT NULL,
  digest TEXT NOT NULL
) STRICT;
CREATE TRIGGER journal_is_not_changed BEFORE UPDATE ON journal
BEGIN SELECT RAISE(ABORT, 'the journal is append-only'); END;
CREATE TRIGGER journal_is_not_cut BEFORE DELETE ON journal
BEGIN SELECT RAISE(ABORT, 'the journal is append-only'); END;
"""


@contextmanager
def engine_errors(path: Path) -> Iterator[None]:
    """Turns SQLite's errors into ours: busy, read-only or full, not a ledger.

    Raises:
        LedgerConflictError: another process held the ledger too long.
        SpecError: the file can't be opened or written.
        SourceError: the file is corrupted.
    """
    try:
        yield
    except sqlite3.IntegrityError as error:
        raise LedgerConflictError(f"the ledger refuses a change that breaks its rules: {error}.") from None
    except sqlite3.OperationalError as error:
        name = getattr(error, "sqlite_errorname", "")
        if name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
            raise LedgerConflictError(
                f"the ledger {path} was busy for over {_BUSY_SECONDS:g} seconds.",
                hint="Another run holds it; try again.",
            ) from None
        raise SpecError(
            f"the ledger {path} must be readable and writable, which the system refuses ({error}).",
            hint="Mend the folder's permissions or make room on the disk.",
        ) from None
    except sqlite3.DatabaseError:
        raise SourceError(
            f"a ledger was expected in {path}; the file is damaged or something else.",
            hint="Put back a copy of it. Without it, what was spent is unknown.",
            file=str(path),
        ) from None


def connect(path: Path) -> sqlite3.Connection:
    """Opens the ledger's file, and creates it if need be (mode 0600).

    Raises:
        SourceError: it is damaged, no ledger, or written by a newer dpfy.
        SpecError: it can't be opened or written.
    """
    try:
        os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
    except OSError as error:
        raise SpecError(
            f"the ledger {path} must be readable and writable, which the system refuses ({error.strerror}).",
            hint="Mend the folder's permissions, or set $DPFY_HOME to another folder.",
        ) from None
    with engine_errors(path):
        connection = sqlite3.connect(path, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False)
        try:
            _switch_to_wal(connection)
            connection.execute("PRAGMA synchronous = FULL")
            connection.execute("PRAGMA foreign_keys = ON")
            _create_or_check(connection, path)
        except BaseException:
            connection.close()
            raise
        return connection


def _switch_to_wal(connection: sqlite3.Connection) -> None:
    """The switch doesn't wait for other processes by itself while they switch too."""
    deadline = time.monotonic() + _BUSY_SECONDS
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:
            if not error.sqlite_errorname.startswith("SQLITE_BUSY") or time.monotonic() > deadline:
                raise
            time.sleep(0.01)


def _create_or_check(connection: sqlite3.Connection, path: Path) -> None:
    if connection.execute("PRAGMA user_version").fetchone()[0] == 0:
        with transaction(connection):
            version = connection.execute("PRAGMA user_version").fetchone()[0]
            tables = connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()[0]
            if version == 0 and tables == 0:
                for statement in _statements(_TABLES):
                    connection.execute(statement)
                connection.execute(f"PRAGMA application_id = {_APPLICATION}")
                connection.execute(f"PRAGMA user_version = {_VERSION}")
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    if connection.execute("PRAGMA application_id").fetchone()[0] != _APPLICATION:
        raise SourceError(f"a ledger was expected in {path}; the database is another one.", file=str(path))
    if version != _VERSION:
        raise SourceError(
            f"a ledger of version {_VERSION} was expected in {path}; it has version {version}.",
            hint="Use the dpfy that wrote it, or a newer one.",
            file=str(path),
        )


def _statements(script: str) -> Iterator[str]:
    """Splits a script, because `executescript` would commit in between."""
    statement = ""
    for line in script.splitlines(keepends=True):
        statement += line
        if statement.strip() and sqlite3.complete_statement(statement):
            yield statement
            statement = ""


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """One transaction that holds the write lock from its first moment; all of it or nothing."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise
