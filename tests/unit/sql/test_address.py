"""The address of a database: what is none is refused without a word of it, since any of it may be the password."""

import pytest

from nanobot_transcript.errors import ConfigError
from nanobot_transcript.sql.postgres.address import DatabaseAddress

SECRET = "s3cr3t"


@pytest.mark.parametrize(
    "url",
    [
        f"postgresql://bot:{SECRET}/x@host/db",
        f"postgresql://bot:12/{SECRET}@host/db",
        f"postgresql://bot:{SECRET}@x@host/db",
        f"postgresql://bot:{SECRET}%zz@host/db",
        f"postgresql://bot:{SECRET}\0@host/db",
        f"postgresql://bot:{SECRET}\ud800@host/db",
        f"postgresql://bot:{SECRET}@host:99999/db",
        f"postgresql://bot:{SECRET}@host:{'9' * 5000}/db",
        f"postgresql://bot:{SECRET}@host/db?nonsense=1",
        f"postgresql://[{SECRET}",
    ],
)
@pytest.mark.parametrize("which", ["url", "listen_url"])
def test_an_address_that_cannot_be_understood_is_refused_without_its_password(url: str, which: str) -> None:
    given = {"url": "postgresql://host/db"} | {which: url}
    with pytest.raises(ConfigError) as refused:
        DatabaseAddress(**given)  # type: ignore[arg-type] - each a text
    told = f"{refused.value} {refused.value.hint} {refused.value!r}"
    assert SECRET not in told
    assert str(refused.value).startswith(f"record.{which} cannot be understood")
    assert "must be percent-encoded: %25 for %, %40 for @" in refused.value.hint


@pytest.mark.parametrize(
    "url", ["postgresql://bot:pw@host", "postgresql://bot:pw@host:5432/", "postgresql://host?user=bot"]
)
@pytest.mark.parametrize("which", ["url", "listen_url"])
def test_an_address_that_leaves_open_which_database_is_refused(url: str, which: str) -> None:
    given = {"url": "postgresql://host/db"} | {which: url}
    with pytest.raises(ConfigError, match=f"record.{which} does not name a database") as refused:
        DatabaseAddress(**given)  # type: ignore[arg-type] - each a text
    assert "/name" in refused.value.hint


@pytest.mark.parametrize(
    ("schema", "why"),
    [
        ("x" * 64, "it has 64 bytes"),
        ("群" * 22, "it has 66 bytes"),
        ("pg_mine", "begin with pg_"),
        ("a'b", "characters"),
    ],
)
def test_a_schema_that_cannot_be_is_told_why(schema: str, why: str) -> None:
    with pytest.raises(ConfigError, match=why):
        DatabaseAddress("postgresql://host/db", schema)


def test_the_database_may_be_named_elsewhere_in_the_address() -> None:
    assert DatabaseAddress("postgresql://host?dbname=db").name == "postgresql://host/db (schema nanobot)"
    assert DatabaseAddress("postgresql://?service=ours")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("postgresql://ada:pw@a:5432,b:5433/db", "postgres://ada@b:5433,A/db?sslmode=prefer"),
        ("postgresql://a:6000,b:6000/db", "postgresql://b:6000,a:6000,b:6000/db"),
        ("postgresql://a,b/db?port=7", "postgresql://a:7,b:7/db"),
        ("postgresql:///db?host=/run/x", "postgresql://%2Frun%2Fx:5432/db"),
        ("postgresql://?service=ours", "postgresql://bot@?service=ours"),
    ],
)
def test_the_same_database_has_one_address_whoever_asks_and_in_whatever_order(one: str, other: str) -> None:
    assert DatabaseAddress(one).address == DatabaseAddress(other).address
    assert "ada" not in DatabaseAddress(one).address
    assert "pw" not in DatabaseAddress(one).address


@pytest.mark.parametrize("other", ["postgresql://b/db", "postgresql://a:1/db", "postgresql://a/other"])
def test_another_database_has_another_address(other: str) -> None:
    assert DatabaseAddress("postgresql://a/db").address != DatabaseAddress(other).address
    assert DatabaseAddress("postgresql://a/db").address != DatabaseAddress("postgresql://a/db", "second").address


def test_what_an_address_leaves_out_comes_from_the_variables_of_postgresql(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PGHOST", "a")
    monkeypatch.setenv("PGPORT", "7")
    assert DatabaseAddress("postgresql:///db").address == DatabaseAddress("postgresql://a:7/db").address


def test_where_the_connection_that_stays_leads_is_told_with_its_setting() -> None:
    place = DatabaseAddress("postgresql://pooler:6432/db", listen_url=f"postgresql://bot:{SECRET}@host/db")
    assert (place.direct_name, place.direct_setting) == (
        "postgresql://host/db (record.listen_url)",
        "record.listen_url",
    )
    alone = DatabaseAddress("postgresql://host/db")
    assert (alone.direct_name, alone.direct_setting) == (alone.name, "record.url")


@pytest.mark.parametrize(
    ("url", "name"),
    [
        (f"postgresql://bot:{SECRET}%2F%40%3F@host:5433/db", "postgresql://host:5433/db (schema nanobot)"),
        (f"postgres://bot:{SECRET}@h1:1,h2:2/db?sslmode=require", "postgresql://h1:1,h2:2/db (schema nanobot)"),
        (f"postgresql:///db?host=/run/pg&password={SECRET}", "postgresql:///run/pg/db (schema nanobot)"),
        (f"postgresql://bot%40home:{SECRET}@[::1]:5432/db", "postgresql://::1:5432/db (schema nanobot)"),
    ],
)
def test_a_place_is_told_without_user_and_password(url: str, name: str) -> None:
    place = DatabaseAddress(url)
    assert place.name == name
    assert SECRET not in repr(place)


@pytest.mark.parametrize("schema", ["", "a\0b", "a%b", "%s", "a$$b", "pg_mine", "it's", "x\ud800", "x" * 64, "世" * 22])
def test_a_schema_that_means_something_else_somewhere_is_refused(schema: str) -> None:
    with pytest.raises(ConfigError):
        DatabaseAddress("postgresql://host/db", schema)


@pytest.mark.parametrize("schema", ["nanobot", "nanobot.x", 'a"b', "a;b", "世界 é", "x" * 63])
def test_other_names_of_a_schema_are_taken(schema: str) -> None:
    assert DatabaseAddress("postgresql://host/db", schema).sql("SELECT FROM nanobot.chats").endswith('".chats')
