"""What a user meets who is refused: a sentence without the password, and a hint that says what to do."""

import threading
import traceback
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import psycopg
import pytest
from support.places import open_record
from support.postgres import Cluster
from support.procs import until
from support.spools import until_empty

from nanobot_transcript.errors import StoreBusyError, StoreError, StoreUnavailableError, TranscriptError
from nanobot_transcript.record import Record
from nanobot_transcript.record.spool.backlog import waiting_in
from nanobot_transcript.sql.postgres.address import quoted

KEY = "feishu:oc_1"
SECRET = "s3cr3t-Pw"
_HBA = """
host all postgres 127.0.0.1/32 trust
host mine,shut,narrow,nosuch bot 127.0.0.1/32 scram-sha-256
host all poor,nobody,locked 127.0.0.1/32 trust
"""
_ROLES = (
    f"CREATE ROLE bot LOGIN PASSWORD '{SECRET}'",
    "CREATE ROLE poor LOGIN",
    "CREATE ROLE locked",
    "CREATE DATABASE mine OWNER bot",
    "CREATE DATABASE shut ALLOW_CONNECTIONS false",
    "CREATE DATABASE closed OWNER bot",
    "REVOKE CONNECT ON DATABASE closed FROM PUBLIC",
    "CREATE DATABASE narrow OWNER bot TEMPLATE template0 ENCODING 'LATIN1' LC_COLLATE 'C' LC_CTYPE 'C'",
)


@pytest.fixture(scope="module")
def strict(own_server: Cluster) -> Iterator[Cluster]:
    """A server that asks for passwords."""
    hba = own_server.folder / "data" / "pg_hba.conf"
    before = hba.read_text()
    own_server.execute(*_ROLES)
    hba.write_text(_HBA)
    own_server.execute("SELECT pg_reload_conf()")
    wrong = own_server.url.replace("postgres@", "bot:wrong@").replace("/postgres", "/mine")
    until(lambda: not _connects(wrong), "it asks for passwords")
    with open_record(f"{own_server.url}#theirs") as record:
        use(record)
    yield own_server
    hba.write_text(before)
    own_server.execute("SELECT pg_reload_conf()", "DROP SCHEMA theirs CASCADE")
    own_server.execute(*(f"DROP DATABASE {name}" for name in ("mine", "shut", "narrow", "closed")))
    own_server.execute("DROP ROLE bot, poor, locked")


def _connects(url: str) -> bool:
    try:
        psycopg.connect(url).close()
    except psycopg.OperationalError:
        return False
    return True


def use(record: Record) -> None:
    record.store.append(KEY, "user", "hello", "on_ada", "om_1")


class Case(NamedTuple):
    """Where somebody comes from and goes to, and what is said of it, and advised."""

    user: str
    where: str
    said: str
    advised: str
    kind: type[StoreError] = StoreUnavailableError


BOT = f"bot:{SECRET}"
REFUSED = {
    "a wrong password": Case(f"bot:{SECRET}x", "HOST/mine", "password authentication failed", "Correct user and passw"),
    "a password that nobody has put in": Case("bot:${X}", "HOST/mine", "password authentication", "still reads ${…}"),
    "no password": Case("bot", "HOST/mine", "no password supplied", "Write the password into"),
    "nobody's name": Case(f"nobody:{SECRET}", "HOST/mine", 'role "nobody" does not exist', "Let this user in"),
    "a role that may not log in": Case(f"locked:{SECRET}", "HOST/mine", "not permitted to log in", "Let this user in"),
    "no line in pg_hba.conf": Case(BOT, "HOST/postgres", "no pg_hba.conf entry", "Let this user in"),
    "no such database": Case(BOT, "HOST/nosuch", 'database "nosuch" does not exist', "Create the database"),
    "a closed database": Case(BOT, "HOST/shut", "not currently accepting", "Create the database, or correct its name"),
    "a narrow encoding": Case(BOT, "HOST/narrow", "its encoding is LATIN1", "ENCODING 'UTF8'"),
    "no right to make a schema": Case(
        f"poor:{SECRET}", "HOST/mine", "permission denied", 'GRANT CREATE ON DATABASE "mine" TO "poor"'
    ),
    "no right to connect": Case(f"poor:{SECRET}", "HOST/closed", "permission denied", "GRANT CONNECT ON DATABASE"),
    "somebody else's schema": Case(f"poor:{SECRET}", "HOST/postgres#theirs", "permission denied", "Let one user own"),
    "nobody listens": Case(BOT, "127.0.0.1:1/mine", "Connection refused", "See whether PostgreSQL runs"),
    "nobody listens anywhere": Case(BOT, "127.0.0.1:1,127.0.0.1:2/mine", "Connection refused", "See whether"),
    "no such host": Case(BOT, "no-such-host.invalid/mine", "failed to resolve host", "Correct the host"),
    "one of the hosts refuses": Case(f"bot:{SECRET}x", "127.0.0.1:1,HOST/mine", "password authent", "Correct user"),
    "no TLS": Case(BOT, "HOST/mine?sslmode=require", "does not support SSL", "Correct sslmode"),
    "no such mode": Case(BOT, "HOST/mine?sslmode=wild", 'invalid sslmode value: "wild"', "Correct record.url"),
    "no such target": Case(BOT, "HOST/mine?target_session_attrs=x", "invalid target_session", "Correct record.url"),
    "a wait that is no number": Case(BOT, "HOST/mine?connect_timeout=never", "bad value", "Correct record.url"),
    "a standby": Case(BOT, "HOST/mine?target_session_attrs=standby", "not in hot standby", "Name all hosts"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_who_is_refused_is_told_why_and_what_to_do_without_the_password(strict: Cluster, name: str) -> None:
    case = REFUSED[name]
    address = f"postgresql://{case.user}@{case.where.replace('HOST', f'127.0.0.1:{strict.port}')}"
    with open_record(address if "#" in address else f"{address}#nanobot") as record:
        with pytest.raises(case.kind) as refused:
            use(record)
        told = "".join(traceback.format_exception(refused.value))
        findings = record.check()
    assert case.said in str(refused.value)
    assert case.advised in refused.value.hint
    assert any(found.severity == "error" and found.fix for found in findings)
    assert SECRET not in told + repr(refused.value) + refused.value.hint + repr(findings) + record.place


def test_who_has_a_right_to_the_schema_alone_is_told_that_by_doctor(strict: Cluster) -> None:
    strict.execute("GRANT ALL ON SCHEMA theirs TO poor", "GRANT SELECT ON ALL TABLES IN SCHEMA theirs TO poor")
    address = strict.url.replace("postgres@", "poor@") + "#theirs"
    with open_record(address) as record:
        assert [message["content"] for message in record.store.get_recent(KEY)] == ["hello"]
        with pytest.raises(StoreUnavailableError, match="permission denied") as refused:
            record.store.append(KEY, "user", "hello", "on_ada", "om_2")
        assert "Let one user own" in refused.value.hint
        rights = [found for found in record.check() if found.check == "rights"]
    assert [found.severity for found in rights] == ["error"]
    assert "Let one user own" in (rights[0].fix or "")


def test_whose_transactions_would_be_refused_is_told_the_sql_that_mends_it(strict: Cluster) -> None:
    strict.execute("ALTER ROLE bot SET default_transaction_isolation = 'repeatable read'")
    address = strict.url.replace("postgres@", f"bot:{SECRET}@").replace("/postgres", "/mine") + "#isolated"
    try:
        with open_record(address) as record:
            (found,) = (found for found in record.check() if found.check == "isolation")
            assert found.severity == "error"
            strict.execute(found.fix)
        with open_record(address) as record:
            assert "isolation" not in {found.check for found in record.check()}
    finally:
        strict.execute("ALTER ROLE bot RESET default_transaction_isolation")


@pytest.mark.parametrize("schema", ["mine", 'a "b"'])
def test_who_may_not_make_the_schema_is_told_the_sql_that_mends_it(strict: Cluster, schema: str) -> None:
    with open_record(strict.url.replace("postgres@", "poor@") + f"#{schema}") as record:
        try:
            for severity in ("error", "ok"):
                (rights,) = (found for found in record.check() if found.check == "rights")
                assert rights.severity == severity
                if rights.fix:
                    strict.execute(rights.fix)
            strict.execute(
                f"ALTER SCHEMA {quoted(schema)} OWNER TO postgres", f"GRANT USAGE ON SCHEMA {quoted(schema)} TO poor"
            )
            (rights,) = (found for found in record.check() if found.check == "rights")
            strict.execute(rights.fix)
            use(record)
            assert "error" not in {found.severity for found in record.check()}
        finally:
            strict.execute(f"DROP SCHEMA IF EXISTS {quoted(schema)} CASCADE")


def test_a_wrong_listen_url_is_told_by_its_own_name_and_address(strict: Cluster) -> None:
    with open_record(f"{strict.url}#apart", listen_url=f"postgresql://bot:{SECRET}@127.0.0.1:1/mine") as record:
        (ways,) = (found for found in record.check() if found.severity == "error")
    assert ways.message.startswith("postgresql://127.0.0.1:1/mine (record.listen_url): ")
    assert "record.listen_url" in ways.fix
    assert "record.url" not in ways.fix


@contextmanager
def crowded(url: str) -> Iterator[None]:
    """All connections that a usual user can have are taken."""
    with ExitStack() as stack:
        try:
            while True:
                stack.enter_context(psycopg.connect(url))
        except psycopg.OperationalError:
            yield


@pytest.fixture
def small(strict: Cluster) -> Iterator[str]:
    """The address of a database that takes eight connections."""
    strict.execute("ALTER ROLE bot CONNECTION LIMIT 8")
    yield strict.url.replace("postgres@", f"{BOT}@").replace("/postgres", "/mine#small")
    strict.execute("ALTER ROLE bot CONNECTION LIMIT -1")


def test_a_crowded_server_is_busy_and_what_is_connected_goes_on(small: str) -> None:
    with open_record(small) as record, open_record(small) as late:
        use(record)
        with crowded(small.partition("#")[0]):
            with pytest.raises(StoreBusyError) as refused:
                use(late)
            assert 'ALTER ROLE "bot" CONNECTION LIMIT' in refused.value.hint
            assert [found.fix for found in late.check()] == [refused.value.hint]
            threads = [threading.Thread(target=use, args=(record,)) for _ in range(8)]
            failed: list[Any] = []
            before, threading.excepthook = threading.excepthook, lambda failure: failed.append(failure.exc_value)
            try:
                for thread in threads:
                    thread.start()
                for thread in threads:
                    thread.join()
            finally:
                threading.excepthook = before
            assert failed == [], "those who have a connection share it"
        until(lambda: _is_done(late), "there is room again")


def _is_done(record: Record) -> bool:
    try:
        use(record)
    except StoreBusyError:
        return False
    return True


def test_a_server_without_room_for_the_connection_that_stays_says_so(small: str) -> None:
    with open_record(small, connections=1) as record:
        use(record)
        with crowded(small.partition("#")[0]), pytest.raises(StoreBusyError) as refused:
            record.processes.join()
        assert 'ALTER ROLE "bot" CONNECTION LIMIT' in refused.value.hint


def test_a_server_that_stands_still_is_told_from_connections_that_are_in_use(server: Cluster) -> None:
    address = server.url.replace(f"127.0.0.1:{server.port}", f"127.0.0.1:{server.port},127.0.0.1:{server.port}")
    with open_record(f"{address}#still") as record:
        server.pause()
        with pytest.raises(StoreUnavailableError):
            use(record)
        server.resume()
        until(lambda: _is_done_at_last(record), "it goes on")


def _is_done_at_last(record: Record) -> bool:
    try:
        use(record)
    except StoreError:
        return False
    return True


NEWER: dict[str, Callable[[Record], Any]] = {
    "append": use,
    "recall": lambda record: record.store.recall(KEY, "om_1"),
    "redact": lambda record: record.store.redact(KEY, "om_1"),
    "maintain": lambda record: record.store.maintain(),
    "purge": lambda record: record.store.purge(KEY),
    "acquire": lambda record: record.leases.acquire("a", "Alpha#1", 60),
    "take": lambda record: record.budgets.take("a", limit=1, window=60),
    "put": lambda record: record.marks.put("a", {"b": 1}, "c"),
    "prune": lambda record: record.marks.prune("a", 0),
    "join": lambda record: record.processes.join(),
    "remember": lambda record: record.members.remember_person("on_bo", "Bo"),
}


@pytest.mark.parametrize("has_written", [False, True])
def test_tables_of_a_newer_version_are_read_and_never_written(
    cluster: Cluster, postgres_place: str, has_written: bool
) -> None:
    schema = postgres_place.partition("#")[2]
    with open_record(postgres_place) as first:
        use(first)
        first.store.recall(KEY, "om_x")
    with open_record(postgres_place) as record:
        if has_written:
            record.store.append(KEY, "user", "hello", "on_ada", "om_1")
        cluster.execute(f"UPDATE {schema}.versions SET version = version + 1 WHERE part = 'record'")
        if has_written:
            until(lambda: not _is_done_at_last(record), "it has seen the newer version")
        before = cluster.execute(f"SELECT seq, epoch, bytes, erased_to FROM {schema}.chats")
        assert [message["content"] for message in record.store.get_recent(KEY)] == ["hello"]
        assert len(record.store.read(KEY).entries) == len(record.store.search("hello")) == 1
        assert (record.leases.current("a"), record.marks.get("a", "c")) == (None, None)
        for name, write in NEWER.items():
            with pytest.raises(StoreUnavailableError, match="newer version") as refused:
                write(record)
            assert "Update this installation" in refused.value.hint, name
        assert cluster.execute(f"SELECT seq, epoch, bytes, erased_to FROM {schema}.chats") == before
        assert [found.severity for found in record.check() if "newer" in found.message] == ["error"]


def test_what_is_said_while_the_tables_are_of_a_newer_version_waits_for_the_update(
    cluster: Cluster, postgres_place: str, tmp_path: Path
) -> None:
    versions = f"UPDATE {postgres_place.partition('#')[2]}.versions SET version = version"
    with open_record(postgres_place) as record:
        use(record)
    cluster.execute(f"{versions} + 1 WHERE part = 'record'")
    with open_record(postgres_place, spool_dir=tmp_path) as record:
        assert record.store.append(KEY, "user", "more", "on_ada", "om_2")
        until(lambda: "newer version" in waiting_in(tmp_path).error, "it is noted why it waits")
        assert [message["content"] for message in record.store.get_recent(KEY)] == ["hello", "more"]
        cluster.execute(f"{versions} - 1 WHERE part = 'record'")
        until_empty(tmp_path)
    with open_record(postgres_place) as record:
        assert [message["content"] for message in record.store.get_recent(KEY)] == ["hello", "more"]


def test_posts_of_a_newer_version_are_read_and_never_written(cluster: Cluster, postgres_place: str) -> None:
    versions = f"UPDATE {postgres_place.partition('#')[2]}.versions SET version = version"
    with open_record(postgres_place) as record:
        posted = record.outbox.post(KEY, "hello")
    cluster.execute(f"{versions} + 1 WHERE part = 'outbox'")
    with open_record(postgres_place) as record:
        assert record.outbox.status(posted).state == "queued"
        with pytest.raises(TranscriptError, match="newer version"):
            record.outbox.post(KEY, "more")
        use(record)


def test_tables_that_a_newer_version_has_given_another_shape_are_told_so(cluster: Cluster, postgres_place: str) -> None:
    schema = postgres_place.partition("#")[2]
    with open_record(postgres_place) as record:
        use(record)
        cluster.execute(
            f"UPDATE {schema}.versions SET version = version + 1",
            f"ALTER TABLE {schema}.chats RENAME COLUMN seq TO number",
        )
        for call in (record.store.get_recent, record.store.end):
            with pytest.raises(StoreUnavailableError, match="newer version"):
                call(KEY)
        with pytest.raises(StoreUnavailableError, match="newer version"):
            use(record)
