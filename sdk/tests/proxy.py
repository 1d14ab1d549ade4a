"""A proxy in front of the service. The header `X-Script` of a request says what happens to each of its attempts.

It also answers some paths by itself, with the bodies in `canned`, and counts all requests.
"""

import asyncio
import hashlib
import json
import threading
from collections import Counter, defaultdict
from urllib.parse import urlsplit


def error(status, code, *, param=None, retry_after=None):
    detail = {"code": code, "message": "injected"} | ({"param": param} if param else {})
    headers = {} if retry_after is None else {"Retry-After": str(retry_after)}
    return status, headers, json.dumps({"error": detail})


class Proxy:
    """Runs in a thread of its own. `attempts` has the requests of each script and run; `url` is its address."""

    def __init__(self, upstream, canned):
        self.upstream = urlsplit(upstream)
        self.canned = canned
        self.attempts = defaultdict(list)
        self.paths = Counter()
        self.forwarded = 0
        self.injected = {
            "429": error(429, "rate_limited", retry_after=0),
            "429-late": error(429, "rate_limited", retry_after=61),
            "500": error(500, "internal"),
            "502-page": (502, {"Content-Type": "text/html"}, "<h1>Bad Gateway</h1>"),
            "503": error(503, "unavailable", retry_after=0),
            "503-filters": error(503, "unavailable", param="filters", retry_after=0),
            "504": error(504, "unavailable"),
            "409-running": error(409, "idempotency_key_reused", retry_after=0),
            "409": error(409, "idempotency_key_reused"),
            "418": error(418, "a_code_of_tomorrow"),
            "400": error(400, "invalid_field", param="email"),
            "200-page": (200, {"Content-Type": "text/html"}, "<h1>Welcome</h1>"),
            "302": (302, {"Location": "{url}/trap"}, ""),
        }
        started = threading.Event()
        self.loop = asyncio.new_event_loop()
        threading.Thread(target=self._run, args=(started,), daemon=True).start()
        started.wait()

    def _run(self, started):
        asyncio.set_event_loop(self.loop)
        server = self.loop.run_until_complete(asyncio.start_server(self._serve, "127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        started.set()
        self.loop.run_forever()

    async def _serve(self, reader, writer):
        try:
            await self._answer(reader, writer)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    async def _answer(self, reader, writer):
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        start, *lines = head.split("\r\n")
        headers = dict(line.lower().split(": ", 1) for line in lines if line)
        body = await reader.readexactly(int(headers.get("content-length", 0)))
        _, target, _ = start.split(" ")
        path = target.split("?")[0]
        self.paths[path] += 1
        script = headers.get("x-script", "")
        seen = self.attempts[headers.get("x-run", path)]
        actions = script.split(",") if script else []
        action = actions[len(seen)] if len(seen) < len(actions) else "pass"
        seen.append((headers.get("idempotency-key"), hashlib.sha256(body).hexdigest()))
        if path in self.canned or action.startswith("canned:"):
            name = path if path in self.canned else action.removeprefix("canned:")
            await self._respond(writer, 200, {}, json.dumps(self.canned[name]))
        elif action in self.injected:
            await self._respond(writer, *self.injected[action])
        elif action != "cut":
            response = await self._forward(head, body)
            if action == "hang":
                # Until the client gives up.
                await reader.read()
            elif action == "truncate":
                end = response.index(b"\r\n\r\n") + 4
                writer.write(response[: end + (len(response) - end) // 2])
                await writer.drain()
            elif action == "pass":
                writer.write(response)
                await writer.drain()

    async def _respond(self, writer, status, headers, body):
        sent = {"Content-Type": "application/json", "Content-Length": len(body.encode()), "Connection": "close"}
        lines = [f"{name}: {value}" for name, value in (sent | headers).items()]
        head = "\r\n".join([f"HTTP/1.1 {status} Injected", *lines]).replace("{url}", self.url)
        writer.write(f"{head}\r\n\r\n{body}".encode())
        await writer.drain()

    async def _forward(self, head, body):
        self.forwarded += 1
        start, *lines = head.rstrip("\r\n").split("\r\n")
        kept = [line for line in lines if not line.lower().startswith(("connection:", "x-script:", "x-run:"))]
        reader, writer = await asyncio.open_connection(self.upstream.hostname, self.upstream.port)
        writer.write("\r\n".join([start, *kept, "Connection: close"]).encode("latin-1") + b"\r\n\r\n" + body)
        response = await reader.read()
        writer.close()
        return response
