"""How much the tests protect: lines and branches they execute, and how many of 300 small breaks they notice.

    python -m tools.mutants [--only ROOM] [--id M] [--measure] [--fresh] [--sample N --seed S]

Three steps, each kept under ``build/mutants``: one run of all tests under coverage (``coverage_map``), then each mutant
of ``tests/mutants.yaml`` (``sample``) put into a copy of the tree and the tests that execute its line run against it
(``trial``), then the tables. A call goes on where the last one was interrupted.
"""
