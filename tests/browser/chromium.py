"""Headless Chromium over its own pipe: no driver, no library, no port.

What a tab says on its console, what it asks the network for, and what it throws is kept.
"""

from __future__ import annotations

import asyncio
import base64
import json
import os
import shutil
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-extensions",
    "--hide-scrollbars",
    "--remote-debugging-pipe",
)
LONGEST = 64 * 2**20
ANSWER_SECONDS = 30
LEFT = "navigated or closed"


class PageLeftError(Exception):
    """The page was left while it was asked."""


class Browser:
    """One process; commands go in by one pipe, answers and events come out of the other."""

    def __init__(self, reader: asyncio.StreamReader, commands: int) -> None:
        self._reader = reader
        self._commands = commands
        self._answers: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self._tabs: dict[str, Tab] = {}
        self._listening = asyncio.create_task(self._listen())

    async def call(self, method: str, session: str | None = None, **params: object) -> Any:  # noqa: ANN401 - JSON
        number = len(self._answers)
        answer = self._answers[number] = asyncio.get_running_loop().create_future()
        message = {"id": number, "method": method, "params": params}
        if session:
            message["sessionId"] = session
        os.write(self._commands, json.dumps(message).encode() + b"\0")
        async with asyncio.timeout(ANSWER_SECONDS):
            given = await answer
        if LEFT in given.get("error", {}).get("message", ""):
            raise PageLeftError
        assert "error" not in given, (method, given["error"])
        return given["result"]

    async def tab(self, width: int, height: int, scheme: str = "light") -> Tab:
        """A new tab of that size; narrow ones are phones."""
        target = await self.call("Target.createTarget", url="about:blank")
        attached = await self.call(
            "Target.attachToTarget", targetId=target["targetId"], flatten=True
        )
        tab = self._tabs[attached["sessionId"]] = Tab(self, attached["sessionId"])
        for domain in ("Page", "Runtime", "Log", "Network"):
            await tab.call(f"{domain}.enable")
        await tab.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=2 if width < 600 else 1,
            mobile=width < 600,
        )
        preferred = {"name": "prefers-color-scheme", "value": scheme}
        await tab.call("Emulation.setEmulatedMedia", features=[preferred])
        return tab

    async def _listen(self) -> None:
        while True:
            message = json.loads((await self._reader.readuntil(b"\0"))[:-1])
            if "id" in message:
                self._answers[message["id"]].set_result(message)
            elif tab := self._tabs.get(message.get("sessionId", "")):
                tab.hear(message["method"], message["params"])

    async def close(self) -> None:
        self._listening.cancel()
        os.write(self._commands, b'{"id":-1,"method":"Browser.close"}\0')


class Tab:
    """One page, and what it did."""

    def __init__(self, browser: Browser, session: str) -> None:
        self._browser = browser
        self._session = session
        self.complaints: list[str] = []
        self.requests: list[str] = []

    def hear(self, event: str, said: dict[str, Any]) -> None:
        match event:
            case "Runtime.consoleAPICalled" | "Runtime.exceptionThrown":
                self.complaints.append(json.dumps(said))
            case "Log.entryAdded" if said["entry"]["level"] in {"warning", "error"}:
                self.complaints.append(json.dumps(said["entry"]))
            case "Network.requestWillBeSent":
                self.requests.append(said["request"]["url"])

    async def call(self, method: str, **params: object) -> Any:  # noqa: ANN401 - JSON
        return await self._browser.call(method, self._session, **params)

    async def evaluate(self, expression: str) -> Any:  # noqa: ANN401 - JSON
        """The value of JavaScript in the page; promises are waited for."""
        given = await self.call(
            "Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True
        )
        assert "exceptionDetails" not in given, given["exceptionDetails"]
        return given["result"].get("value")

    async def go(self, address: str) -> None:
        await self.call("Page.navigate", url=address)

    async def until(self, condition: str) -> None:
        """Wait until JavaScript is true in the page, or in the one that comes after it."""
        asked = (
            f"new Promise(done => {{ const look = () => ({condition})"
            " ? done() : requestAnimationFrame(look); look(); })"
        )
        async with asyncio.timeout(ANSWER_SECONDS):
            while True:
                with suppress(PageLeftError):
                    await self.evaluate(asked)
                    return

    async def picture(self) -> bytes:
        """The whole page as a PNG."""
        shot = await self.call("Page.captureScreenshot", captureBeyondViewport=True)
        return base64.b64decode(shot["data"])


@asynccontextmanager
async def chromium(profile: Path) -> AsyncIterator[Browser]:
    """A browser with an empty profile; it ends with the block."""
    program = shutil.which("chromium")
    assert program, "run tests/browser/install"
    (theirs_in, commands), (answers, theirs_out) = os.pipe(), os.pipe()
    loop = asyncio.get_running_loop()
    process = await asyncio.create_subprocess_exec(
        "bash",
        "-c",
        f'exec "$0" "$@" 3<&{theirs_in} 4>&{theirs_out} 2>/dev/null',
        program,
        *FLAGS,
        f"--user-data-dir={profile}",
        pass_fds=(theirs_in, theirs_out),
    )
    os.close(theirs_in)
    os.close(theirs_out)
    reader = asyncio.StreamReader(LONGEST)
    transport, _ = await loop.connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(answers, "rb", 0)
    )
    browser = Browser(reader, commands)
    try:
        yield browser
    finally:
        await browser.close()
        try:
            await asyncio.wait_for(process.wait(), 10)
        except TimeoutError:
            process.kill()
            await process.wait()
        transport.close()
        os.close(commands)
