"""A client of the running service, and the counting of cases."""

import importlib.metadata
import json
import os
import random
import subprocess
import sys
import threading
import urllib.error
import urllib.parse
import urllib.request


def of_night(cases):
    """The number of cases, scaled by `VESTRY_INTEROP_SHARE`."""
    return max(1, round(cases * float(os.environ.get("VESTRY_INTEROP_SHARE", "1"))))


class Refused(Exception):
    """A response with an unexpected status. Shows the code and field of the error, not the body."""

    def __init__(self, asked, status, error, expect):
        self.status, self.param = status, error.get("param")
        code = error.get("code", "?")
        super().__init__(f"{asked}: {status} {code} of {self.param or 'no field'} instead of {expect}")


class Service:
    """A client of the test environment; address and key come from the ready file of `vestry dev`."""

    def __init__(self):
        with open(os.environ["VESTRY_DEV_JSON"], encoding="utf-8") as file:
            ready = json.load(file)
        self.base_url = ready["base_url"]
        self.app_id = ready["app_id"]
        self.secret_key = ready["test"]["secret_key"]
        self.public_token = ready["test"]["public_token"]

    def call(self, method, path, body=None, expect=200, request_id=None):
        """Sends a request with the secret key and returns the JSON of the response."""
        request = urllib.request.Request(self.base_url + path, method=method)
        request.add_header("Authorization", f"Bearer {self.secret_key}")
        if request_id:
            request.add_header("X-Request-Id", request_id)
        if body is not None:
            request.data = json.dumps(body).encode()
            request.add_header("Content-Type", "application/json")
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                status, text = answer.status, answer.read()
        except urllib.error.HTTPError as refusal:
            with refusal:
                status, text = refusal.code, refusal.read()
        answer = json.loads(text)
        if status != expect:
            raise Refused(f"{method} {path}", status, answer.get("error", {}), expect)
        return answer

    def get(self, path, **query):
        return self.call("GET", f"{path}?{urllib.parse.urlencode(query)}" if query else path)

    def operate(self, *arguments, database=None):
        """Runs an admin command against the same database, or a copy, and returns its stdout."""
        directory = os.path.dirname(os.environ["VESTRY_DEV_JSON"])
        places = {
            "VESTRY_DATABASE__URL": f"sqlite:{database or self.database()}",
            "VESTRY_VAULT__LOCAL__PATH": f"{directory}/root.key",
            "VESTRY_HTTP__BASE_URL": self.base_url,
            # A new key of checkpoints signs after one period.
            "VESTRY_AUDIT__CHECKPOINT_SECONDS": "1",
        }
        # The service rejects unknown variables, such as those of these scripts.
        others = {name: value for name, value in os.environ.items() if not name.startswith("VESTRY_")}
        command = [os.environ["VESTRY_BINARY"], *arguments]
        return subprocess.run(command, env=others | places, check=True, stdout=subprocess.PIPE).stdout

    def database(self):
        """The file of the database."""
        return os.path.join(os.path.dirname(os.environ["VESTRY_DEV_JSON"]), "vestry.db")


class Check:
    """Counts cases, prints each mismatch, and prints the result in one line for scripts."""

    def __init__(self, name, *libraries):
        # VESTRY_INTEROP_SEED sets the seed, for example to repeat a failed run.
        self.seed = int(os.environ.get("VESTRY_INTEROP_SEED") or random.SystemRandom().randrange(2**32))
        self.random = random.Random(self.seed)
        self._name = name
        self._versions = [f"{library}={importlib.metadata.version(library)}" for library in libraries]
        self._cases = 0
        self._mismatches = 0
        self._lock = threading.Lock()

    def also(self, version):
        """Adds a library of another language."""
        self._versions.append(version)

    def that(self, holds, description):
        """Counts a case; `description` states the expectation."""
        with self._lock:
            self._cases += 1
            self._mismatches += not holds
        if not holds:
            print(f"interop {self._name}: NOT SO: {description}")

    def end(self):
        """Prints the result and ends the program."""
        versions = " ".join(self._versions)
        print(
            f"interop {self._name}: cases={self._cases} mismatches={self._mismatches} seed={self.seed} {versions}",
            flush=True,
        )
        sys.exit(1 if self._mismatches or not self._cases else 0)
