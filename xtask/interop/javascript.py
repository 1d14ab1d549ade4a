"""npm libraries in a Node process."""

import json
import os
import subprocess
import threading


def home():
    """The directory with the modules and `node_modules`."""
    return os.environ["VESTRY_INTEROP_NODE"]


class JavaScript:
    """The calls of a module of this directory; see calls.mjs."""

    def __init__(self, module):
        command = ["node", f"{home()}/{module}"]
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, cwd=home())
        self._lock = threading.Lock()

    @staticmethod
    def version(package):
        """The name and version of a package for the result of a check, without a process."""
        with open(f"{home()}/package-lock.json", encoding="utf-8") as file:
            locked = json.load(file)["packages"][f"node_modules/{package}"]
        return f"{package}={locked['version']}"

    def call(self, call, **request):
        """The response to a call; bytes are sent as hex."""
        written = {name: value.hex() if isinstance(value, bytes) else value for name, value in request.items()}
        with self._lock:
            print(json.dumps({"call": call, **written}), file=self._process.stdin, flush=True)
            answered = json.loads(self._process.stdout.readline())
        if "fault" in answered:
            raise ValueError(f"{call}: {answered['fault']}")
        return answered["answer"]

    def end(self):
        self._process.stdin.close()
        self._process.wait()
