"""Writes solders.json: python make_solders.py > solders.json (solders 0.29.0 from PyPI)."""
import base64
import json
import random

import solders
from solders.address_lookup_table_account import AddressLookupTableAccount
from solders.hash import Hash
from solders.instruction import AccountMeta, Instruction
from solders.keypair import Keypair
from solders.message import (Message, MessageV0, MessageV1, TransactionConfig,
                             to_bytes_versioned)
from solders.pubkey import Pubkey
from solders.signature import Signature
from solders.transaction import VersionedTransaction

R = random.Random(20261121)


def b64(data):
    return base64.b64encode(bytes(data)).decode()


def pubkey():
    return Pubkey(R.randbytes(32))


def message(number):
    key = Keypair.from_seed(R.randbytes(32))
    text = R.choice(["", "hello", "Zeile\nzwei", "ünïcode 👛 署名", "0x1234"]) + "x" * R.randrange(80)
    signature = key.sign_message(text.encode())
    return {"seed": key.secret().hex(), "address": str(key.pubkey()), "text": text,
            "signature": str(signature), "base64": b64(bytes(signature))}


def instructions(keys, tables):
    others = [key.pubkey() for key in keys] + [pubkey() for _ in range(R.randrange(1, 4))]
    others += [R.choice(list(table.addresses)) for table in tables]
    signers = {key.pubkey() for key in keys}
    for number in range(R.randrange(1, 4)):
        metas = [AccountMeta(key, key in signers, R.random() < 0.5) for key in R.sample(others, R.randrange(1, len(others)))]
        if number == 0:
            metas += [AccountMeta(key.pubkey(), True, R.random() < 0.5) for key in keys]
            metas += [AccountMeta(R.choice(list(table.addresses)), False, True) for table in tables]
        yield Instruction(pubkey(), R.randbytes(R.randrange(60)), metas)


def compiled(kind, keys):
    payer, blockhash = keys[0].pubkey(), Hash(R.randbytes(32))
    tables = []
    if kind == "v0":
        tables = [AddressLookupTableAccount(pubkey(), [pubkey() for _ in range(4)]) for _ in range(R.randrange(3))]
    steps = list(instructions(keys, tables))
    if kind == "legacy":
        return Message.new_with_blockhash(steps, payer, blockhash)
    if kind == "v0":
        return MessageV0.try_compile(payer, steps, tables, blockhash)
    options = {"priority_fee": R.randrange(2**60), "compute_unit_limit": R.randrange(1_400_000),
               "loaded_accounts_data_size_limit": R.randrange(2**26), "heap_size": 32768 + 1024 * R.randrange(200)}
    chosen = {name: value for name, value in options.items() if R.random() < 0.5}
    return MessageV1.try_compile(payer, steps, blockhash, TransactionConfig(**chosen))


def transaction(kind):
    keys = [Keypair.from_seed(R.randbytes(32)) for _ in range(R.randrange(1, 4))]
    body = compiled(kind, keys)
    signed_part = to_bytes_versioned(body)
    required = list(body.account_keys)[:body.header.num_required_signatures]
    by_key = {key.pubkey(): key.sign_message(signed_part) for key in keys}
    wallet = R.choice(keys)
    before = [by_key[key] if key != wallet.pubkey() and R.random() < 0.5 else Signature.default() for key in required]
    after = [by_key[key] if key == wallet.pubkey() else held for key, held in zip(required, before)]
    alone = [by_key[key] if key == wallet.pubkey() else Signature.default() for key in required]
    full = VersionedTransaction.populate(body, after)
    full.sanitize()
    return {"kind": kind, "seed": wallet.secret().hex(), "message": b64(signed_part),
            "before": b64(VersionedTransaction.populate(body, before)), "after": b64(full),
            "alone": b64(VersionedTransaction.populate(body, alone)),
            "signature": str(by_key[wallet.pubkey()]), "fully_signed": all(full.verify_with_results())}


def fitting(kind):
    while True:
        made = transaction(kind)
        if len(base64.b64decode(made["after"])) <= (4096 if kind == "v1" else 1232):
            return made


print(json.dumps({
    "made_by": f"solders {solders.__version__} (PyPI), make_solders.py beside this file",
    "messages": [message(number) for number in range(30)],
    "transactions": [fitting(kind) for kind in ("legacy", "v0", "v1") for _ in range(14)],
}, ensure_ascii=False, indent=0))
