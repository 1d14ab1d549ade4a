"""The code in docs/audit.md, using `cryptography`, and PyNaCl verify checkpoints of the audit log (AUD-8). That code also verifies pruned
entries (AUD-2)."""

import base64
import datetime
import hashlib
import json
import os
import re
import sqlite3
import tempfile

import nacl.exceptions
import nacl.signing

from service import Check, Service

CHECKPOINTS = 30
BITS = 200


def passages():
    """The functions of the page."""
    with open("docs/audit.md", encoding="utf-8") as page:
        code = re.findall(r"```python\n(.*?)```", page.read(), re.DOTALL)
    scope = {}
    exec("\n".join(code), scope)
    return scope["read_checkpoint"], scope["check_export"]


def takes(read, note, key):
    try:
        read(note, key)
    except Exception:
        return False
    return True


def by_nacl(note, key):
    """The same signature, verified with another library."""
    text, line = note.rsplit("\n\n", 1)
    signature = base64.b64decode(line.split(" ")[2])[4:]
    public = base64.b64decode(key.split("+", 2)[2])[1:]
    try:
        nacl.signing.VerifyKey(public).verify(f"{text}\n".encode(), signature)
    except nacl.exceptions.BadSignatureError:
        return False
    return True


def follows(check_export, lines):
    try:
        check_export(lines)
    except Exception:
        return False
    return True


def check_pruned(check, service, check_export):
    """Prunes a copy of the database, because other scripts use it, and reads the file."""
    with tempfile.TemporaryDirectory() as directory:
        database, file = os.path.join(directory, "copy.db"), os.path.join(directory, "pruned.jsonl")
        with sqlite3.connect(service.database()) as living, sqlite3.connect(database) as copy:
            living.backup(copy)
        now = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
        command = ["audit", "prune", "--before", now, "--to", file, "--json"]
        pruned = json.loads(service.operate(*command, database=database))
        service.operate("audit", "verify", database=database)
        with open(file, "rb") as export:
            octets = export.read()
        lines = octets.decode().splitlines()
        check.that(pruned["entries"] == len(lines) > 0, "the lines are as many as were said")
        check.that(pruned["sha256"] == hashlib.sha256(octets).hexdigest(), "the file has the hash that was said")
        ends = check_export(lines)
        with sqlite3.connect(database) as copy:
            markers = copy.execute("SELECT chain, sequence, lower(hex(hash)) FROM audit_markers").fetchall()
        check.that(ends == {chain: (sequence, digest) for chain, sequence, digest in markers}, "each chain goes on where its export ends")
        for _ in range(BITS):
            place = check.random.randrange(len(lines))
            entry = json.loads(lines[place])
            name = check.random.choice(sorted(set(entry) - {"format"}))
            altered = {**entry, name: "altered" if entry[name] is None or isinstance(entry[name], str) else None}
            changed = [*lines[:place], json.dumps(altered), *lines[place + 1 :]]
            # A chain pruned for the first time begins with zeros, and a single entry can follow anything.
            check.that(not follows(check_export, changed), f"one with another {name} in line {place + 1} is refused")


def main():
    check = Check("checkpoints", "cryptography", "PyNaCl")
    service, (read, check_export) = Service(), passages()
    key = json.loads(service.operate("audit", "key", "--json"))["key"]
    before = None
    for number in range(CHECKPOINTS):
        email = f"checkpoints-{check.seed}-{number}@example.com"
        service.call("POST", "/v1/auth/users/create", {"email": email})
        made = json.loads(service.operate("audit", "checkpoint", "--json"))
        note = made["note"]
        checkpoint = read(note, key)
        check.that(checkpoint["number"] == made["number"], "the number is the one that was said")
        check.that(len(checkpoint["lines"]) == made["lines"], "the lines are as many as were said")
        check.that(by_nacl(note, key), "PyNaCl takes the signature")
        # The service creates some in between.
        if before and checkpoint["number"] == before[0] + 1:
            check.that(checkpoint["previous"] == before[1], "it names the one before")
        text = note.rsplit("\n\n", 1)[0] + "\n"
        before = checkpoint["number"], hashlib.sha256(text.encode()).hexdigest()
        octets = note.encode()
        for _ in range(BITS):
            place = check.random.randrange(len(octets) - 1)
            altered = bytearray(octets)
            altered[place] ^= 1 << check.random.randrange(7)
            try:
                altered = altered.decode()
            except UnicodeDecodeError:
                continue
            check.that(not takes(read, altered, key), f"one with a bit changed at {place} is refused")
    other = read.__globals__["base64"].b64encode(b"\1" + bytes(32)).decode()
    check.that(not takes(read, note, "+".join([*key.split("+")[:2], other])), "another key takes nothing")
    check_pruned(check, service, check_export)
    check.end()


main()
