"""The lines of docs/audit.md, over the package `cryptography`, and PyNaCl read and verify checkpoints of the audit log (AUD-8)."""

import base64
import hashlib
import json
import re

import nacl.exceptions
import nacl.signing

from service import Check, Service

CHECKPOINTS = 30
BITS = 200


def passage():
    """The function of the page."""
    with open("docs/audit.md", encoding="utf-8") as page:
        code = re.search(r"```python\n(.*?)```", page.read(), re.DOTALL).group(1)
    scope = {}
    exec(code, scope)
    return scope["read_checkpoint"]


def takes(read, note, key):
    try:
        read(note, key)
    except Exception:
        return False
    return True


def by_nacl(note, key):
    """The same signature by another library, over the same bytes."""
    text, line = note.rsplit("\n\n", 1)
    signature = base64.b64decode(line.split(" ")[2])[4:]
    public = base64.b64decode(key.split("+", 2)[2])[1:]
    try:
        nacl.signing.VerifyKey(public).verify(f"{text}\n".encode(), signature)
    except nacl.exceptions.BadSignatureError:
        return False
    return True


def main():
    check = Check("checkpoints", "cryptography", "PyNaCl")
    service, read = Service(), passage()
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
        # The service makes some too, in between.
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
    check.end()


main()
