"""py-sr25519-bindings verifies Polkadot signatures; scalecodec encodes payloads and decodes extrinsics. In JavaScript,
@polkadot/util-crypto and @polkadot/types do the same."""

import hashlib

import sr25519
from scalecodec.base import RuntimeConfigurationObject, ScaleBytes
from scalecodec.type_registry import load_type_registry_preset
from scalecodec.utils.ss58 import ss58_decode, ss58_encode

from javascript import JavaScript
from service import Check, Service, of_night
from wallets import check_common_refusals, check_payloads, create_wallets, each, messages, random_message, shown

WALLETS = of_night(1_000)
RANDOM_MESSAGES = of_night(1_000)
METHOD_MESSAGES = 60
TRANSACTIONS_PER_KIND = of_night(300)
METHOD_TRANSACTIONS = 60

KINDS = ("relay", "assets", "relay of today", "assets of today", "old", "shuffled", "large")
CODEC = RuntimeConfigurationObject()
CODEC.update_type_registry(load_type_registry_preset("legacy"))

# The data that each extension sends, and the data that it only signs (polkadot-js, extrinsic/signedExtensions). polkadot-js treats newer
# extensions as empty, as in the metadata of their chains.
EXTENSIONS = {
    "CheckNonZeroSender": ((), ()),
    "CheckSpecVersion": ((), ("specVersion",)),
    "CheckTxVersion": ((), ("transactionVersion",)),
    "CheckGenesis": ((), ("genesisHash",)),
    "CheckMortality": (("era",), ("blockHash",)),
    "CheckEra": (("era",), ("blockHash",)),
    "CheckNonce": (("nonce",), ()),
    "CheckWeight": ((), ()),
    "ChargeTransactionPayment": (("tip",), ()),
    "ChargeAssetTxPayment": (("tip", "assetId"), ()),
    "PrevalidateAttests": ((), ()),
    "CheckMetadataHash": (("mode",), ("metadataHash",)),
    "WeightReclaim": ((), ()),
    "AuthorizeCall": ((), ()),
    "EthSetOrigin": ((), ()),
    "StorageWeightReclaim": ((), ()),
}
COMMON = ["CheckNonZeroSender", "CheckSpecVersion", "CheckTxVersion", "CheckGenesis"]
CHAINS = {
    "relay": [*COMMON, "CheckMortality", "CheckNonce", "CheckWeight", "ChargeTransactionPayment", "PrevalidateAttests",
              "CheckMetadataHash", "WeightReclaim"],
    "assets": [*COMMON, "CheckMortality", "CheckNonce", "CheckWeight", "ChargeAssetTxPayment", "CheckMetadataHash"],
    "relay of today": ["AuthorizeCall", *COMMON, "CheckMortality", "CheckNonce", "CheckWeight", "ChargeTransactionPayment",
                       "PrevalidateAttests", "CheckMetadataHash", "WeightReclaim"],
    "assets of today": ["AuthorizeCall", *COMMON, "CheckMortality", "CheckNonce", "CheckWeight", "ChargeAssetTxPayment",
                        "CheckMetadataHash", "EthSetOrigin", "StorageWeightReclaim"],
    "old": [*COMMON[1:], "CheckEra", "CheckNonce", "CheckWeight", "ChargeTransactionPayment"],
}  # fmt: skip


def scale(kind, value):
    """A value in SCALE, encoded by scalecodec."""
    return bytes(CODEC.create_scale_object(kind).encode(value).data)


def read(kind, data):
    """The next SCALE value, decoded by scalecodec, and the decoder."""
    thing = CODEC.create_scale_object(kind, data)
    return thing.decode(check_remaining=False), thing


def public_key(wallet):
    return bytes.fromhex(ss58_decode(wallet.address, valid_ss58_format=0))


def holds(wallet, data, signature):
    """Whether a signature of the wallet is valid for exactly these bytes."""
    return sr25519.verify(signature, data, public_key(wallet))


def wrapped(data):
    """polkadot.js wraps messages in a tag, unless they have one or are of Ethereum."""
    is_wrapped = data.startswith(b"<Bytes>") and data.endswith(b"</Bytes>")
    is_ethereum = data.startswith(b"\x19Ethereum Signed Message:\n")
    return data if is_wrapped or is_ethereum else b"<Bytes>" + data + b"</Bytes>"


def polkadot_js_holds(javascript, wallet, signature, data):
    """Whether polkadot.js accepts a signature of a message."""
    return javascript.call("message", address=wallet.address, message=data, signature=signature)


def check_address(check, javascript, wallet):
    check.that(ss58_encode(public_key(wallet), 0) == wallet.address, "the address is SS58 of prefix 0")
    found = javascript.call("address", address=wallet.address)
    same = found == {"public_key": public_key(wallet).hex(), "address": wallet.address}
    check.that(same, "polkadot.js reads the same key in the address, and writes the same address for it")


def check_message(check, javascript, wallet, answer, data):
    signature = bytes.fromhex(answer["signature"].removeprefix("0x"))
    wallet.signed_over(answer, wrapped(data))
    check.that(answer["encoding"] == "hex", "a message is answered in hex")
    check.that(answer["signature"].startswith("0x") and len(signature) == 64, f"64 bytes of 0x hex for {shown(data)}")
    check.that(holds(wallet, wrapped(data), signature), f"the wallet signed {shown(data)}")
    check.that(not holds(wallet, wrapped(data) + b"!", signature), f"and nothing else than {shown(data)}")
    good = polkadot_js_holds(javascript, wallet, answer["signature"], data)
    check.that(good, f"polkadot.js verifies {shown(data)}")


def check_messages(check, javascript, wallets):
    def by_call(case, rng):
        number, (request, data) = case
        # The wallets take turns.
        wallet = wallets[number % len(wallets)]
        check_message(check, javascript, wallet, wallet.sign_message(**request), data)

    def by_method(encoding, rng):
        request, data = random_message(rng, encoding)
        wallet = rng.choice(wallets)
        if rng.random() < 0.5:
            request["address"] = wallet.address
        method = rng.choice(["polkadot_signMessage", "dot_signRaw", "signMessage"])
        check_message(check, javascript, wallet, wallet.rpc(method, **request), data)

    each(check, "message", enumerate(messages(check.random, RANDOM_MESSAGES)), by_call)
    encodings = [None, "utf-8", "hex", "base64", "base58"]
    each(check, "message by rpc", encodings * (METHOD_MESSAGES // len(encodings)), by_method)


class Payload:
    """A random `SignerPayloadJSON`, and its values encoded by scalecodec."""

    def __init__(self, rng, kind, wallet):
        self._random, self._kind = rng, kind
        self.extensions = CHAINS.get(kind) or rng.sample(CHAINS["relay"], len(CHAINS["relay"]))
        length = rng.randrange(200, 3_000) if kind == "large" else rng.randrange(2, 80)
        self.method = rng.randbytes(length)
        self.values = self._values()
        self.request = self._request(wallet)

    def _values(self):
        rng = self._random
        period = 2 ** rng.randrange(2, 17)
        # Long periods have a quantized phase.
        step = max(period >> 12, 1)
        mortal = {"period": period, "phase": rng.randrange(period // step) * step}
        values = {
            "era": "00" if rng.random() < 0.3 else mortal,
            "nonce": rng.getrandbits(rng.randrange(33)),
            "tip": rng.getrandbits(rng.randrange(129)),
            "specVersion": rng.getrandbits(32),
            "transactionVersion": rng.getrandbits(rng.randrange(33)),
            "genesisHash": rng.randbytes(32),
            "blockHash": rng.randbytes(32),
        }
        if values["era"] == "00":
            # The signed content of an immortal transaction.
            values["blockHash"] = values["genesisHash"]
        sent = {field for name in self.extensions for part in EXTENSIONS[name] for field in part}
        if "assetId" in sent:
            values["assetId"] = rng.randbytes(rng.randrange(1, 60)) if rng.random() < 0.7 else None
        if "mode" in sent:
            values["mode"] = rng.randrange(2)
            values["metadataHash"] = rng.randbytes(32) if values["mode"] else None
        return values

    def encoded(self, field):
        """A value in the notation of the payload."""
        value = self.values[field]
        kinds = {"nonce": "Compact<u32>", "tip": "Compact<u128>", "specVersion": "u32", "transactionVersion": "u32"}
        kinds |= {"mode": "u8", "era": "Era"}
        if field in kinds:
            return scale(kinds[field], value)
        if field in ("assetId", "metadataHash"):
            return b"\0" if value is None else b"\1" + value
        return value

    def _number(self, field, digits):
        plain = f"{self.values[field]:x}"
        return "0x" + self._random.choice([plain, plain.zfill(digits)])

    def _request(self, wallet):
        rng, values = self._random, self.values
        request = {
            "address": ss58_encode(public_key(wallet), rng.choice([0, 2, 42, 1284])),
            "blockHash": "0x" + values["blockHash"].hex(),
            "blockNumber": hex(rng.getrandbits(32)),
            "era": "0x" + self.encoded("era").hex(),
            "genesisHash": "0x" + values["genesisHash"].hex(),
            "method": "0x" + self.method.hex(),
            "nonce": self._number("nonce", 8),
            "specVersion": self._number("specVersion", 8),
            "tip": self._number("tip", 32),
            "transactionVersion": self._number("transactionVersion", 8),
            "signedExtensions": self.extensions,
            "version": 4,
        }
        if values.get("assetId") is not None:
            request["assetId"] = "0x" + self.encoded("assetId").hex()
        if values.get("mode") or ("mode" in values and rng.random() < 0.5):
            request["mode"] = values["mode"]
        if values.get("metadataHash"):
            request["metadataHash"] = "0x" + values["metadataHash"].hex()
        return request

    def _parts(self, place):
        return b"".join(self.encoded(field) for name in self.extensions for field in EXTENSIONS[name][place])

    def extra(self):
        """The extension data that is sent."""
        return self._parts(0)

    def whole(self):
        """The bytes of the payload."""
        return self.method + self.extra() + self._parts(1)

    def signed(self):
        """The signed bytes: the payload, or its hash if it is long."""
        payload = self.whole()
        return hashlib.blake2b(payload, digest_size=32).digest() if len(payload) > 256 else payload


def check_extrinsic(check, wallet, answer, payload, kind):
    """Decodes the transaction with scalecodec like a node, field by field, without remaining bytes."""
    data = ScaleBytes(answer["signed_transaction"])
    length, _ = read("Compact<u32>", data)
    check.that(length == data.get_remaining_length(), f"the length before {kind}")
    check.that(data.get_next_bytes(1) == b"\x84", f"{kind} is signed and of version 4")
    address, _ = read("MultiAddress", data)
    check.that(address == "0x" + public_key(wallet).hex(), f"{kind} is of the wallet")
    signature, _ = read("MultiSignature", data)
    check.that(signature == {"Sr25519": "0x" + answer["signature"][4:]}, f"the signature in {kind} is that answered")
    for name in payload.extensions:
        for field in EXTENSIONS[name][0]:
            check.that(read_back(data, payload, field), f"{field} of {kind} is as requested")
    check.that(bytes(data.get_remaining_bytes()) == payload.method, f"the call of {kind} is as requested")


def read_back(data, payload, field):
    """Whether scalecodec decodes the value of a field in its place."""
    asked = payload.values[field]
    if field == "assetId":
        return bytes(data.get_next_bytes(len(payload.encoded(field)))) == payload.encoded(field)
    if field == "era":
        _, era = read("Era", data)
        return era.period is None if asked == "00" else (era.period, era.phase) == (asked["period"], asked["phase"])
    kinds = {"nonce": "Compact<u32>", "tip": "Compact<u128>", "mode": "u8"}
    value, _ = read(kinds[field], data)
    return value == asked


def found_by_polkadot_js(javascript, payload, signature, transaction):
    """The bytes that polkadot.js signs, the transaction it builds, and the content it decodes."""
    return javascript.call("transaction", payload=payload.request, signature=signature, transaction=transaction)


def raw_holds(javascript, request, signature):
    """Whether polkadot.js accepts a signature of a raw payload."""
    return javascript.call("raw", address=request["address"], data=request["data"][2:], signature=signature)


def check_by_polkadot_js(check, javascript, wallet, answer, payload, kind):
    """polkadot.js signs the same bytes, builds the same transaction, and decodes the requested content."""
    transaction = answer["signed_transaction"]
    found = found_by_polkadot_js(javascript, payload, answer["signature"], transaction)
    check.that(found["signed"] == payload.signed().hex(), f"polkadot.js signs the same bytes for {kind}")
    check.that(found["holds"], f"polkadot.js verifies {kind}")
    check.that(found["transaction"] == transaction, f"polkadot.js makes the same transaction of {kind}")
    values = payload.values
    asked = {
        "signer": wallet.address,
        "signature": {"sr25519": "0x" + answer["signature"][4:]},
        "era": payload.request["era"],
        "nonce": str(values["nonce"]),
        "tip": str(values["tip"]),
        "asset_id": payload.encoded("assetId").hex() if "assetId" in values else None,
        "mode": values.get("mode"),
        "call": payload.request["method"],
    }
    check.that(found["fields"] == asked, f"polkadot.js reads the requested {kind}")


def check_signed(check, javascript, wallet, answer, payload, kind):
    signature = bytes.fromhex(answer["signature"].removeprefix("0x"))
    check.that(len(signature) == 65 and signature[0] == 1, f"the signature of {kind} says that it is of sr25519")
    wallet.signed_over(answer, payload.whole())
    check.that(holds(wallet, payload.signed(), signature[1:]), f"the wallet signed {kind}")
    check_extrinsic(check, wallet, answer, payload, kind)
    check_by_polkadot_js(check, javascript, wallet, answer, payload, kind)


def check_transactions(check, javascript, wallets):
    def by_call(kind, rng):
        wallet = rng.choice(wallets)
        payload = Payload(rng, kind, wallet)
        answer = wallet.sign_transaction(payload.request)
        check_signed(check, javascript, wallet, answer, payload, kind)

    def by_method(kind, rng):
        wallet = rng.choice(wallets)
        payload = Payload(rng, kind, wallet)
        wants = rng.random() < 0.5
        request = payload.request | {"withSignedTransaction": wants}
        params = {"address": wallet.address, "transactionPayload": request}
        answer = wallet.rpc("polkadot_signTransaction", **params)
        check_signed(check, javascript, wallet, answer, payload, kind)
        named = answer["signed_transaction"] if wants else None
        check.that(answer.get("signedTransaction") == named, "signedTransaction is there when it is asked for")

    def raw(_, rng):
        length = rng.choice([rng.randrange(1, 257), rng.randrange(257, 2_000)])
        wallet, data = rng.choice(wallets), rng.randbytes(length)
        request = {"address": wallet.address, "data": "0x" + data.hex(), "type": "payload"}
        answer = wallet.sign_transaction(request)
        wallet.signed_over(answer, data)
        signed = hashlib.blake2b(data, digest_size=32).digest() if len(data) > 256 else data
        signature = bytes.fromhex(answer["signature"].removeprefix("0x"))
        check.that(signature[:1] == b"\1" and holds(wallet, signed, signature[1:]), "the wallet signed a raw payload")
        good = raw_holds(javascript, request, answer["signature"])
        check.that(good, "polkadot.js verifies a raw payload")
        check.that(answer["signed_transaction"] is None, "a raw payload gives no transaction")

    for kind in KINDS:
        each(check, kind, [kind] * TRANSACTIONS_PER_KIND, by_call)
    each(check, "raw", range(TRANSACTIONS_PER_KIND), raw)
    each(check, "transaction by rpc", KINDS * (METHOD_TRANSACTIONS // len(KINDS)), by_method)


def check_altered(check, javascript, wallet):
    """polkadot.js rejects an altered signature of each kind."""
    signature = wallet.sign_message(message="hello")["signature"]
    good = polkadot_js_holds(javascript, wallet, altered(signature), b"hello")
    check.that(not good, "polkadot.js refuses an altered signature of a message")
    for kind in KINDS:
        payload = Payload(check.random, kind, wallet)
        answer = wallet.sign_transaction(payload.request)
        signature = altered(answer["signature"])
        found = found_by_polkadot_js(javascript, payload, signature, answer["signed_transaction"])
        check.that(not found["holds"], f"polkadot.js refuses an altered signature of {kind}")
    request = {"address": wallet.address, "data": "0x1234", "type": "payload"}
    answer = wallet.sign_transaction(request)
    good = raw_holds(javascript, request, altered(answer["signature"]))
    check.that(not good, "polkadot.js refuses an altered signature of a raw payload")


def altered(signature):
    """Flips a bit of s, so that the point before it stays valid."""
    return f"{signature[:-32]}{int(signature[-32], 16) ^ 1:x}{signature[-31:]}"


def check_refusals(check, wallet, stranger):
    good = Payload(check.random, "relay", wallet).request
    good |= {"mode": 1, "metadataHash": "0x" + "11" * 32}
    wallet.sign_transaction(good)
    check_common_refusals(wallet, good, "polkadot_signMessage")
    swapped = wallet.address[:-2] + wallet.address[-1] + wallet.address[-2]
    for field, wrong, why in [
        ("address", stranger.address, "of another wallet"),
        ("address", wallet.address[:-1], "cut off"),
        ("address", wallet.address + "1", "that goes on"),
        ("address", swapped if swapped != wallet.address else "", "with a wrong checksum"),
        ("method", good["method"][:-1], "of an odd number of digits"),
        ("method", "0x00", "of one byte"),
        ("method", good["method"][2:], "without 0x"),
        ("era", "0x", "of no bytes"),
        ("era", "0x000000", "of three bytes"),
        ("era", "0x0000", "of two bytes that is not mortal"),
        ("nonce", "0x100000000", "of more than 32 bits"),
        ("nonce", 5, "as a JSON number"),
        ("nonce", "5", "as a decimal number"),
        ("tip", "0x1" + "0" * 32, "of more than 128 bits"),
        ("specVersion", "0x1ffffffff", "of more than 32 bits"),
        ("genesisHash", good["genesisHash"][:-2], "of 31 bytes"),
        ("genesisHash", good["genesisHash"] + "00", "of 33 bytes"),
        ("blockHash", good["blockHash"][:-1], "of an odd number of digits"),
        ("signedExtensions", [*good["signedExtensions"], "ChargeNothing"], "with an unknown name"),
        ("signedExtensions", [*good["signedExtensions"], "CheckNonce"], "with a name twice"),
        ("signedExtensions", "CheckNonce", "as text"),
        ("signedExtensions", [], "that name no chain"),
        ("version", 5, "of extrinsics that wallets do not ask for"),
        ("version", "4", "as text"),
        ("mode", 2, "that there is not"),
        ("metadataHash", "0x11", "of one byte"),
    ]:
        wallet.refuses_transaction(good | {field: wrong}, field, f"a {field} {why}")
    for field in ("address", "method", "era", "nonce", "tip", "specVersion", "genesisHash", "version", "metadataHash"):
        absent = {name: value for name, value in good.items() if name != field}
        wallet.refuses_transaction(absent, field, f"no {field}")
    immortal = good | {"era": "0x00", "blockHash": good["genesisHash"]}
    wallet.sign_transaction(immortal)
    wrong = immortal | {"blockHash": "0x" + "22" * 32}
    wallet.refuses_transaction(wrong, "blockHash", "an immortal era with the hash of a block")
    wallet.refuses_transaction(good | {"Tip": "0x01"}, "Tip", "an unknown member")
    raw = {"address": wallet.address, "data": "0x1234", "type": "payload"}
    wrongs = (("data", "0x123"), ("data", "0x"), ("data", 7), ("type", "bytes"), ("address", stranger.address))
    for field, wrong in wrongs:
        wallet.refuses_transaction(raw | {field: wrong}, field, f"a raw {field} {wrong!r}")
    call = {"method": "polkadot_signTransaction", "params": {"address": stranger.address, "transactionPayload": good}}
    wallet.refuses("rpc", call, "params.address", "polkadot_signTransaction for another wallet")


def main():
    check, javascript = Check("polkadot", "py-sr25519-bindings", "scalecodec"), JavaScript("polkadot.mjs")
    for package in ("@polkadot/util-crypto", "@polkadot/types"):
        check.also(javascript.version(package))
    wallets = create_wallets(Service(), check, "DOT", WALLETS)
    for wallet in wallets:
        check_address(check, javascript, wallet)
    check_messages(check, javascript, wallets)
    check_transactions(check, javascript, wallets)
    check_payloads(check, wallets)
    check_altered(check, javascript, wallets[0])
    check_refusals(check, *wallets[:2])
    javascript.end()
    check.end()


main()
