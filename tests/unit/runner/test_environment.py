import pytest

from nanobot_transcript.runner.responders.environment import environment_for

SECRETS = [
    "DB_PASS",
    "SMTP_PASS",
    "PASS",
    "RABBITMQ_DEFAULT_PASS",
    "GPG_PASS",
    "MYSQL_PWD",
    "REDIS_PWD",
    "API_KEY2",
    "OPENAIKEY",
    "ACCESSKEY",
    "JWT",
    "BEARER",
    "SESSION_ID",
    "SLACK_WEBHOOK",
    "CONNECTION_STRING",
    "AZURE_STORAGE_CONNECTION_STRING",
    "REDIS_URL_0",
    "MONGO_URI2",
    "STRIPE_SK",
    "OPENAI_API_KEY",
    "GITHUB_TOKEN",
    "AWS_SECRET_ACCESS_KEY",
    "PGPASSWORD",
    "DATABASE_URL",
    "SENTRY_DSN",
    "NANOBOT_ANYTHING",
    "db_password",
]
HARMLESS = [
    "EDITOR",
    "KEYBOARD",
    "PWD",
    "OLDPWD",
    "COMPASS",
    "DBUS_SESSION_BUS_ADDRESS",
    "PYTHONPATH",
    "VIRTUAL_ENV",
    "HTTPS_PROXY",
    "CI",
]


@pytest.mark.parametrize("name", SECRETS)
def test_what_looks_like_a_secret_is_not_inherited(name: str) -> None:
    assert environment_for("safe", {}, {name: "x"}) == {}


@pytest.mark.parametrize("name", HARMLESS)
def test_the_rest_is(name: str) -> None:
    assert environment_for("safe", {}, {name: "x"}) == {name: "x"}


@pytest.mark.parametrize("value", ["http://ada:hush@proxy.example:8080", "redis://:hush@localhost/0"])
def test_an_address_with_a_password_is_not_inherited(value: str) -> None:
    assert environment_for("safe", {}, {"HTTPS_PROXY": value}) == {}


def test_what_is_given_is_there_whatever_it_is_called() -> None:
    assert environment_for("minimal", {"API_KEY": "x"}, {"EDITOR": "vi", "PATH": "/bin"}) == {
        "PATH": "/bin",
        "API_KEY": "x",
    }
