"""How many examples Hypothesis tries: few in ``make test``, all in ``make soak``."""

from hypothesis import settings

__all__ = ["FEW", "MANY", "examples"]

FEW, MANY = "few", "many"
"""The profiles. A test that says nothing else has 30 examples, and 100 with the full repetitions."""

# No test is about how long something takes, and `make test` has the same answer whenever it runs.
settings.register_profile(FEW, deadline=None, max_examples=30, derandomize=True)
settings.register_profile(MANY, deadline=None, max_examples=100)


def examples(few: int, many: int) -> settings:
    """``@examples(150, 5000)`` above ``@given``: that many of both kinds of run."""
    return settings(max_examples=many if settings.get_current_profile_name() == MANY else few)
