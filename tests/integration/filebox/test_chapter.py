"""The program in the chapter runs as it is printed."""

from pathlib import Path

import pytest
from support.chapters import output_of_programs


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_printed_program_runs_in_a_fresh_home(language: str, tmp_path: Path) -> None:
    assert output_of_programs(f"{language}/filebox.md", tmp_path) == [
        "登录页面验证码显示异常",
        "['Found it.', 'The captcha does not refresh.']",
        "True",
    ]
