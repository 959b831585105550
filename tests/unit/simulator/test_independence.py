"""The simulator stands alone."""

import subprocess
import sys

from support.waiting import PATIENCE

FOREIGN = (
    "nanobot_transcript",
    "transcript_channels.feishu",
    "transcript_channels.nanobot_host",
    "lark_oapi",
    "nanobot",
)


def test_it_imports_nothing_of_the_product_nor_of_the_programs_it_faces() -> None:
    program = (
        "import sys, transcript_channels.simulator.process as _\n"
        f"print([name for name in {FOREIGN!r} if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=PATIENCE)
    assert done.stdout.strip() == "[]"
