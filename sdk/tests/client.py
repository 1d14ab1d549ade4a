"""Carries out the steps on its standard input with the packed package, and prints an outcome for each."""

import asyncio
import base64
import inspect
import io
import json
import logging
import re
import sys
import traceback
from concurrent.futures import ThreadPoolExecutor

import vestry
from pydantic import BaseModel

given = json.load(sys.stdin)
is_async = given["client"] == "AsyncVestry"
saved = {}
clients = {}


def filled(value, n):
    """Replaces `$name.path` by a saved value, and `!$name.path` by digits that differ from it."""
    if isinstance(value, list):
        return [filled(one, n) for one in value]
    if isinstance(value, dict):
        return {name: filled(one, n) for name, one in value.items()}
    if not isinstance(value, str):
        return value
    if value.startswith("!"):
        return re.sub(r"\d", lambda digit: str((int(digit[0]) + 1) % 10), filled(value[1:], n))
    if not value.startswith("$"):
        return value.replace("$n", str(n))
    found = saved
    for part in value[1:].split("."):
        found = found[int(part)] if isinstance(found, list) else found[part]
    return found


def plain(value):
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json", by_alias=True, exclude_unset=True)
    if isinstance(value, list):
        return [plain(one) for one in value]
    return value


def client_of(step):
    options = {
        "key": step.get("key", given["key"]),
        "base_url": given["bases"][step.get("base", "service")],
        "app_id": step.get("app", given["app"]),
        "retries": step.get("retries", 2),
    }
    name = json.dumps([options, step.get("clock")])
    if "clock" in step:
        options["clock"] = lambda: step["clock"]
    if name not in clients:
        clients[name] = getattr(vestry, given["client"])(**options)
    return clients[name]


def constructed(step):
    names = {"baseUrl": "base_url", "appId": "app_id"}
    options = {"key": "", "base_url": ""} | {names.get(name, name): value for name, value in step["options"].items()}
    return repr(getattr(vestry, given["client"])(**options))


def verified(step):
    body = step["text"] if "text" in step else base64.b64decode(step["body"])
    options = {name: value for name, value in step["options"].items() if name != "clock"}
    clock = step["options"]["clock"]
    return vestry.webhooks.verify(body, step["headers"], step["secrets"], clock=lambda: clock, **options)


async def inspected(step):
    log = io.StringIO()
    logging.basicConfig(stream=log, level=logging.DEBUG, force=True)
    client = client_of(step)
    texts = [repr(client), str(client), repr(client.users), repr(client._core)]
    try:
        result = client.users.get(f"user_{'0' * 27}")
        if inspect.isawaitable(result):
            await result
    except vestry.VestryError as error:
        texts += [repr(error), str(error), str(vars(error)), traceback.format_exc()]
    logging.basicConfig(level=logging.WARNING, force=True)
    return [*texts, log.getvalue()]


OTHERS = {"construct": constructed, "verify": verified, "inspect": inspected}


async def made(step, n):
    if step["call"] in OTHERS:
        result = OTHERS[step["call"]](step)
        return plain(await result if inspect.isawaitable(result) else result)
    resource = client_of(step)
    *path, verb = step["call"].split(".")
    for part in path:
        resource = getattr(resource, part)
    ids, params = filled(step.get("ids", []), n), filled(step.get("params", {}), n)
    method = getattr(resource, f"iter_{verb}" if step.get("iterate") else verb)
    result = method(*ids, **params, **step.get("options", {}))
    if not step.get("iterate"):
        result = await result if inspect.isawaitable(result) else result
        return repr(result) if step.get("shown") else plain(result)
    items = []
    if is_async:
        async for item in result:
            items.append(item)
            if len(items) == step.get("take"):
                return {"items": plain(items), "cursor": result.cursor}
    else:
        for item in result:
            items.append(item)
            if len(items) == step.get("take"):
                return {"items": plain(items), "cursor": result.cursor}
    return plain(items)


async def outcome(step, n):
    try:
        ok = await made(step, n)
        if "save" in step:
            saved[step["save"]] = ok
        return {"ok": ok}
    except vestry.VestryError as error:
        seen = {"class": type(error).__name__, "status": error.status, "code": error.code, "param": error.param}
        return {"error": seen, "message": error.message}


async def main():
    jobs = [(step, n) for step in given["steps"] for n in range(1, step.get("repeat", 1) + 1)]
    parallel = given.get("parallel", 1)
    if parallel > 1 and not is_async:
        # The sync client blocks, so its calls need threads.
        with ThreadPoolExecutor(parallel) as pool:
            outcomes = list(pool.map(lambda job: asyncio.run(outcome(*job)), jobs))
    else:
        outcomes = [None] * len(jobs)
        waiting = iter(range(len(jobs)))

        async def work():
            for at in waiting:
                outcomes[at] = await outcome(*jobs[at])

        await asyncio.gather(*(work() for _ in range(parallel)))
    json.dump(outcomes, sys.stdout)


asyncio.run(main())
