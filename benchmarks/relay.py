"""The baseline of Agent Assistant: the same calls and frames on the same HTTP server, and nothing else.

    python -m benchmarks.relay

Nothing is kept, checked, counted or told to anybody but the caller. Its first line says the port.
"""

import asyncio

from aiohttp import web

from transcript_mcp.assistant.protocol import proto, wire

__all__: list[str] = []

_ASK = "/agentassistproto.SrvAgentAssist/AskQuestion"


class _Relay:
    def __init__(self) -> None:
        self._callers: dict[str, asyncio.Future[bytes]] = {}
        self._pages: list[web.WebSocketResponse] = []

    async def ask(self, request: web.Request) -> web.Response:
        asked = wire.decoded(proto.AskQuestionRequest, await request.read())
        caller = self._callers[asked.ID] = asyncio.get_running_loop().create_future()
        frame = proto.WebsocketMessage(Cmd="AskQuestion", AskQuestionRequest=asked).SerializeToString()
        for page in self._pages:
            await page.send_bytes(frame)
        return web.Response(body=await caller, content_type="application/proto")

    async def page(self, request: web.Request) -> web.WebSocketResponse:
        socket = web.WebSocketResponse()
        await socket.prepare(request)
        async for message in socket:
            frame = wire.decoded(proto.WebsocketMessage, message.data)
            if frame.Cmd == "UserLogin":
                self._pages.append(socket)
                await socket.send_bytes(message.data)
            else:
                answer = frame.AskQuestionResponse
                self._callers.pop(answer.ID).set_result(answer.SerializeToString())
        self._pages.remove(socket)
        return socket


async def main() -> None:
    relay, app = _Relay(), web.Application()
    app.add_routes([web.post(_ASK, relay.ask), web.get("/ws", relay.page)])
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    print(runner.addresses[0][1], flush=True)
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main())
