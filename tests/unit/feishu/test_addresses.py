"""Addresses of the open platform."""

import pytest

from transcript_channels.feishu.addresses import FEISHU_URL, LARK_URL, console_of, is_loopback, web_origin


@pytest.mark.parametrize("base_url", [FEISHU_URL, LARK_URL])
def test_the_console_of_each_cloud_is_its_own(base_url: str) -> None:
    assert console_of(base_url) == base_url


def test_another_deployment_has_the_words_of_feishu() -> None:
    assert console_of("http://127.0.0.1:8080") == FEISHU_URL
    assert web_origin("http://127.0.0.1:8080/") == "http://127.0.0.1:8080"
    assert is_loopback("http://127.0.0.1:8080")
    assert not is_loopback(FEISHU_URL)
