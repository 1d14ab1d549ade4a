"""Checks both libraries as packed, each client against a `vestry dev` of its own.

With arguments, only these checks of their behaviour run: `faults tokens`.
"""

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
from packed import FAST_TSC, PYTHON, TYPESCRIPT, program, run

lock = threading.Lock()


def compile_all(project):
    """Compiles the samples and examples against the package's declarations."""
    options = {
        "strict": True,
        "module": "nodenext",
        "target": "es2022",
        "lib": ["ES2023", "DOM", "DOM.Iterable"],
        "types": ["node"],
        "skipLibCheck": False,
    }
    (project / "tsconfig.json").write_text(json.dumps({"compilerOptions": options, "include": ["*.ts"]}))
    run(FAST_TSC, "-p", project)


def type_checks(typescript, python):
    """Compilers and type checkers report nothing about the libraries, the samples and the examples."""
    # The other compiler checks the declarations of the language and of packages too.
    run(program("tsc"), "-p", typescript, "--noEmit", "--skipLibCheck")
    cache = python.parent / "mypy"
    environment = os.environ | {"PYTHONPATH": str(python), "MYPYPATH": str(python)}
    files = [*python.parent.glob("example*.py"), PYTHON / "sample/app.py"]
    run(sys.executable, "-m", "mypy", "--strict", "--cache-dir", cache, python / "vestry", *files, env=environment)
    run(program("pyright"), "--pythonpath", sys.executable, python / "vestry", env=environment)
    print("types: tsc 5.9 and 7, mypy --strict and pyright report nothing")


def timed(name, job):
    start = time.monotonic()
    job()
    with lock:
        print(f"    {name}: {time.monotonic() - start:.1f} s", flush=True)


#: In the order in which they run. The last one creates thousands of users.
CHECKS = (compared, tolerance, tokens, signatures, faults)


def main():
    servers = json.loads(os.environ["VESTRY_SDK_SERVERS"])
    names = sys.argv[1:]
    known = {module.__name__: module for module in CHECKS}
    chosen = tuple(known[name] for name in names) or CHECKS
    with packed.temporary() as home:
        home = Path(home)
        with ThreadPoolExecutor() as pool:
            typescript = pool.submit(packed.typescript, home)
            python = pool.submit(packed.python, home)
            typescript, python = typescript.result(), python.result()
        clients = Clients(typescript, python, servers)
        programs = examples.write(typescript, python)
        samples.write(typescript)
        compile_all(typescript)

        def behaviour():
            for module in chosen:
                timed(module.__name__, lambda module=module: module.check(clients))

        def documentation():
            timed("examples", lambda: examples.check(clients, programs, python))
            timed("samples", lambda: samples.check(clients, typescript, python))

        jobs = [behaviour]
        if chosen == CHECKS:
            jobs += [documentation, lambda: timed("types", lambda: type_checks(typescript, python))]
        with ThreadPoolExecutor() as pool:
            for done in [pool.submit(job) for job in jobs]:
                done.result()
    shutil.rmtree(TYPESCRIPT / "dist", ignore_errors=True)
    print(f"the client libraries work as packed: {' '.join(names) or 'all checks'}")


main()
