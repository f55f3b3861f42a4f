"""The page, served in this process by a thread of its own, and clients that follow its links."""

import asyncio
import http.client
import json
import re
import threading
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any, Self

from reverie.server.engine import Engine, LazySession
from reverie.server.page_access import KEY_HEADER, KeptPageFile
from reverie.server.page_server import PageServer
from reverie.settings import Settings

PATIENCE = 60.0


class ServedPage:
    """A page on a store, from entering to leaving."""

    def __init__(self, home: Path, folder: Path, project: str, kept: KeptPageFile | None = None) -> None:
        self._kept = kept
        self._settings = Settings(home=str(home), project=project, dream="off")
        self._folder = folder
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever)
        self.page: PageServer
        self._engine: Engine

    def __enter__(self) -> Self:
        self._thread.start()
        self.run(self._start)
        return self

    def __exit__(self, *problem: object) -> None:
        self.run(self._stop)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def run(self, work: Callable[..., Awaitable[Any]], *given: Any) -> Any:
        """Run a coroutine where the page runs."""

        async def done() -> Any:
            return await work(*given)

        return asyncio.run_coroutine_threadsafe(done(), self._loop).result(PATIENCE)

    async def _start(self) -> None:
        self._engine, self.page = Engine(lambda: self._settings), PageServer(self._kept)
        await self.page.resume(self._engine)
        if not self.page.is_serving:
            await self.page.start()

    async def _stop(self) -> None:
        await self.page.stop()
        await self._engine._close_domain()

    @property
    def origin(self) -> str:
        return f"http://127.0.0.1:{self.page.port}"

    def link(self) -> str:
        """Return a fresh link, as `reverie page --print` prints it."""

        async def invite() -> str:
            return self.page.link_for(LazySession(self._engine, self._folder, {}))

        return str(self.run(invite))

    def visit(self) -> "Visit":
        """Follow a link as a script would."""
        visit = Visit(self)
        answer = visit.get(self.link().removeprefix(self.origin))
        assert answer.status == 200
        cookie = answer.headers["set-cookie"]
        visit.headers = {"Cookie": cookie.partition(";")[0], KEY_HEADER: re.findall(r"#key=([\w-]+)", answer.text)[0]}
        visit.set_cookie = cookie
        return visit


class Answer:
    """What an HTTP request was answered with."""

    def __init__(self, response: http.client.HTTPResponse) -> None:
        self.status = response.status
        self.headers = {name.lower(): value for name, value in response.getheaders()}
        self.text = response.read().decode()

    @property
    def json(self) -> Any:
        return json.loads(self.text)


class Visit:
    """Somebody who sends requests, with a cookie and a key if a link was followed."""

    def __init__(self, page: ServedPage) -> None:
        self._port = page.page.port
        self.headers: dict[str, str] = {}
        self.set_cookie = ""

    def send(self, method: str, path: str, body: bytes | None = None, **more: str | None) -> Answer:
        """Send a request; headers that are None are left out."""
        given = {**self.headers, **{name.replace("_", "-"): value for name, value in more.items()}}
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=PATIENCE)
        try:
            sent: Mapping[str, str] = {name: value for name, value in given.items() if value is not None}
            connection.request(method, path, body, sent)
            return Answer(connection.getresponse())
        finally:
            connection.close()

    def get(self, path: str, **headers: str | None) -> Answer:
        return self.send("GET", path, **headers)

    def post(self, name: str, arguments: Any = None, **headers: str | None) -> Answer:
        body = json.dumps({} if arguments is None else arguments).encode()
        return self.send("POST", f"/api/v1/{name}", body, **{"Content-Type": "application/json", **headers})

    def call(self, name: str, **arguments: Any) -> Any:
        """Call the API, which must answer."""
        answer = self.post(name, arguments)
        assert answer.status == 200, answer.text
        return answer.json
