"""SDK-5: the examples of the READMEs and docs/ are compiled, type-checked and run."""

import json
import os
import re
import subprocess
import sys
import time
from datetime import datetime, timezone

from packed import ROOT
from standardwebhooks import Webhook

PAGES = {"typescript": ["sdk/typescript/README.md", "docs/client-libraries.md"], "python": ["sdk/python/README.md", "docs/client-libraries.md"]}
SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
#: Requests to the receivers in the examples: what is replaced (the end of the program if empty), and by what.
RECEIVERS = {
    "sdk/typescript/README.md": ("", """
if (!server.listening) await new Promise((resolve) => server.once("listening", resolve));
const url = `http://127.0.0.1:${(server.address() as { port: number }).port}`;
for (const [name, expected] of [["GOOD", 204], ["BAD", 400]] as const) {
  const { body, headers } = JSON.parse(process.env[name]!) as { body: string; headers: Record<string, string> };
  const response = await fetch(url, { method: "POST", body, headers });
  if (response.status !== expected) throw new Error(`${name}: ${response.status}`);
}
server.close();
"""),
    "sdk/python/README.md": ("    server.serve_forever()\n", """
    import json
    import threading

    import httpx

    threading.Thread(target=server.serve_forever, daemon=True).start()
    for name, expected in (("GOOD", 204), ("BAD", 400)):
        given = json.loads(os.environ[name])
        url = f"http://127.0.0.1:{server.server_port}"
        assert httpx.post(url, content=given["body"], headers=given["headers"]).status_code == expected
    server.shutdown()
"""),
}


def blocks(page, language):
    text = (ROOT / page).read_text()
    names = {"typescript": "ts|typescript", "python": "python"}[language]
    found = re.findall(rf"^```(?:{names})\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    assert found, page
    return "\n".join(found)


def program(page, language):
    """The examples of a page as one program, with requests to its receiver."""
    text = blocks(page, language)
    place, calls = RECEIVERS.get(page, ("", ""))
    assert place in text, f"{page}: no {place}"
    return text.replace(place, calls) if place else text + calls


def requests():
    """A webhook request, and one that was changed on its way."""
    event = {
        "id": f"event_{1:027d}", "type": "user.created", "log": 1, "position": 1, "app_id": f"app_{1:027d}",
        "environment": "test", "created_at": int(time.time()), "timestamp": "2027-01-15T08:00:00Z", "request_id": None,
        "actor": {"type": "system", "id": None}, "data": {"user_id": f"user_{1:027d}", "via": "create"},
    }
    body, sent_at = json.dumps(event), int(time.time())
    library = Webhook(SECRET)
    signature = library.sign("msg_1", datetime.fromtimestamp(sent_at, timezone.utc), body)
    headers = {"webhook-id": "msg_1", "webhook-timestamp": str(sent_at), "webhook-signature": signature}
    return {
        "GOOD": json.dumps({"body": body, "headers": headers}),
        "BAD": json.dumps({"body": body.replace("create", "import"), "headers": headers}),
    }


def write(typescript, python):
    """Writes each page's examples into a program, and returns the commands that run them."""
    programs = []
    for number, page in enumerate(PAGES["typescript"]):
        file = typescript / f"example{number}.ts"
        file.write_text(f"{program(page, 'typescript')}\nexport {{}};\n")
        programs.append(["node", file.with_suffix(".js")])
    for number, page in enumerate(PAGES["python"]):
        file = python.parent / f"example{number}.py"
        file.write_text(program(page, "python"))
        programs.append([sys.executable, file])
    return programs


def check(clients, programs, python):
    server = clients.servers[-1]
    environment = os.environ | {
        "APP_KEY": server["test"]["secret_key"],
        "APP_URL": server["base_url"],
        "APP_ID": server["app_id"],
        "WEBHOOK_SECRET": SECRET,
        "PORT": "0",
        "PYTHONPATH": str(python),
        **requests(),
    }
    for command in programs:
        done = subprocess.run([str(part) for part in command], env=environment, capture_output=True, text=True)
        assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
    print(f"SDK-5: the examples of {', '.join(sorted({page for pages in PAGES.values() for page in pages}))} work")
