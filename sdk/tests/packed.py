"""Packs both libraries, checks the packages, and installs them in empty projects."""

import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
#: The npm packages of sdk/tools.
NODE_MODULES = Path(os.environ["VESTRY_SDK_NODE"]) / "node_modules"
#: TypeScript 7 compiles five times as fast as 5.9.
FAST_TSC = NODE_MODULES / "typescript7/bin/tsc"
TYPESCRIPT, PYTHON = ROOT / "sdk/typescript", ROOT / "sdk/python"
#: SDK-22: nothing else is in a package.
ALLOWED = ("dist/", "package.json", "README.md", "CHANGELOG.md", "LICENSE-MIT", "LICENSE-APACHE")


def run(*command, **options):
    """Runs a command; its output is shown if it fails."""
    done = subprocess.run(
        [str(part) for part in command], capture_output=True, text=True, **options
    )
    if done.returncode != 0:
        raise SystemExit(f"{command[0]} failed:\n{done.stdout}{done.stderr}")
    return done.stdout


def program(name):
    return NODE_MODULES / ".bin" / name


def linked(folder):
    """Lets a folder use the packages of sdk/tools."""
    link = folder / "node_modules"
    if link.is_symlink():
        link.unlink()
    link.symlink_to(NODE_MODULES)


def typescript(home):
    """The project in which the npm package is installed."""
    linked(TYPESCRIPT)
    shutil.rmtree(TYPESCRIPT / "dist", ignore_errors=True)
    # The other compiler checks the declarations later.
    run(FAST_TSC, "-p", TYPESCRIPT)
    run("npm", "pack", "--silent", "--pack-destination", home, cwd=TYPESCRIPT)
    (package,) = home.glob("vestry-node-*.tgz")
    # SDK-23
    report = run(program("publint"), "run", package, "--strict", "--pack", "false")
    assert "All good!" in report, report
    project = home / "typescript"
    installed = project / "node_modules/@vestry/node"
    installed.mkdir(parents=True)
    with tarfile.open(package) as files:
        names = [name.removeprefix("package/") for name in files.getnames()]
        assert all(name.startswith(ALLOWED) for name in names), names
        assert "dist/index.d.ts" in names and "README.md" in names, names
        for member in files.getmembers():
            member.name = member.name.removeprefix("package/")
            files.extract(member, installed, filter="data")
    for other in NODE_MODULES.iterdir():
        if not (project / "node_modules" / other.name).exists():
            (project / "node_modules" / other.name).symlink_to(other)
    (project / "package.json").write_text('{"type": "module", "private": true}')
    return project


def python(home):
    """The directory in which the wheel is installed."""
    out = home / "dist"
    # The wheel is built from the sdist, so that both are complete.
    run(sys.executable, "-m", "build", "--no-isolation", "--outdir", out, PYTHON)
    (wheel,), (sdist,) = out.glob("*.whl"), out.glob("*.tar.gz")
    run(sys.executable, "-m", "twine", "check", "--strict", wheel, sdist)
    with zipfile.ZipFile(wheel) as files:
        names = files.namelist()
    assert "vestry/py.typed" in names, names
    assert all(name.startswith(("vestry/", "vestry-")) for name in names), names
    assert not any("test" in name for name in names), names
    project = home / "python"
    run(
        sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index",
        "--disable-pip-version-check", "--target", project, wheel,
    )
    return project


def temporary():
    return tempfile.TemporaryDirectory(prefix="vestry-sdk-")
