"""A process that fills its record from the platform's history.

    python -m support.filler BASE_URL APP_ID APP_SECRET DIRECTORY SESSION_KEY COUNT

Prints ``asking``, reads the chat until it shows so many messages, then prints how many these are. Nothing runs out by
itself.
"""

import asyncio
import sys

from support.leases import FOR_EVER
from support.waiting import PATIENCE

from nanobot_transcript import AsyncGroupTranscriptStore
from nanobot_transcript.coordination.contract import new_holder
from nanobot_transcript.coordination.files.call_budget import FileBudget
from nanobot_transcript.coordination.files.lease import FileLease
from transcript_channels.feishu.client import FeishuClient
from transcript_channels.feishu.fallback import FallbackOptions, HistoryFallback
from transcript_channels.feishu.history import FeishuHistory


async def main(base_url: str, app_id: str, app_secret: str, directory: str, key: str, count: str) -> None:
    lease, budget = FileLease(directory, wait=PATIENCE), FileBudget(directory, wait=PATIENCE)
    options = FallbackOptions(rest=FOR_EVER, ttl=FOR_EVER, wait=FOR_EVER, look=0.02)
    async with FeishuClient(app_id, app_secret, base_url) as client:
        fallback = HistoryFallback([FeishuHistory(client)], lease, budget, new_holder(app_id), options=options)
        async with AsyncGroupTranscriptStore(directory, fallback=fallback) as store:
            sys.stdout.write("asking\n")
            sys.stdout.flush()
            page = await store.recent(key, 5000)
            while len(page.entries) < int(count):  # each read waits for the filling, five seconds at most
                page = await store.recent(key, 5000)
            sys.stdout.write(f"{len(page.entries)}\n")


asyncio.run(main(*sys.argv[1:7]))
