"""SDK-1: the calls of sdk/calls.json have equal results in each client."""

import json
import re
import socket
from pathlib import Path

CALLS = json.loads((Path(__file__).resolve().parents[1] / "calls.json").read_text())
ID = r"\b[a-z]+_[0-9A-Za-z]{27}\b"
#: Values that are random or depend on time, and their replacements.
RANDOM = [
    (r"[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]{40,}", "<jwt>"),
    (r"0x[0-9a-f]{40,}", "<hex>"),
    (r"\d{4}-\d\d-\d\dT[\d:.]+Z", "<time>"),
    (r"\b[0-9A-Za-z+/_-]{40,}={0,2}", "<random>"),
    (r"127\.0\.0\.1:\d+", "<host>"),
]
#: Fields whose values are random in another way.
FIELDS = {
    "challenge", "encryption_public_key", "hash", "html", "nonce", "public_address", "recovery_codes",
    "request_id", "secret", "session_jwt", "state", "subject", "text", "url",
}


def normal(outcome, ids):
    """An outcome without random values. Ids are numbered by their first appearance outside of lists."""
    text = json.dumps(outcome)
    if '": [' not in text:
        for found in re.findall(ID, text):
            ids.setdefault(found, f"{found.split('_')[0]}_{len(ids)}")

    def known(found):
        return ids.get(found[0], f"{found[0].split('_')[0]}_?")

    def shown(value, name=""):
        if isinstance(value, dict):
            return {key: shown(one, key) for key, one in sorted(value.items())}
        if isinstance(value, list):
            return sorted((shown(one, name) for one in value), key=json.dumps)
        if name in FIELDS and value:
            return f"<{name}>"
        if name == "code" and value.isdigit():
            return "<digits>"
        if name == "param" and value:
            # Arguments are named as usual in each language.
            return re.sub(r"[A-Z]", lambda letter: f"_{letter[0].lower()}", value)
        if isinstance(value, int) and value > 1_600_000_000:
            return "<time>"
        if isinstance(value, str):
            value = re.sub(ID, known, value)
            for pattern, replacement in RANDOM:
                value = re.sub(pattern, replacement, value)
        return value

    return shown({name: value for name, value in outcome.items() if name != "message"})


def check(clients):
    # Nothing listens on a port that is bound only.
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        closed = {"closed": f"http://127.0.0.1:{bound.getsockname()[1]}"}
        all_outcomes = clients.each(lambda number: clients.run(number, CALLS, closed))
    steps = [step for step in CALLS for _ in range(step.get("repeat", 1))]
    numbered = [{} for _ in all_outcomes]
    wrong = []
    for step, *results in zip(steps, *all_outcomes, strict=True):
        seen = [normal(result, ids) for result, ids in zip(results, numbered)]
        error = seen[0].get("error", {}).get("class")
        expected = step.get("error")
        if any(other != seen[0] for other in seen[1:]) or expected not in ("*", error):
            wrong.append((step, seen))
    for step, seen in wrong:
        print(step["call"], json.dumps(step), *(json.dumps(one) for one in seen), sep="\n    ")
    classes = {result["error"]["class"] for result in all_outcomes[0] if "error" in result}
    names = {step["call"] for step in CALLS}
    print(f"SDK-1: {len(steps)} calls of {len(names)} methods, {len(classes)} classes of errors, {len(wrong)} mismatches")
    assert not wrong
