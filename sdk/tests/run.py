"""Checks both libraries as packed, each client against a `vestry dev` of its own."""

import json
import os
import shutil
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import compared
import examples
import faults
import packed
import samples
import signatures
import tokens
import tolerance
from clients import Clients
from packed import NODE_MODULES, PYTHON, ROOT, TYPESCRIPT, program, run

lock = threading.Lock()


def type_checks(project, home):
    """The compilers and type checkers report nothing."""
    newer = NODE_MODULES / "typescript7/bin/tsc"
    options = ["--noEmit", "--strict", "--skipLibCheck", "false", "--lib", "ES2023,DOM,DOM.Iterable"]
    run(newer, "-p", TYPESCRIPT, "--noEmit")
    # Users compile against the declarations.
    sample = project / "types.ts"
    sample.write_text('import { Vestry } from "@vestry/node";\nexport const client: Vestry | undefined = undefined;\n')
    options += ["--module", "nodenext", "--target", "es2022", "--types", "node"]
    for compiler in (newer, program("tsc")):
        run(compiler, *options, sample.name, cwd=project)
    sample.unlink()
    cache = home / "mypy"
    run(sys.executable, "-m", "mypy", "--strict", "--cache-dir", cache, "src", cwd=PYTHON)
    run(program("pyright"), "--pythonpath", sys.executable, "src", cwd=PYTHON)
    print("types: tsc 5.9 and 7, mypy --strict and pyright report nothing")


def timed(name, job):
    start = time.monotonic()
    job()
    with lock:
        print(f"    {name}: {time.monotonic() - start:.1f} s", flush=True)


def main():
    servers = json.loads(os.environ["VESTRY_SDK_SERVERS"])
    with packed.temporary() as home:
        home = Path(home)
        with ThreadPoolExecutor() as pool:
            typescript = pool.submit(packed.typescript, home)
            python = pool.submit(packed.python, home)
            typescript, python = typescript.result(), python.result()
        clients = Clients(typescript, python, servers)

        def behaviour():
            # The last one creates thousands of users.
            for module in (compared, tolerance, tokens, signatures, faults):
                timed(module.__name__, lambda module=module: module.check(clients))

        def documentation():
            timed("examples", lambda: examples.check(clients, typescript, python))
            timed("samples", lambda: samples.check(clients, typescript, python))

        jobs = [
            behaviour,
            documentation,
            lambda: timed("types", lambda: type_checks(typescript, home)),
        ]
        with ThreadPoolExecutor() as pool:
            for done in [pool.submit(job) for job in jobs]:
                done.result()
    shutil.rmtree(TYPESCRIPT / "dist", ignore_errors=True)
    print(f"client libraries in {ROOT.name}: 1 passed, 0 failed")


main()
