"""Runs steps in each client: `client.mjs` and, for both clients for Python, `client.py`."""

import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).resolve().parent
NAMES = ("Vestry for TypeScript", "Vestry", "AsyncVestry")


class Clients:
    """The three clients. Each has a service of its own, so that equal calls have equal results. The last one is for examples."""

    def __init__(self, typescript, python, servers):
        script = typescript / "client.mjs"
        script.write_text((HERE / "client.mjs").read_text())
        here = [sys.executable, HERE / "client.py"]
        self.commands = [["node", script], here, here]
        self.environment = os.environ | {"PYTHONPATH": str(python), "PYTHONDONTWRITEBYTECODE": "1"}
        self.servers = [json.loads(Path(server).read_text()) for server in servers]
        #: The data directory of each service.
        self.homes = [Path(server).parent for server in servers]

    def run(self, number, steps, bases=None, parallel=1):
        """The outcomes of one client."""
        server = self.servers[number]
        given = {
            "client": NAMES[number],
            "steps": steps,
            "parallel": parallel,
            "key": server["test"]["secret_key"],
            "app": server["app_id"],
            "bases": {"service": server["base_url"], **(bases or {})},
        }
        done = subprocess.run(
            self.commands[number], input=json.dumps(given), capture_output=True, text=True, env=self.environment
        )
        if done.returncode != 0:
            raise SystemExit(f"{NAMES[number]} failed:\n{done.stdout[-2000:]}{done.stderr[-6000:]}")
        return json.loads(done.stdout)

    def each(self, job):
        """The results of a function of each client's number, in parallel."""
        with ThreadPoolExecutor() as pool:
            return list(pool.map(job, range(len(NAMES))))
