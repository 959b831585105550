"""Runs nanobot with its Feishu client pointed at ``FEISHU_BASE_URL``: ``redirected_nanobot.py gateway ...``.

nanobot has no setting for the platform's address; this stands in for the plugin where a test must do without it.
"""

import os
import runpy
import sys

import nanobot.channels.feishu.runtime as feishu

base_url = os.environ["FEISHU_BASE_URL"]
load_lark = feishu._load_lark_runtime


def load_redirected() -> tuple[object, str, str]:
    lark, _, _ = load_lark()
    return lark, base_url, base_url


feishu._load_lark_runtime = load_redirected
sys.argv[0] = "nanobot"
runpy.run_module("nanobot", run_name="__main__")
