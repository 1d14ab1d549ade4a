"""eth-account and ethers recover the signers of our Ethereum signatures, and decode and encode transactions."""

import rlp
from eth_account import Account
from eth_account._utils.legacy_transactions import encode_transaction, serializable_unsigned_transaction_from_dict
from eth_account.messages import encode_defunct, encode_typed_data
from eth_account.typed_transactions import TypedTransaction
from eth_account.typed_transactions.set_code_transaction import Authorization
from eth_keys import KeyAPI
from eth_keys.backends import NativeECCBackend
from eth_utils import is_checksum_address, to_checksum_address
from hexbytes import HexBytes

from javascript import JavaScript
from service import Check, Service, of_night
from wallets import check_common_refusals, check_payloads, create_wallets, each, messages, random_message, shown

WALLETS = of_night(1_000)
RANDOM_MESSAGES = of_night(1_000)
METHOD_MESSAGES = 40
TRANSACTIONS_PER_TYPE = of_night(300)
METHOD_TRANSACTIONS = 40
TYPED_DATA = of_night(300)
AUTHORIZATIONS = of_night(300)

# Half the order of secp256k1: contracts reject a signature with a larger s (EIP-2).
HALF_ORDER = 0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141 // 2

# eth-account uses coincurve, which is the same C library as ours. This is the implementation of eth-keys.
PYTHON_KEYS = KeyAPI(NativeECCBackend())

# ethers stores the nonce in a JavaScript number, and does not decode a transaction with a larger one.
MAX_SAFE_INTEGER = 2**53 - 1

# The end of s in a signature r, s, v.
S_ENDS = 63

EIP_55_EXAMPLE = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"


def check_form(check, text, what):
    """The 65 bytes of a signature, after a check of its form."""
    signature = bytes.fromhex(text.removeprefix("0x"))
    check.that(text.startswith("0x") and len(signature) == 65, f"65 bytes of 0x hex for {what}")
    check.that(signature[64] in (27, 28), f"v is 27 or 28 for {what}")
    check.that(int.from_bytes(signature[32:64], "big") <= HALF_ORDER, f"s is in the lower half for {what}")
    return signature


def check_addresses(check, ethers, wallets):
    def examine(wallet, _):
        check.that(is_checksum_address(wallet.address), "the address is in EIP-55 form")
        read = ethers.call("address", address=wallet.address)
        as_ours = read == {"is_valid": True, "checksum": wallet.address}
        check.that(as_ours, f"ethers writes {wallet.address} as we do: {read}")

    each(check, "address", wallets, examine)


def under_keccak(signable):
    """The bytes that eth-account hashes (EIP-191)."""
    return b"\x19" + signable.version + signable.header + signable.body


def check_message(check, ethers, wallet, answer, data):
    text, signable = answer["signature"], encode_defunct(primitive=data)
    signature = check_form(check, text, shown(data))
    wallet.signed_over(answer, under_keccak(signable))
    signer = Account.recover_message(signable, signature=signature)
    check.that(signer == wallet.address, f"the wallet signed {shown(data)}")
    signer = ethers.call("message", data=data, signature=text)
    check.that(signer == wallet.address, f"the wallet signed {shown(data)}, says ethers")


def check_messages(check, ethers, wallets):
    """At least one of each wallet."""

    def by_call(case, _):
        number, (request, data) = case
        wallet = wallets[number % WALLETS]
        check_message(check, ethers, wallet, wallet.sign_message(**request), data)

    def by_method(encoding, rng):
        request, data = random_message(rng, encoding)
        wallet = rng.choice(wallets)
        answer = wallet.rpc(rng.choice(["personal_sign", "eth_personalSign", "signMessage"]), **request)
        check.that(answer["encoding"] == "hex", "personal_sign says that it answers hex")
        check_message(check, ethers, wallet, answer, data)

    each(check, "message", enumerate(messages(check.random, RANDOM_MESSAGES)), by_call)
    each(check, "message by rpc", [None, "utf-8", "hex"] * (METHOD_MESSAGES // 3), by_method)


def authorization_as_json_rpc(signed):
    """A transaction of eth-account in the notation of JSON-RPC."""
    numbers = {"chainId": signed.chain_id, "nonce": signed.nonce, "yParity": signed.y_parity}
    numbers |= {"r": signed.r, "s": signed.s}
    return {name: hex(value) for name, value in numbers.items()} | {"address": to_checksum_address(signed.address)}


class Maker:
    """Random transactions and typed data."""

    def __init__(self, rng):
        self._random = rng

    def hex(self, length):
        return "0x" + self._random.randbytes(length).hex()

    def number(self, bits):
        """A number of random length up to the given bits; zeros and ones are frequent."""
        return self._random.getrandbits(self._random.randint(0, bits))

    def address(self):
        return to_checksum_address(self._random.randbytes(20))

    def access_list(self):
        entries = range(self._random.randint(0, 3))
        return [
            {"address": self.address(), "storageKeys": [self.hex(32) for _ in range(self._random.randint(0, 3))]}
            for _ in entries
        ]

    def authorization(self, chain):
        """An authorization signed by eth-account, for one chain or for all."""
        chain = self._random.choice([0, chain])
        fields = {"chainId": chain, "address": self.address(), "nonce": self.number(60)}
        return Account.from_key(self._random.randbytes(32)).sign_authorization(fields)

    def transaction(self, kind):
        """Fields for eth-account, and the equivalent request."""
        fields = {
            "chainId": 1 + self.number(50),
            "nonce": self.number(60),
            "gas": self.number(40),
            "value": self.number(256),
            "data": self.hex(self._random.choice([0, 0, 4, 36, 68, self._random.randrange(600)])),
        }
        if kind > 2 or self._random.random() < 0.8:
            fields["to"] = self.address()
        elif fields["data"] == "0x":
            fields["data"] = "0xfe"  # A creation has code.
        if kind < 2:
            fields["gasPrice"] = self.number(100)
        else:
            fields["maxFeePerGas"] = self.number(100)
            fields["maxPriorityFeePerGas"] = self._random.randint(0, fields["maxFeePerGas"])
        if kind > 0:
            fields |= {"type": kind, "accessList": self.access_list()}
        if kind == 3:
            hashes = [f"0x01{self.hex(31)[2:]}" for _ in range(self._random.randint(1, 6))]
            fields |= {"maxFeePerBlobGas": self.number(100), "blobVersionedHashes": hashes}
        request = {name: hex(value) if isinstance(value, int) else value for name, value in fields.items()}
        if kind == 4:
            signed = [self.authorization(fields["chainId"]) for _ in range(self._random.randint(1, 2))]
            fields["authorizationList"] = signed
            request["authorizationList"] = [authorization_as_json_rpc(authorization) for authorization in signed]
        self._vary(request)
        # In eth-account, an empty recipient creates a contract.
        fields.setdefault("to", b"")
        return fields, request

    def _vary(self, request):
        """Equivalent names and forms."""
        if self._random.random() < 0.5:
            request.pop("type", None)
        for name, alias in (("data", "input"), ("gas", "gasLimit")):
            if self._random.random() < 0.3:
                request[alias] = request.pop(name)
        if "to" in request and self._random.random() < 0.3:
            request["to"] = request["to"].lower()

    def _atom(self):
        bits, length = 8 * self._random.randint(1, 32), self._random.randint(1, 32)
        text = "".join(self._random.choices('ab é世😀"\\', k=self._random.randint(0, 12)))
        return self._random.choice(
            [
                ("bool", self._random.random() < 0.5),
                ("address", self.address()),
                ("string", text),
                ("bytes", self.hex(self._random.randint(0, 40))),
                (f"bytes{length}", self.hex(length)),
                (f"uint{bits}", str(self._random.getrandbits(bits))),
                (f"int{bits}", str(self._random.getrandbits(bits) - 2 ** (bits - 1))),
            ]
        )

    def _member(self, structures):
        """A type and a value of it: an atom or a structure, possibly in arrays."""
        is_structure = structures and self._random.random() < 0.5
        kind, value = self._random.choice(structures) if is_structure else self._atom()
        for _ in range(self._random.choice([0, 0, 1, 2])):
            copies = self._random.randint(0, 3)
            kind += self._random.choice(["[]", f"[{copies}]" if copies else "[]"])
            value = [value] * copies
        return kind, value

    def typed_data(self):
        """Typed data whose primary type eth-account finds: all other types belong to it."""
        while True:
            made = self._typed_data()
            try:
                encode_typed_data(full_message=made)
            except ValueError:
                continue
            return made

    def _typed_data(self):
        standard = [
            ("name", "string", "Vestry"),
            ("version", "string", "1"),
            ("chainId", "uint256", self._random.randint(1, 2**40)),
            ("verifyingContract", "address", self.address()),
            ("salt", "bytes32", self.hex(32)),
        ]
        used = [entry for entry in standard if self._random.random() < 0.7] or standard[:1]
        types = {"EIP712Domain": [{"name": name, "type": kind} for name, kind, _ in used]}
        structures = []
        for name in self._random.sample(["Zebra", "Ape", "Mule", "Ox", "_Bee"], self._random.randint(1, 3)):
            members = [(f"m{place}", *self._member(structures)) for place in range(self._random.randint(1, 4))]
            types[name] = [{"name": member, "type": kind} for member, kind, _ in members]
            structures.append((name, {member: value for member, _, value in members}))
        primary, value = structures[-1]
        domain = {name: value for name, _, value in used}
        return {"types": types, "primaryType": primary, "domain": domain, "message": value}


def rebuilt(fields, signature):
    """The transaction that eth-account encodes for these fields and this signature. Equal bytes mean equal fields."""
    unsigned = serializable_unsigned_transaction_from_dict(fields)
    r, s = int.from_bytes(signature[:32], "big"), int.from_bytes(signature[32:64], "big")
    parity = signature[64] - 27
    v = parity if "type" in fields else parity + 35 + 2 * fields["chainId"]
    return bytes(encode_transaction(unsigned, vrs=(v, r, s)))


def as_json_rpc(fields):
    """The fields for eth-account in the notation of JSON-RPC."""
    written = {name: hex(value) if isinstance(value, int) else value for name, value in fields.items()}
    written["to"] = written["to"] or None
    written.setdefault("type", "0x0")
    if signed := written.get("authorizationList"):
        written["authorizationList"] = [authorization_as_json_rpc(authorization) for authorization in signed]
    return written


def check_by_ethers(check, ethers, wallet, kind, answer, fields):
    """ethers decodes the requested content and re-encodes the same bytes."""
    if fields["nonce"] > MAX_SAFE_INTEGER:
        return
    wire = answer["signed_transaction"]
    read = ethers.call("transaction", wire=wire)
    wallet.signed_over(answer, bytes(HexBytes(read["unsigned"])))
    check.that(read["signer"] == wallet.address, f"the wallet signed type {kind}, says ethers")
    check.that(read["serialized"] == wire, f"ethers sends the same bytes of type {kind}")
    asked = as_json_rpc(fields)
    check.that(asked.keys() <= read["fields"].keys(), f"ethers reads every field of type {kind}")
    for name, value in read["fields"].items():
        check.that(value == asked.get(name), f"ethers reads the {name} of type {kind} that was asked for")


def check_transactions(check, ethers, wallets):
    def by_call(kind, rng):
        fields, request = Maker(rng).transaction(kind)
        wallet = rng.choice(wallets)
        if rng.random() < 0.2:
            request["from"] = wallet.address
        answer = wallet.sign_transaction(request)
        signature = check_form(check, answer["signature"], f"a transaction of type {kind}")
        wire = HexBytes(answer["signed_transaction"])
        check.that(bytes(wire) == rebuilt(fields, signature), f"eth-account sends the same bytes of type {kind}")
        check.that(Account.recover_transaction(wire) == wallet.address, f"the wallet signed type {kind}")
        if kind:
            check_fields(check, kind, TypedTransaction.from_bytes(wire).as_dict(), fields)
        check_by_ethers(check, ethers, wallet, kind, answer, fields)

    def by_method(kind, rng):
        fields, request = Maker(rng).transaction(kind)
        wallet = rng.choice(wallets)
        answer = wallet.rpc("eth_signTransaction", transaction=request)
        wire = HexBytes(answer["signed_transaction"])
        check.that(answer["encoding"] == "rlp", "eth_signTransaction says that it answers RLP")
        check.that(Account.recover_transaction(wire) == wallet.address, f"the wallet signed type {kind} by rpc")
        if kind:
            check_fields(check, kind, TypedTransaction.from_bytes(wire).as_dict(), fields)
        check_by_ethers(check, ethers, wallet, kind, answer, fields)

    for kind in range(5):
        each(check, f"type {kind}", [kind] * TRANSACTIONS_PER_TYPE, by_call)
    each(check, "transaction by rpc", [number % 5 for number in range(METHOD_TRANSACTIONS)], by_method)


def check_fields(check, kind, read, asked):
    """The decoded transaction has the requested numbers and bytes."""
    fees = ("gasPrice", "maxFeePerGas", "maxPriorityFeePerGas", "maxFeePerBlobGas")
    for name in ("chainId", "nonce", "gas", "value", *fees):
        check.that(read.get(name) == asked.get(name), f"{name} of type {kind} is as requested")
    for name in ("data", "to"):
        check.that(HexBytes(read[name]) == HexBytes(asked[name]), f"{name} of type {kind} is as requested")


def with_numbers(value):
    """A message with integers as JSON numbers. Its strings do not consist of digits."""
    if isinstance(value, dict):
        return {name: with_numbers(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [with_numbers(inner) for inner in value]
    is_integer = isinstance(value, str) and value.removeprefix("-").isdecimal()
    return int(value) if is_integer else value


def check_typed_data(check, ethers, wallets):
    def examine(_, rng):
        full = Maker(rng).typed_data()
        wallet = rng.choice(wallets)
        # JavaScript numbers do not keep all digits, so ethers gets strings.
        written = full | {"message": with_numbers(full["message"])} if rng.random() < 0.5 else full
        answer = wallet.rpc("eth_signTypedData_v4", typed_data=written)
        signature = check_form(check, answer["signature"], "typed data")
        signable = encode_typed_data(full_message=written)
        wallet.signed_over(answer, under_keccak(signable))
        signer = Account.recover_message(signable, signature=signature)
        check.that(signer == wallet.address, "the wallet signed the typed data")
        read = ethers.call("typed_data", typed_data=full, signature=answer["signature"])
        check.that(read["signer"] == wallet.address, "the wallet signed the typed data, says ethers")
        check.that(read["primary_type"] == full["primaryType"], "ethers finds the primary type")

    each(check, "typed data", range(TYPED_DATA), examine)


def check_authorizations(check, ethers, wallets):
    def examine(_, rng):
        make, wallet = Maker(rng), rng.choice(wallets)
        chain, delegate, nonce = 1 + make.number(50), make.address(), make.number(60)
        params = {"contractAddress": delegate, "chainId": hex(chain), "nonce": hex(nonce)}
        answer = wallet.rpc("eth_sign7702Authorization", **params)
        made = answer["authorization"]
        repeated = (int(made["chainId"], 16), made["address"], int(made["nonce"], 16))
        check.that(repeated == (chain, delegate, nonce), "the authorization is the one asked for")
        authorization = Authorization(chain, HexBytes(delegate), nonce)
        wallet.signed_over(answer, bytes([authorization.magic]) + rlp.encode(authorization))
        digest = authorization.hash()
        vrs = tuple(int(made[name], 16) for name in ("yParity", "r", "s"))
        signer = PYTHON_KEYS.ecdsa_recover(digest, PYTHON_KEYS.Signature(vrs=vrs)).to_checksum_address()
        check.that(signer == wallet.address, "the wallet signed the authorization")
        signer = ethers.call("authorization", authorization=made)
        check.that(signer == wallet.address, "the wallet signed the authorization, says ethers")

    each(check, "authorization", range(AUTHORIZATIONS), examine)


def check_altered(check, ethers, wallet):
    """With one bit changed, ethers throws or recovers another signer."""

    def signer(call, asked):
        try:
            found = ethers.call(call, **asked)
        except ValueError:
            return None
        return found["signer"] if isinstance(found, dict) else found

    def tells_apart(call, right, wrong):
        found = signer(call, right), signer(call, right | wrong)
        check.that(found[0] == wallet.address != found[1], f"ethers tells a changed {call} from the right one")

    signature = wallet.sign_message(message="hi")["signature"]
    right = {"data": b"hi", "signature": signature}
    tells_apart("message", right, {"data": b"hh"})
    tells_apart("message", right, {"signature": flipped(signature, S_ENDS)})
    for kind in range(5):
        _, request = Maker(check.random).transaction(kind)
        wire = wallet.sign_transaction(request | {"nonce": "0x7"})["signed_transaction"]
        tells_apart("transaction", {"wire": wire}, {"wire": flipped(wire, -1)})
    full = Maker(check.random).typed_data()
    signature = wallet.rpc("eth_signTypedData_v4", typed_data=full)["signature"]
    right = {"typed_data": full, "signature": signature}
    tells_apart("typed_data", right, {"signature": flipped(signature, S_ENDS)})
    params = {"contractAddress": wallet.address, "chainId": "0x1", "nonce": "0x7"}
    made = wallet.rpc("eth_sign7702Authorization", **params)["authorization"]
    tells_apart("authorization", {"authorization": made}, {"authorization": made | {"nonce": "0x6"}})
    wrong_case = EIP_55_EXAMPLE[:-1] + EIP_55_EXAMPLE[-1].swapcase()
    is_valid = [ethers.call("address", address=address)["is_valid"] for address in (EIP_55_EXAMPLE, wrong_case)]
    check.that(is_valid == [True, False], "ethers tells an address with a wrong checksum from the right one")


def flipped(text, place):
    """0x hex with the lowest bit of one byte changed."""
    data = bytearray.fromhex(text.removeprefix("0x"))
    data[place] ^= 1
    return f"0x{data.hex()}"


def check_refusals(check, wallet, stranger):
    _, good = Maker(check.random).transaction(2)
    good = {"type": "0x2", "to": stranger.address, "data": "0x1234"} | {
        name: good[name] for name in ("chainId", "nonce", "maxFeePerGas", "maxPriorityFeePerGas")
    } | {"gas": "0x5208", "value": "0x1"}
    check_common_refusals(wallet, good, "personal_sign")
    wrong_case = stranger.address[:2] + stranger.address[2:].swapcase()
    for field, wrong, why in [
        ("to", stranger.address[:-1], "one digit short"),
        ("to", stranger.address + "00", "one byte longer"),
        ("to", wrong_case, "with a wrong checksum"),
        ("from", stranger.address, "of another wallet"),
        ("data", "0x123", "of an odd number of digits"),
        ("data", "1234", "without 0x"),
        ("value", "0x", "without digits"),
        ("value", 1, "as a JSON number"),
        ("value", "1", "as a decimal number"),
        ("value", "0x1" + "0" * 64, "of more than 256 bits"),
        ("nonce", "0xffffffffffffffff", "that is never reached"),
        ("chainId", "0x0", "of no chain"),
        ("maxPriorityFeePerGas", hex(int(good["maxFeePerGas"], 16) + 1), "above the whole fee"),
        ("type", "0x5", "that there is not"),
        ("gasPrice", "0x1", "beside the fees of another type"),
        ("To", stranger.address, "that no transaction has"),
    ]:
        wallet.refuses_transaction(good | {field: wrong}, field, f"a {field} {why}")
    for field in ("chainId", "nonce", "gas", "maxFeePerGas"):
        absent = {name: value for name, value in good.items() if name != field}
        wallet.refuses_transaction(absent, field, f"no {field}")
    empty = {name: value for name, value in good.items() if name not in ("to", "data")}
    wallet.refuses_transaction(empty, "to", "no recipient and no data")
    for method in ("eth_sign", "eth_sendTransaction", "sol_signMessage"):
        wallet.refuses("rpc", {"method": method, "params": {}}, "method", method)


def main():
    check = Check("ethereum", "eth-account", "eth-keys", "coincurve")
    ethers = JavaScript("ethereum.mjs")
    check.also(ethers.version("ethers"))
    wallets = create_wallets(Service(), check, "ethereum", WALLETS)
    check_addresses(check, ethers, wallets)
    check_messages(check, ethers, wallets)
    check_transactions(check, ethers, wallets)
    check_typed_data(check, ethers, wallets)
    check_authorizations(check, ethers, wallets)
    check_payloads(check, wallets)
    check_altered(check, ethers, wallets[0])
    check_refusals(check, *wallets[:2])
    ethers.end()
    check.end()


main()
