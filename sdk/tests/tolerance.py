"""SDK-4, SDK-15, SDK-16 and bad input: a service of tomorrow, iterators, secrets, and requests that are not sent."""

import json
import os
import subprocess
from copy import deepcopy
from uuid import uuid4

import httpx
from proxy import Proxy

USER = f"user_{'0' * 27}"


def canned(clients):
    """Real responses with fields, words and event types that no library knows."""
    steps = [
        {"call": "users.create", "params": {"email": f"{uuid4()}@example.com", "include_user": True, "wallet_type": "ethereum"}},
        {"call": "events.list", "params": {"limit": 100}},
    ]
    created, events = (result["ok"] for result in clients.run(0, steps))
    user = created["user"] | {"status": "dormant", "moon": {"phase": "full"}}
    user["wallets"][0] |= {"wallet_type": "dogecoin", "colour": "red"}
    known = deepcopy(events["events"][0])
    known["data"] |= {"via": "telepathy", "weather": "fair"}
    unknown = deepcopy(known) | {"type": "moon.rose", "data": {"phase": "full"}, "orbit": 1}
    page = {"events": [known, unknown], "has_more": False, "next_after": known["id"], "page_colour": "blue"}
    return {"user": user, "events": page}


def tolerance(clients):
    proxy = Proxy(clients.servers[0]["base_url"], canned(clients))

    def step(call, script, **more):
        return {"call": call, "base": "proxy", "retries": 0, "options": {"headers": {"X-Script": script, "X-Run": str(uuid4())}}, **more}

    steps = [
        step("users.get", "canned:user", ids=[USER]),
        step("events.list", "canned:events", params={}),
        step("users.get", "418", ids=[USER]),
    ]
    for number in range(3):
        proxy.attempts.clear()
        user, events, error = clients.run(number, steps, {"proxy": proxy.url})
        assert user["ok"] == proxy.canned["user"], user
        assert events["ok"] == proxy.canned["events"], events
        assert error["error"] == {"class": "VestryError", "status": 418, "code": "a_code_of_tomorrow", "param": None}
    print("SDK-4: unknown fields, words, codes and event types are readable")


def auditor(clients, number):
    """A key that may read the audit log, which has an entry for it and for eleven keys before it."""
    home, server = clients.homes[number], clients.servers[number]
    here = {name: value for name, value in os.environ.items() if not name.startswith("VESTRY_")}
    here |= {"VESTRY_DATABASE__URL": f"sqlite:{home / 'vestry.db'}", "VESTRY_VAULT__LOCAL__PATH": str(home / "root.key")}
    command = [os.environ["VESTRY_BINARY"], "manage-key", "create", "sdk", "--json", "--expires-in", "1d"]
    command += ["--app", "all", "--environment", "test", "--scope", "keys:write,users:read,audit:read"]
    made = subprocess.run(command, env=here, capture_output=True, text=True, check=True)
    authorized = {"Authorization": f"Bearer {json.loads(made.stdout)['key']}"}
    path = f"/v1/manage/apps/{server['app_id']}/test/keys"
    with httpx.Client(base_url=server["base_url"], headers=authorized, timeout=60) as management:
        for scope in ["users:read"] * 11 + ["audit:read"]:
            key = management.post(path, json={"name": "SDK", "scopes": [scope]}).raise_for_status().json()
    return key["key"]


def pages(clients):
    """SDK-15"""
    listed = {
        "users.search": {"limit": 10},
        "wallets.list": {"limit": 10},
        "events.list": {"limit": 10, "types": "user.*"},
        "sessions.list": {"limit": 10, "user_id": "$a.user_id"},
        "wallets.list_audit": {"limit": 10},
        "audit.list": {"limit": 10, "action": "api_key.create"},
    }
    ids_of = {"wallets.list_audit": ["$w.id"]}
    sent = {"call": "otps.email.login_or_create", "params": {"email": "ok+pages@vestry.test"}, "save": "a"}
    verified = {"call": "otps.verify", "params": {"method_id": "$a.email_id", "otp": "000000", "session_expires_in": 60}}
    twelve = [sent, verified] * 12
    wallet = {"call": "wallets.create", "params": {"user_id": "$a.user_id", "wallet_type": "ethereum"}, "save": "w"}
    signed = {"call": "wallets.sign_message", "ids": ["$w.id"], "params": {"message": "message $n"}, "repeat": 12}
    users = {"call": "users.create", "params": {"email": "page$n@example.com", "wallet_type": "ethereum"}, "repeat": 25}

    def check_client(number):
        reader = auditor(clients, number)

        def iterated(call, params, **more):
            key = {"key": reader} if call == "audit.list" else {}
            return {"call": call, "ids": ids_of.get(call, []), "params": params, "iterate": True, **key, **more}

        steps = [users, *twelve, wallet, signed]
        steps += [iterated(call, params) for call, params in listed.items()]
        steps += [iterated(call, params, take=7) for call, params in listed.items()]
        results = clients.run(number, steps)[-2 * len(listed) :]
        whole, begun = ([result["ok"] for result in half] for half in (results[: len(listed)], results[len(listed) :]))
        cursors = [
            {"after" if call == "events.list" else "starting_after": some["cursor"]}
            for call, some in zip(listed, begun)
        ]
        steps = [sent, wallet]
        steps += [iterated(call, params | cursor) for (call, params), cursor in zip(listed.items(), cursors)]
        resumed = [result["ok"] for result in clients.run(number, steps)[2:]]
        for call, items, some, rest in zip(listed, whole, begun, resumed, strict=True):
            ids, first, last = (
                [item.get("id") or item["user_id"] for item in found] for found in (items, some["items"], rest)
            )
            assert len(ids) == len(set(ids)) > 10, (call, len(ids))
            # Newer events may have been added at the end.
            assert first == ids[:7] and last[: len(ids) - 7] == ids[7:], call

    clients.each(check_client)
    print(f"SDK-15: {len(listed)} lists have every item once, and can be resumed")


def secrets(clients):
    """SDK-16"""
    key = "sk_test_thiskeyisnowhere"
    sent = {"call": "otps.email.login_or_create", "params": {"email": "ok+repr@vestry.test"}, "save": "a"}
    verified = {"call": "otps.verify", "params": {"method_id": "$a.email_id", "otp": "000000", "session_expires_in": 60}}
    for number in range(3):
        calls = [{"call": "inspect", "key": key}, sent, verified | {"shown": True}]
        result, _, session = clients.run(number, calls)
        # Plain objects in TypeScript, and models in Python.
        hidden = "{}='…'" if number else "{}: '…'"
        assert all(hidden.format(name) in session["ok"] for name in ("session_token", "session_jwt")), session
        texts = json.dumps(result["ok"])
        assert "AuthenticationError" in texts and "invalid_api_key" in texts, texts
        assert "thiskeyisnowhere" not in texts, texts
    print("SDK-16: no text contains the key, and no response shows its tokens")


def bad_input(clients):
    """Arguments that are refused before anything is sent. The last word of each is in no message."""
    good = "http://127.0.0.1:9"
    options = [
        {"baseUrl": good},
        {"key": "pk_test_SECRETWORD", "baseUrl": good},
        {"key": "mk_SECRETWORD", "baseUrl": good},
        {"key": "sk_test_a\nSECRETWORD", "baseUrl": good},
        {"key": "sk_test_a", "baseUrl": "http://id.example.com"},
        {"key": "sk_test_a", "baseUrl": "https://id.example.com/SECRETWORD"},
        {"key": "sk_test_a", "baseUrl": "https://id.example.com?SECRETWORD"},
        {"key": "sk_test_a", "baseUrl": "https://user:SECRETWORD@id.example.com"},
        {"key": "sk_test_a", "baseUrl": "ftp://SECRETWORD"},
        {"key": "sk_test_a", "baseUrl": good, "appId": "SECRETWORD"},
        {"key": "sk_test_a", "baseUrl": good, "timeout": -1},
        {"key": "sk_test_a", "baseUrl": good, "retries": 1.5},
    ]
    wrong = [{"call": "construct", "options": one} for one in options]
    wrong += [
        {"call": "users.get", "ids": [value], "base": "proxy"} for value in ("", "user_1", "../users", f"{USER}/x", f"{USER}\n")
    ]
    wrong += [
        {"call": "users.get", "ids": [USER], "options": {"idempotency_key": "one"}, "base": "proxy"},
        {"call": "test.messages.delete", "options": {"idempotency_key": "one"}, "base": "proxy"},
        {"call": "users.delete", "ids": [USER], "options": {"idempotency_key": "ä"}, "base": "proxy"},
        {"call": "users.delete", "ids": [USER], "options": {"headers": {"authorization": "x"}}, "base": "proxy"},
        {"call": "sessions.verify_locally", "ids": ["a.b.c"], "app": None, "base": "proxy"},
    ]
    page = {"call": "construct", "page": True, "options": {"key": "sk_test_a", "baseUrl": good}}
    right = [{"call": "construct", "options": {"key": "sk_live_a", "baseUrl": "https://id.example.com:8443/"}}]
    proxy = Proxy(clients.servers[0]["base_url"], {})
    for number in range(3):
        steps = wrong + ([page] if number == 0 else [])
        results = clients.run(number, steps + right, {"proxy": proxy.url})
        for step, result in zip(steps, results):
            assert result.get("error", {}).get("class") == "InvalidRequestError", (step, result)
            assert result["error"]["status"] is None and "SECRETWORD" not in json.dumps(result), (step, result)
        assert "https://id.example.com:8443" in results[-1]["ok"], results[-1]
    assert not proxy.paths, proxy.paths
    print(f"bad input: {len(wrong) + 1} kinds are refused, and nothing is sent")


def check(clients):
    tolerance(clients)
    pages(clients)
    secrets(clients)
    bad_input(clients)
