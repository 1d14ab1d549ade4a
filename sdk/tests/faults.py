"""SDK-2, SDK-11, SDK-12, SDK-13, SDK-14: calls through a proxy that loses, delays, truncates, redirects and refuses them."""

import json
import os
from uuid import uuid4

import httpx
from clients import NAMES
from proxy import Proxy

#: Calls by what may be repeated: `key`, `safe` and `never`.
KINDS = {
    "key": {"call": "users.create"},
    "safe": {"call": "users.search", "params": {"limit": 10}},
    "never": {"call": "test.messages.delete"},
}
#: SDK-13: what happens to the attempts, the kind of call, how many attempts are made with three retries, and the outcome.
SCRIPTS = [
    ("pass", "key", 1, "ok"),
    ("cut", "key", 2, "ok"),
    ("lose", "key", 2, "ok"),
    ("lose,lose,lose", "key", 4, "ok"),
    ("truncate", "key", 2, "ok"),
    ("truncate,cut,lose", "key", 4, "ok"),
    ("429", "key", 2, "ok"),
    ("500", "key", 2, "ok"),
    ("502-page,503", "key", 3, "ok"),
    ("504,429,409-running", "key", 4, "ok"),
    ("lose,409-running", "key", 3, "ok"),
    ("503,503,503,503", "key", 4, "UnavailableError unavailable"),
    ("cut,cut,cut,cut", "key", 4, "ApiConnectionError connection_failed"),
    ("429-late", "key", 1, "RateLimitError rate_limited"),
    ("409", "key", 1, "ConflictError idempotency_key_reused"),
    ("400", "key", 1, "InvalidRequestError invalid_field"),
    ("418", "key", 1, "VestryError a_code_of_tomorrow"),
    ("200-page", "key", 1, "VestryError unexpected_response"),
    ("502-page,502-page,502-page,502-page", "key", 4, "UnavailableError unexpected_response"),
    ("302", "key", 1, "VestryError unexpected_response"),
    ("cut", "safe", 2, "ok"),
    ("truncate", "safe", 2, "ok"),
    ("503", "safe", 2, "ok"),
    ("429", "safe", 2, "ok"),
    ("503-filters", "safe", 1, "UnavailableError unavailable"),
    ("409-running", "safe", 1, "ConflictError idempotency_key_reused"),
    ("cut", "never", 1, "ApiConnectionError connection_failed"),
    ("lose", "never", 1, "ApiConnectionError connection_failed"),
    ("truncate", "never", 1, "ApiConnectionError connection_failed"),
    ("500", "never", 1, "UnavailableError internal"),
    ("503", "never", 1, "UnavailableError unavailable"),
    ("429", "never", 2, "ok"),
]
#: Attempts that never end.
HANGING = [("hang", "key", 2, "ok"), ("hang", "safe", 2, "ok"), ("hang", "never", 1, "ApiTimeoutError timeout")]
#: Creates with scripts that end well, of each client. Both clients for Python repeat calls with the same code.
MANY = int(os.environ["VESTRY_SDK_CREATES"])
CREATES, PARALLEL = (MANY, MANY, MANY // 5), 100


def step(script, kind, run, email, timeout=60):
    made = json.loads(json.dumps(KINDS[kind]))
    if kind == "key":
        made["params"] = {"email": email}
    headers = {"X-Script": script, "X-Run": run}
    return made | {"base": "proxy", "retries": 3, "options": {"headers": headers, "timeout": timeout}}


def total(server):
    """The number of users, as the service says without a library."""
    authorized = {"Authorization": f"Bearer {server['test']['secret_key']}"}
    found = httpx.post(f"{server['base_url']}/v1/auth/users/search", json={"limit": 10}, headers=authorized, timeout=60)
    return found.raise_for_status().json()["total_count"]


def outcome_of(result):
    error = result.get("error")
    return "ok" if error is None else f"{error['class']} {error['code']}"


def check_client(clients, number):
    proxy = Proxy(clients.servers[number]["base_url"], {})
    bases = {"proxy": proxy.url}
    wrong = []

    def verify(rows, timeout, parallel):
        runs = [f"{script} {kind} {uuid4()}" for script, kind, _, _ in rows]
        steps = [step(row[0], row[1], run, f"{uuid4()}@example.com", timeout) for row, run in zip(rows, runs)]
        results = clients.run(number, steps, bases, parallel)
        for (script, kind, attempts, expected), run, result in zip(rows, runs, results, strict=True):
            seen = proxy.attempts[run]
            # SDK-12: each attempt has the same key and the same body.
            is_same = len(set(seen)) == 1 and (seen[0][0] is not None) == (kind == "key")
            if (len(seen), outcome_of(result)) != (attempts, expected) or not is_same:
                wrong.append((script, kind, len(seen), outcome_of(result), is_same))

    verify(SCRIPTS, 60, 8)
    # SDK-11: the timeout limits each attempt. A generous one, because the machine may be busy.
    verify(HANGING, 8, 3)
    # SDK-14: a redirect is not followed.
    if proxy.paths["/trap"]:
        wrong.append("a redirect was followed")
    good = [row for row in SCRIPTS if row[1] == "key" and row[3] == "ok"]
    before = total(clients.servers[number])
    verify([good[at % len(good)] for at in range(CREATES[number])], 60, PARALLEL)
    created = total(clients.servers[number]) - before
    if created != CREATES[number]:
        wrong.append(f"{created} users instead of {CREATES[number]}")
    attempts = {" ".join(run.split(" ")[:-1]): len(seen) for run, seen in proxy.attempts.items()}
    return wrong, attempts, proxy.forwarded


def check(clients):
    results = clients.each(lambda number: check_client(clients, number))
    for name, (wrong, _, _) in zip(NAMES, results):
        for one in wrong[:20]:
            print(f"    {name}:", one)
    attempts = [attempts for _, attempts, _ in results]
    forwarded = ", ".join(str(forwarded) for _, _, forwarded in results)
    print(f"SDK-2: {CREATES[0]} creates, {forwarded} requests reached the service, none doubled")
    assert not any(wrong for wrong, _, _ in results)
    assert attempts[1:] == attempts[:-1], "clients make different numbers of attempts"
