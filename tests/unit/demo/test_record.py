"""Where the demo keeps its record, as the environment says."""

from pathlib import Path

import pytest
from support.postgres import Cluster

from nanobot_transcript.demo.record import DemoPlace
from nanobot_transcript.errors import ConfigError, StoreError

PREFIX = "NANOBOT_TRANSCRIPT_RECORD__"


def test_it_is_in_the_folder_where_no_database_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(f"{PREFIX}SCHEMA", "mine")
    place = DemoPlace.from_environment(tmp_path)
    assert (place.schema, place.variables) == ("", {})
    with place.open() as record:
        assert record.place == str(tmp_path)


def test_in_a_database_it_has_a_schema_of_its_own_and_its_spools_in_its_own_homes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = {"SCHEMA": "mine", "SPOOL_DIR": "/var/spool/mine", "LISTEN_URL": "postgresql://h2/db", "CONNECTIONS": "7"}
    secret = tmp_path / "url"
    secret.write_text("postgresql://bot:pw@h1/db\n", encoding="utf-8")
    for name, value in (told | {"URL_FILE": str(secret)}).items():
        monkeypatch.setenv(PREFIX + name, value)
    one, other = DemoPlace.from_environment(tmp_path), DemoPlace.from_environment(tmp_path)
    assert one.schema.startswith("demo_")
    assert one.schema != other.schema
    assert one.variables == {
        f"{PREFIX}URL": "postgresql://bot:pw@h1/db",
        f"{PREFIX}SCHEMA": one.schema,
        f"{PREFIX}CONNECTIONS": "7",
        f"{PREFIX}LISTEN_URL": "postgresql://h2/db",
    }


def test_what_is_no_database_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(f"{PREFIX}URL", "mysql://bot:pw@host/db")
    with pytest.raises(ConfigError) as refused:
        DemoPlace.from_environment(tmp_path)
    assert (
        str(refused.value)
        == f"{PREFIX}URL must begin with postgresql://, as in postgresql://user:password@host:5432/name."
    )


def test_a_schema_that_cannot_be_dropped_is_told_if_it_was_made(
    cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster.execute("CREATE ROLE maker LOGIN", "GRANT CREATE ON DATABASE postgres TO maker")
    monkeypatch.setenv(f"{PREFIX}URL", cluster.url.replace("postgres@", "maker@"))
    place = DemoPlace.from_environment(tmp_path)
    assert place.remove() == ""
    place.prepare()
    cluster.execute(f"ALTER SCHEMA {place.schema} OWNER TO postgres")
    left = place.remove()
    assert left.startswith(f"The schema {place.schema} is still in the database: postgresql://127")
    dropping = f"""psql "$NANOBOT_TRANSCRIPT_RECORD__URL" -c 'DROP SCHEMA {place.schema} CASCADE'"""
    assert left.endswith(dropping)
    assert place.remove(known=True) == f"The schema {place.schema} is still in the database. To drop it: {dropping}"
    cluster.execute(f"ALTER SCHEMA {place.schema} OWNER TO maker")
    assert place.remove() == ""
    assert cluster.execute(f"SELECT to_regnamespace('{place.schema}') IS NULL") == [(True,)]
    cluster.execute("DROP OWNED BY maker", "DROP ROLE maker")


def test_who_may_make_no_schema_is_told_the_one_thing_that_helps(
    cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A schema that somebody made for them would have another name the next time."""
    cluster.execute("CREATE ROLE guest LOGIN")
    monkeypatch.setenv(f"{PREFIX}URL", cluster.url.replace("postgres@", "guest@"))
    with pytest.raises(StoreError) as refused:
        DemoPlace.from_environment(tmp_path).prepare()
    assert refused.value.hint.endswith('GRANT CREATE ON DATABASE "postgres" TO "guest";')
    cluster.execute("DROP ROLE guest")
