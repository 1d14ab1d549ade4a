"""SDK-20: a person and the service use both samples, which import the packed libraries (SDK-21)."""

import base64
import os
import queue
import re
import secrets
import subprocess
import sys
import threading
import time

import httpx
from packed import PYTHON, TYPESCRIPT

TYPESCRIPT_SAMPLE, PYTHON_SAMPLE = TYPESCRIPT / "sample/app.ts", PYTHON / "sample/app.py"
#: Generous, because the machine may be busy.
PATIENCE = 60


class Program:
    """A process whose output is read line by line; stopped at the end of the block."""

    def __init__(self, command, environment):
        self.lines = queue.Queue()
        self.process = subprocess.Popen(
            [str(part) for part in command],
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        for line in self.process.stdout:
            self.lines.put(line)
        self.lines.put(None)

    def wait_for(self, pattern):
        seen = ""
        while (line := self.lines.get(timeout=PATIENCE)) is not None:
            seen += line
            if found := re.search(pattern, line):
                return found
        raise AssertionError(f"the program ended:\n{seen}")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()


def use(command, server, environment):
    secret = f"whsec_{base64.b64encode(secrets.token_bytes(32)).decode()}"
    key = server["test"]["secret_key"]
    sample = environment | {
        "SAMPLE_KEY": key,
        "SAMPLE_URL": server["base_url"],
        "SAMPLE_APP_ID": server["app_id"],
        "SAMPLE_WEBHOOK_SECRET": secret,
        "PORT": "0",
    }
    with Program(command, sample) as app:
        url = app.wait_for(r"http://127\.0\.0\.1:\d+")[0]
        listening = environment | {"VESTRY_KEY": key, "VESTRY_WEBHOOK_SECRET": secret}
        listen = [os.environ["VESTRY_BINARY"], "listen", "--json", "--url", server["base_url"]]
        listen += ["--forward-to", f"{url}/webhooks"]
        with Program(listen, listening) as events, httpx.Client(base_url=url, timeout=PATIENCE) as client:
            events.wait_for(r"{")
            visit(client, server)
            refused = client.post("/webhooks", json={}, headers={"webhook-id": "one"})
            assert (refused.status_code, refused.json()) == (400, {"error": "missing_header"}), refused.text


def visit(client, server):
    """What a person does, and what the service reports."""
    email = f"{secrets.token_hex(8)}@example.com"
    assert client.get("/me").status_code == 401
    method_id = client.post("/sign-in", json={"email": email}).raise_for_status().json()["method_id"]
    messages = httpx.get(
        f"{server['base_url']}/v1/test/messages",
        params={"to": email, "wait": 10},
        headers={"Authorization": f"Bearer {server['test']['secret_key']}"},
        timeout=PATIENCE,
    )
    code = messages.json()["messages"][0]["code"]
    wrong = client.post("/sign-in/code", json={"method_id": method_id, "otp": f"{(int(code) + 1) % 10**6:06}"})
    assert (wrong.status_code, wrong.json()) == (400, {"error": "invalid_otp"}), wrong.text
    entered = client.post("/sign-in/code", json={"method_id": method_id, "otp": code}).raise_for_status()
    client.headers["Authorization"] = f"Bearer {entered.json()['session_jwt']}"
    assert client.get("/me").raise_for_status().json()["emails"] == [email]
    wallet = client.post("/wallet").raise_for_status().json()
    assert wallet == client.post("/wallet").raise_for_status().json()
    assert re.fullmatch("0x[0-9a-fA-F]{40}", wallet["address"]), wallet
    signature = client.post("/sign", json={"message": "hello"}).raise_for_status().json()["signature"]
    assert re.fullmatch("0x[0-9a-f]{130}", signature), signature
    end = time.monotonic() + PATIENCE
    while "wallet.created" not in (types := client.get("/received").json()):
        assert time.monotonic() < end, types
        threading.Event().wait(0.05)
    assert types.index("user.created") < types.index("session.created") < types.index("wallet.created"), types


def write(typescript):
    """Copies the sample into the project, where it is compiled."""
    (typescript / "app.ts").write_text(TYPESCRIPT_SAMPLE.read_text())


def check(clients, typescript, python):
    for path in (TYPESCRIPT_SAMPLE, PYTHON_SAMPLE):
        assert len(path.read_text().splitlines()) <= 150, path
    environment = dict(os.environ)
    use(["node", typescript / "app.js"], clients.servers[-1], environment)
    use([sys.executable, PYTHON_SAMPLE], clients.servers[-1], environment | {"PYTHONPATH": str(python)})
    print("SDK-20, SDK-21: both samples sign a person in, make a wallet, sign, and receive events")
