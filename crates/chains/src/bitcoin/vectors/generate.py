"""Makes embit.json: addresses by bip-utils 2.12.3, PSBTs of version 0 and 2 by embit 0.8.0.

pip install embit==0.8.0 bip-utils==2.12.3; python generate.py > embit.json
"""
import base64
import hashlib
import json
import random

from bip_utils import P2WPKHAddrEncoder
from embit import ec, script
from embit.ec import PrivateKey
from embit.psbt import PSBT, DerivationPath
from embit.transaction import Transaction, TransactionInput, TransactionOutput

# Nonces by RFC 6979 as they come, not drawn again until r is short.
PrivateKey.sign.__defaults__ = (False,)


def key(number):
    return PrivateKey(hashlib.sha256(b"vestry bitcoin %d" % number).digest())


def addresses():
    for number in range(60):
        public = key(number).get_public_key().sec()
        yield [
            key(number).secret.hex(),
            public.hex(),
            P2WPKHAddrEncoder.EncodeKey(public, hrp="bc"),
            P2WPKHAddrEncoder.EncodeKey(public, hrp="tb"),
        ]


def funding(rng, script_pubkey, value):
    """A transaction whose output 1 is to be spent."""
    spends = [TransactionInput(rng.randbytes(32), rng.randrange(4), sequence=0xFFFFFFFF)]
    pays = [TransactionOutput(1000, script_pubkey), TransactionOutput(value, script_pubkey)]
    return Transaction(version=2, vin=spends, vout=pays, locktime=0)


def psbts():
    rng = random.Random(84)
    for number in range(40):
        mine, theirs = key(number), key(1000 + number)
        public = mine.get_public_key()
        kinds = [rng.choice(["wpkh", "wpkh", "nested", "pkh", "wsh", "tr", "other"]) for _ in range(rng.randint(1, 4))]
        if all(kind == "other" for kind in kinds):
            kinds[0] = "wpkh"
        vin, scopes = [], []
        for kind in kinds:
            inner, redeem = None, None
            if kind == "wpkh":
                spk = script.p2wpkh(public)
            elif kind == "nested":
                redeem = script.p2wpkh(public)
                spk = script.p2sh(redeem)
            elif kind == "pkh":
                spk = script.p2pkh(public)
            elif kind == "wsh":
                inner = script.multisig(2, sorted([public, theirs.get_public_key()], key=lambda k: k.sec()))
                spk = script.p2wsh(inner)
            elif kind == "tr":
                spk = script.p2tr(public)
            else:
                spk = script.p2wpkh(theirs.get_public_key())
            whole = funding(rng, spk, rng.randint(50_000, 5_000_000))
            vin.append(TransactionInput(whole.txid(), 1, sequence=rng.choice([0xFFFFFFFF, 0xFFFFFFFD, 5])))
            scopes.append((kind, whole, redeem, inner))
        total = sum(whole.vout[1].value for _, whole, _, _ in scopes)
        vout = [TransactionOutput(total - 3000 - 500, script.p2wpkh(theirs.get_public_key())), TransactionOutput(500, script.p2tr(public))]
        unsigned = Transaction(version=2, vin=vin, vout=vout, locktime=rng.choice([0, 850_000]))
        version = rng.choice([0, 2])
        psbt = PSBT(unsigned, version=2 if version == 2 else None)
        for scope, (kind, whole, redeem, inner) in zip(psbt.inputs, scopes):
            if kind == "pkh" or rng.random() < 0.5:
                scope.non_witness_utxo = whole
            if kind != "pkh" and (kind == "tr" or scope.non_witness_utxo is None or rng.random() < 0.5):
                scope.witness_utxo = whole.vout[1]
            scope.redeem_script = redeem
            scope.witness_script = inner
            path = DerivationPath(bytes(4), [0, number])
            if kind == "tr":
                scope.taproot_internal_key = public
            elif kind != "other":
                scope.bip32_derivations[public] = path
            scope.unknown = {b"\xe7kept": b"as it is"}
        before = psbt.to_string()
        count = psbt.sign_with(mine)
        signatures = []
        for index, scope in enumerate(psbt.inputs):
            if public in scope.partial_sigs:
                signatures.append([index, scope.partial_sigs[public].hex()])
            # Taproot signatures of embit are final at once; they are verified, not compared.
            if kinds[index] == "tr":
                witness = scope.final_scriptwitness
                signatures.append([index, witness.items[0].hex() if witness else scope.taproot_key_sig.hex() if hasattr(scope, "taproot_key_sig") and scope.taproot_key_sig else None])
        assert count == len(signatures), (count, kinds, signatures)
        yield [mine.secret.hex(), version, ",".join(kinds), before, signatures]


print(json.dumps({
    "made by": "generate.py beside this file: embit 0.8.0 (psbts: secret, version, kinds of inputs, PSBT, signatures with the number of their input), bip-utils 2.12.3 (addresses: secret, public key, live, test)",
    "addresses": list(addresses()),
    "psbts": list(psbts()),
}, separators=(",", ":")).replace("],[", "],\n["))
