"""Wallets of the service for the scripts of the five chains, and checks common to all chains."""

import base64
import hashlib
import random
import uuid
from concurrent.futures import ThreadPoolExecutor

import base58

from service import Refused

# Concurrent requests: while the service handles some, the library verifies others.
AT_A_TIME = 8

FIELDS = {
    "ethereum": "eth_transaction",
    "solana": "sol_transaction",
    "bitcoin": "btc_transaction",
    "DOT": "dot_transaction",
    "XLM": "xlm_transaction",
}

CHOSEN_MESSAGES = [
    "test",
    "hello",
    "",
    " ",
    "\n",
    "a\r\nb\tc",
    "0x",
    "0xdeadbeef",
    "\x19Ethereum Signed Message:\n4test",
    "<Bytes>wrapped</Bytes>",
    "ünïcödé",
    "e\u0301",
    "日本語のメッセージ",
    "\u202eright to left",
    "👩\u200d👩\u200d👧\u200d👦",
    "\U0010ffff",
    '{"quoted": "\\u0041"}',
    "x" * 31,
    "x" * 32,
    "x" * 33,
    "x" * 252,
    "x" * 253,
    "long " * 10_000,
]

ALPHABETS = [
    (0x20, 0x7E),
    (0x01, 0x1F),
    (0xA0, 0x2FF),
    (0x370, 0x1FFF),
    (0x3040, 0x9FFF),
    (0x1F300, 0x1FAFF),
]


class Answered(dict):
    """The response and its request."""

    def __init__(self, answer, request_id):
        super().__init__(answer)
        self.request_id = request_id


class Wallet:
    """A new user's wallet, and the calls that sign with it."""

    def __init__(self, service, check, wallet_type, number=0):
        self._service, self._check = service, check
        self._payloads = {}
        self.wallet_type, self.field = wallet_type, FIELDS[wallet_type]
        email = f"interop-{wallet_type.lower()}-{check.seed}-{number}@example.com"
        user = service.call("POST", "/v1/auth/users/create", {"email": email, "wallet_type": wallet_type})
        asked = {"user_id": user["user_id"], "wallet_type": wallet_type}
        created = service.call("POST", "/v1/wallets/create", asked)
        self.id, self.address = created["id"], created["public_address"]
        again = service.get(f"/v1/wallets/{self.id}")
        check.that(again["public_address"] == self.address, "create and get show one address")
        check.that(created["wallet_type"] == wallet_type, f"the wallet is of type {wallet_type}")
        owned = service.get("/v1/wallets/list", user_id=user["user_id"])
        check.that([one["id"] for one in owned["wallets"]] == [self.id], "the user has this one wallet")

    def _post(self, call, body):
        request_id = uuid.uuid4().hex
        return Answered(self._service.call("POST", f"/v1/wallets/{self.id}/{call}", body, request_id=request_id), request_id)

    def _answered(self, answer):
        shows = answer["wallet_id"] == self.id and answer["wallet"]["public_address"] == self.address
        self._check.that(shows, "the answer shows the wallet")
        return answer

    def sign_message(self, **request):
        return self._answered(self._post("sign_message", request))

    def sign_transaction(self, transaction):
        return self._answered(self._post("sign_transaction", {self.field: transaction}))

    def rpc(self, method, **params):
        """The result of the method."""
        answer = self._post("rpc", {"method": method, "params": params})
        self._check.that(answer["method"] == method, f"the answer names {method}")
        return Answered(answer["data"], answer.request_id)

    def signed_over(self, answer, payload):
        """Records the payload that the library finds signed. The audit log must have the same (AUD-9)."""
        self._payloads[answer.request_id] = hashlib.sha256(payload).hexdigest()

    def check_payloads(self):
        """A case for each recorded payload."""
        noted, query = {}, {"limit": 100}
        while True:
            page = self._service.get(f"/v1/wallets/{self.id}/audit", **query)
            noted |= {entry["request_id"]: entry["payload_sha256"] for entry in page["entries"]}
            if not page["has_more"]:
                break
            query["starting_after"] = page["entries"][-1]["id"]
        for request_id, expected in self._payloads.items():
            self._check.that(noted.get(request_id) == expected, f"the audit log has the signature: {noted.get(request_id)}")

    def refuses(self, call, body, param, description, status=400):
        """A case: the call is refused, the refusal names `param`, and nothing is signed."""
        try:
            path = f"/v1/wallets/{self.id}/{call}"
            answer = self._service.call("POST", path, body, expect=status)
        except Refused as other:
            self._check.that(False, f"{description}: refused with {status}; got: {other}")
            return
        named = answer["error"].get("param")
        signs = any("sign" in name for name in answer)
        self._check.that(named == param and not signs, f"{description}: names {param} and not {named}")

    def refuses_transaction(self, transaction, param, description, status=400):
        """The same for a transaction; `param` is a field of it."""
        path = param and f"{self.field}.{param}"
        self.refuses("sign_transaction", {self.field: transaction}, path, description, status)

    def signs_or_refuses(self, transaction, param):
        """The response to a transaction that may be signed or refused; None, and one case, if it is refused.

        That is with 400 by its field, or with 403 when it is well formed and too dear.
        """
        try:
            return self.sign_transaction(transaction)
        except Refused as refusal:
            named = param and f"{self.field}.{param}"
            expected = (400, named), (403, None)
            holds = (refusal.status, refusal.param) in expected
            self._check.that(holds, f"a transaction that was changed is refused by its field: {refusal}")
            return None


def create_wallets(service, check, wallet_type, count):
    """Wallets with different addresses."""
    with ThreadPoolExecutor(AT_A_TIME) as pool:
        wallets = list(pool.map(lambda number: Wallet(service, check, wallet_type, number), range(count)))
    addresses = {wallet.address for wallet in wallets}
    check.that(len(addresses) == count, "every wallet has an address of its own")
    return wallets


def check_payloads(check, wallets):
    """The audit log has the payload of every signature."""
    each(check, "payloads", wallets, lambda wallet, _: wallet.check_payloads())


def each(check, kind, cases, examine):
    """Runs every case, some concurrently, each with its own random numbers, so that their order does not matter.

    A case that is refused, or whose answer no library reads, is a mismatch and not the end.
    """

    def one(number, case):
        try:
            examine(case, random.Random(f"{check.seed} {kind} {number}"))
        except Exception as fault:
            check.that(False, f"{kind} {number}: {type(fault).__name__}: {ascii(str(fault))[:200]}")

    with ThreadPoolExecutor(AT_A_TIME) as pool:
        for number, case in enumerate(cases):
            pool.submit(one, number, case)


def random_text(rng):
    """Text in one or several alphabets, mostly short."""
    length = rng.choice([rng.randrange(1, 40), rng.randrange(40, 400), rng.randrange(400, 4_000)])
    alphabets = rng.sample(ALPHABETS, rng.randrange(1, len(ALPHABETS) + 1))
    return "".join(chr(rng.randint(*rng.choice(alphabets))) for _ in range(length))


def messages(rng, count):
    """The chosen messages and some random ones in all encodings: the request, and the bytes it stands for."""
    for text in CHOSEN_MESSAGES:
        yield {"message": text}, text.encode()
    for number in range(count):
        yield random_message(rng, (None, "utf-8", "hex", "base64", "base58")[number % 5])


def random_message(rng, encoding):
    """A request in this encoding (none if omitted), and the bytes it stands for."""
    if encoding in (None, "utf-8"):
        text = random_text(rng)
        request = {"message": text} if encoding is None else {"message": text, "encoding": encoding}
        return request, text.encode()
    data = rng.randbytes(rng.choice([rng.randrange(4), rng.randrange(64), rng.randrange(1_000)]))
    written = {
        "hex": rng.choice(["", "0x"]) + data.hex(),
        "base64": base64.b64encode(data).decode(),
        "base58": base58.b58encode(data).decode(),
    }
    return {"message": written[encoding], "encoding": encoding}, data


def shown(data):
    """The beginning of a message, for a description."""
    return ascii(bytes(data[:40]))


def check_common_refusals(wallet, good, method):
    """Requests that every chain rejects; `good` is a transaction that the wallet signs, `method` one of its methods."""
    for field in FIELDS.values():
        if field != wallet.field:
            for content in (good, {}):
                wallet.refuses("sign_transaction", {field: content}, field, f"a {field} for another wallet")
            both = {wallet.field: good, field: good}
            wallet.refuses("sign_transaction", both, field, f"two kinds of transactions, one of them {field}")
    wallet.refuses("sign_transaction", {}, wallet.field, "no transaction")
    wallet.refuses("sign_transaction", {wallet.field: None}, wallet.field, "null for a transaction")
    for wrong in ("text", 7, [], True):
        wallet.refuses("sign_transaction", {wallet.field: wrong}, wallet.field, f"{wrong!r} for a transaction")
    for message, encoding in (("abc", "hex"), ("zz", "hex"), ("aGk", "base64"), ("0OIl", "base58")):
        request = {"message": message, "encoding": encoding}
        wallet.refuses("sign_message", request, "message", f"{message} as {encoding}")
    wallet.refuses("sign_message", {"message": "hi", "encoding": "utf-16"}, "encoding", "an unknown encoding")
    wallet.refuses("sign_message", {"message": 7}, "message", "a number for a message")
    wallet.refuses("sign_message", {}, "message", "no message")
    wallet.refuses("rpc", {"method": "no_such", "params": {}}, "method", "an unknown method")
    wallet.refuses("rpc", {"method": method, "params": {}}, "params.message", f"{method} without a message")
    wallet.refuses("rpc", {"method": method, "params": {"message": 7}}, "params.message", f"{method} of a number")


def check_broken(wallet, good, field, encoding, rng, also_whole=()):
    """Refuses a binary transaction that is cut off, has trailing bytes, or is not valid in its encoding.

    also_whole: lengths at which the cut transaction is still valid."""
    data = decoded(good[field], encoding)
    for cut in {0, 1, len(data) - 1, *(rng.randrange(len(data)) for _ in range(6))}.difference(also_whole):
        broken = good | {field: encoded(data[:cut], encoding)}
        wallet.refuses_transaction(broken, field, f"{cut} of {len(data)} bytes")
    for more in (b"\0", b"\1", rng.randbytes(3), data):
        broken = good | {field: encoded(data + more, encoding)}
        wallet.refuses_transaction(broken, field, f"{len(more)} bytes more")
    for wrong in ("", "no such thing", 7, [], {}):
        wallet.refuses_transaction(good | {field: wrong}, field, f"{wrong!r} in place of {field}")
    absent = {name: value for name, value in good.items() if name != field}
    wallet.refuses_transaction(absent, field, f"no {field}")


def encoded(data, encoding):
    """Bytes as text."""
    if encoding == "base58":
        return base58.b58encode(data).decode()
    return data.hex() if encoding == "hex" else base64.b64encode(data).decode()


def decoded(text, encoding):
    """Text as bytes."""
    if encoding == "base58":
        return base58.b58decode(text)
    return bytes.fromhex(text.removeprefix("0x")) if encoding == "hex" else base64.b64decode(text, validate=True)
