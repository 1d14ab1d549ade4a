"""Writes eth-account.json: python eth_account_cases.py COUNT > eth-account.json

COUNT cases of each kind, always the same ones. Needs eth-account 0.14.0 (PyPI). The committed file has COUNT 10.
"""

import json
import random
import sys
from importlib.metadata import version

from eth_account import Account
from eth_account.messages import encode_defunct, encode_typed_data
from eth_utils import keccak, to_checksum_address

count = int(sys.argv[1])
chance = random.Random("vestry ethereum")


def raw(length):
    return chance.randbytes(length)


def text(data):
    return "0x" + data.hex()


def number(bits):
    """A number of random length up to the given bits; zeros and ones are frequent."""
    return chance.getrandbits(chance.randint(0, bits))


def address():
    return to_checksum_address(raw(20))


def account():
    return Account.from_key(raw(32))


def access_list():
    entries = range(chance.randint(0, 2))
    keys = lambda: [text(raw(32)) for _ in range(chance.randint(0, 2))]
    return [{"address": address(), "storageKeys": keys()} for _ in entries]


def authorization(chain):
    """For every chain, or for that of the transaction: others would be skipped (EIP-7702)."""
    unsigned = {"chainId": chain if number(40) % 2 else 0, "address": address(), "nonce": number(60)}
    signed = account().sign_authorization(unsigned)
    return signed, {
        "chainId": hex(signed.chain_id),
        "address": text(signed.address),
        "nonce": hex(signed.nonce),
        "yParity": hex(signed.y_parity),
        "r": hex(signed.r),
        "s": hex(signed.s),
    }


def transaction(kind):
    fields = {
        "chainId": 1 + number(50),
        "nonce": number(60),
        "gas": number(40),
        "value": number(256),
        "data": text(raw(chance.choice([0, 0, 4, 36, 60]))),
    }
    if kind > 2 or chance.random() < 0.8:
        fields["to"] = address()
    elif fields["data"] == "0x":
        # A creation has code.
        fields["data"] = "0xfe"
    if kind < 2:
        fields["gasPrice"] = number(100)
    else:
        fields["maxFeePerGas"] = number(100)
        fields["maxPriorityFeePerGas"] = chance.randint(0, fields["maxFeePerGas"])
    if kind > 0:
        fields["type"] = kind
        fields["accessList"] = access_list()
    if kind == 3:
        fields["maxFeePerBlobGas"] = number(100)
        fields["blobVersionedHashes"] = [text(b"\1" + raw(31)) for _ in range(chance.randint(1, 6))]
    ours = {name: hex(value) if isinstance(value, int) else value for name, value in fields.items()}
    if kind == 4:
        signed, written = zip(*[authorization(fields["chainId"]) for _ in range(chance.randint(1, 2))])
        fields["authorizationList"] = list(signed)
        ours["authorizationList"] = list(written)
    if chance.random() < 0.5:
        ours.pop("type", None)
    # In eth-account a contract is created by an empty recipient.
    fields.setdefault("to", b"")
    signer = account()
    raw_transaction = signer.sign_transaction(fields).raw_transaction
    return {"key": text(signer.key), "transaction": ours, "hash": text(keccak(raw_transaction))}


def message():
    signer = account()
    data = raw(chance.randint(0, 120))
    signed = signer.sign_message(encode_defunct(primitive=data))
    return {"key": text(signer.key), "message": text(data), "signature": text(signed.signature)}


def atom():
    bits = 8 * chance.randint(1, 32)
    length = chance.randint(1, 32)
    return chance.choice(
        [
            ("bool", chance.random() < 0.5),
            ("address", address()),
            ("string", "".join(chance.choices("ab \u00e9\u4e16\U0001f600\"\\", k=chance.randint(0, 12)))),
            ("bytes", text(raw(chance.randint(0, 40)))),
            (f"bytes{length}", text(raw(length))),
            (f"uint{bits}", str(chance.getrandbits(bits))),
            (f"int{bits}", str(chance.getrandbits(bits) - 2 ** (bits - 1))),
        ]
    )


def member(structures):
    """A type and a value of it: an atom or a structure, maybe in arrays."""
    kind, value = chance.choice(structures) if structures and chance.random() < 0.5 else atom()
    for _ in range(chance.choice([0, 0, 1, 2])):
        copies = chance.randint(0, 3)
        kind += chance.choice(["[]", f"[{copies}]" if copies else "[]"])
        value = [value] * copies
    return kind, value


def typed_data():
    """eth-account finds the primary type itself, and only if all others belong to it."""
    while True:
        try:
            return typed_data_of_some_types()
        except ValueError:
            pass


def typed_data_of_some_types():
    standard = [
        ("name", "string", "Vestry"),
        ("version", "string", "1"),
        ("chainId", "uint256", chance.randint(1, 2**40)),
        ("verifyingContract", "address", address()),
        ("salt", "bytes32", text(raw(32))),
    ]
    used = [entry for entry in standard if chance.random() < 0.7] or standard[:1]
    types = {"EIP712Domain": [{"name": name, "type": kind} for name, kind, _ in used]}
    structures = []
    for name in chance.sample(["Zebra", "Ape", "Mule", "Ox", "_Bee", "Cow9"], chance.randint(1, 4)):
        members = [(f"m{place}", *member(structures)) for place in range(chance.randint(1, 4))]
        types[name] = [{"name": member, "type": kind} for member, kind, _ in members]
        structures.append((name, {member: value for member, _, value in members}))
    primary, value = structures[-1]
    full = {
        "types": types,
        "primaryType": primary,
        "domain": {name: value for name, _, value in used},
        "message": value,
    }
    signer = account()
    signed = signer.sign_message(encode_typed_data(full_message=full))
    return {"key": text(signer.key), "typed_data": full, "signature": text(signed.signature)}


def sole_authorization():
    signer = account()
    fields = {"chainId": 1 + number(50), "address": address(), "nonce": number(60)}
    signed = signer.sign_authorization(fields)
    params = {
        "contractAddress": fields["address"],
        "chainId": hex(fields["chainId"]),
        "nonce": hex(fields["nonce"]),
    }
    answer = {
        "chainId": params["chainId"],
        "address": fields["address"],
        "nonce": params["nonce"],
        "yParity": hex(signed.y_parity),
        "r": hex(signed.r),
        "s": hex(signed.s),
    }
    return {"key": text(signer.key), "params": params, "authorization": answer}


cases = {
    "made_by": f"eth-account {version('eth-account')} (PyPI), eth_account_cases.py {count}",
    "transactions": [transaction(kind) for kind in range(5) for _ in range(count)],
    "messages": [message() for _ in range(count)],
    "typed_data": [typed_data() for _ in range(2 * count)],
    "authorizations": [sole_authorization() for _ in range(count)],
}
print(json.dumps(cases, separators=(",", ":")))
