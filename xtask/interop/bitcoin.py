"""embit verifies signatures of our Bitcoin wallets: messages of BIP-322 and BIP-137, PSBTs of version 0 and 2. In JavaScript, bip322-js
and bitcoinjs-lib do the same."""

import base64
import hashlib
import io
import itertools
from concurrent.futures import ThreadPoolExecutor

from embit import compact, ec, script
from embit.finalizer import finalize_psbt
from embit.hashes import tagged_hash
from embit.networks import NETWORKS
from embit.psbt import PSBT, DerivationPath
from embit.script import Script, Witness
from embit.transaction import SIGHASH, Transaction, TransactionInput, TransactionOutput
from embit.util import secp256k1

from javascript import JavaScript
from service import Check, Service, of_night
from wallets import (
    AT_A_TIME,
    check_broken,
    check_common_refusals,
    check_payloads,
    create_wallets,
    decoded,
    each,
    encoded,
    messages,
    random_message,
    shown,
)

WALLETS = of_night(1_000)
RANDOM_MESSAGES = of_night(1_000)
METHOD_MESSAGES = 60
PSBTS_PER_KIND = of_night(300)
METHOD_PSBTS = 60
SIGHASHES = 100
MUTATED = 100

# The version of the PSBT, and whether it is finalized.
KINDS = [(0, False), (0, True), (2, False), (2, True)]
# Kinds of inputs of the wallet; the last one needs a second signer.
OURS = ("wpkh", "nested", "pkh", "tr", "wsh")
# The field of a taproot signature (BIP-371), which this version of embit keeps as an unknown field.
TAP_KEY_SIG = b"\x13"
# The fields of PSBT 2 with the required lock time or height of an input (BIP-370), also unknown to embit.
LOCK_TIMES = (b"\x11", b"\x12")
# Half the order of secp256k1: nodes do not relay a signature with a larger s.
HALF_ORDER = 0x7FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF5D576E7357A4501DDFE92F46681B20A0
BIP137_HEADERS = {"bip137": 39, "electrum": 31}
FORMATS = [None, "bip322", "bip322-unprefixed", *BIP137_HEADERS]
SIGHASH_NAMES = {"ALL": SIGHASH.ALL, "NONE": SIGHASH.NONE, "SINGLE": SIGHASH.SINGLE}


class Owner:
    """A wallet and its public key, taken from its first BIP-322 signature."""

    def __init__(self, check, javascript, wallet):
        self.wallet, self.address = wallet, wallet.address
        self.script = script.address_to_scriptpubkey(wallet.address)
        witness = witness_of(wallet.sign_message(message="which key?")["signature_unprefixed"])
        self.public_key = ec.PublicKey.parse(witness.items[1])
        p2wpkh = script.p2wpkh(self.public_key)
        check.that(p2wpkh == self.script, "the address is that of the public key")
        check.that(p2wpkh.address(NETWORKS["test"]) == wallet.address, "embit writes the same address for testnets")
        found = javascript.call("address", address=wallet.address, public_key=self.public_key.sec())
        same = found == {"address": wallet.address, "script": p2wpkh.data.hex()}
        check.that(same, "bitcoinjs-lib writes the same address for testnets, and reads the same script in it")


def witness_of(text):
    data = base64.b64decode(text, validate=True)
    stream = io.BytesIO(data)
    witness = Witness.read_from(stream)
    if stream.tell() != len(data):
        raise ValueError("bytes behind the witness")
    return witness


def bip322_digest(pays_to, data):
    """The digest of a "simple" signature (BIP-322): of a transaction that spends one that is never sent."""
    digest = tagged_hash("BIP0322-signed-message", data)
    challenge = TransactionInput(bytes(32), 0xFFFFFFFF, Script(b"\x00\x20" + digest), sequence=0)
    to_spend = Transaction(version=0, vin=[challenge], vout=[TransactionOutput(0, pays_to)], locktime=0)
    spends = TransactionInput(to_spend.txid(), 0, sequence=0)
    to_sign = Transaction(version=0, vin=[spends], vout=[TransactionOutput(0, Script(b"\x6a"))], locktime=0)
    return to_sign.sighash_segwit(0, script.p2pkh_from_p2wpkh(pays_to), 0)


def ecdsa_holds(public_key, signature, digest, sighash=SIGHASH.ALL):
    """Whether an ECDSA signature of a transaction is valid, low and of this hash type."""
    parsed = ec.Signature.parse(signature[:-1])
    s = int.from_bytes(secp256k1.ecdsa_signature_serialize_compact(parsed._sig)[32:], "big")
    return signature[-1] == sighash and s <= HALF_ORDER and public_key.verify(parsed, digest)


def check_bip322(check, owner, answer, text, data):
    witness = witness_of(text)
    check.that(len(witness.items) == 2, f"signature and key for {shown(data)}")
    signature, key = witness.items
    check.that(key == owner.public_key.sec(), f"the key of {shown(data)} is the wallet's")
    digest = bip322_digest(owner.script, data)
    owner.wallet.signed_over(answer, digest)
    good = ecdsa_holds(owner.public_key, signature, digest)
    check.that(good, f"the wallet signed {shown(data)}")


def check_bip137(check, owner, answer, data, first):
    """The key is recovered from the 65 bytes."""
    signature = base64.b64decode(answer["signature"], validate=True)
    number = signature[0] - first
    check.that(len(signature) == 65 and number in range(4), f"65 bytes that begin with {first} to {first + 3}")
    prefixed = b"\x18Bitcoin Signed Message:\n" + compact.to_bytes(len(data)) + data
    digest = hashlib.sha256(hashlib.sha256(prefixed).digest()).digest()
    owner.wallet.signed_over(answer, digest)
    recoverable = secp256k1.ecdsa_recoverable_signature_parse_compact(signature[1:], number)
    recovered = secp256k1.ec_pubkey_serialize(secp256k1.ecdsa_recover(recoverable, digest))
    check.that(recovered == owner.public_key.sec(), f"the wallet signed {shown(data)} by BIP-137")


def bip322_js_holds(javascript, owner, answer, request, data, form):
    """The verdict of bip322-js, which does not support the prefix of BIP-322 2.0.0."""
    is_text = request.get("encoding", "utf-8") == "utf-8"
    message = {"text": request["message"]} if is_text else {"data": data}
    signature = answer.get("signature_unprefixed", answer["signature"])
    # In strict mode, the first of the 65 bytes must match the address type, which Electrum's does not.
    asked = {"address": owner.address, "signature": signature, "is_strict": form != "electrum"}
    return javascript.call("message", **asked, **message)


def check_message(check, javascript, owner, answer, request, data, form):
    check.that(answer["encoding"] == "base64", "a message is answered in base64")
    good = bip322_js_holds(javascript, owner, answer, request, data, form)
    check.that(good, f"bip322-js verifies {shown(data)} as {form}")
    if form in BIP137_HEADERS:
        check_bip137(check, owner, answer, data, BIP137_HEADERS[form])
    elif form == "bip322-unprefixed":
        check_bip322(check, owner, answer, answer["signature"], data)
    else:
        check.that(answer["signature"] == "smp" + answer["signature_unprefixed"], "the prefix of BIP-322 2.0.0")
        check_bip322(check, owner, answer, answer["signature_unprefixed"], data)


def check_messages(check, javascript, owners):
    def signed(call, owner, rng, request, data):
        form = rng.choice(FORMATS)
        if form:
            request = request | {"format": form}
        check_message(check, javascript, owner, call(owner.wallet, request), request, data, form)

    def by_call(case, rng):
        number, message = case
        # The wallets take turns.
        owner = owners[number % len(owners)]
        signed(lambda wallet, request: wallet.sign_message(**request), owner, rng, *message)

    def by_method(encoding, rng):
        method = rng.choice(["btc_signMessage", "signMessage"])
        owner, message = rng.choice(owners), random_message(rng, encoding)
        signed(lambda wallet, request: wallet.rpc(method, **request), owner, rng, *message)

    each(check, "message", enumerate(messages(check.random, RANDOM_MESSAGES)), by_call)
    encodings = [None, "utf-8", "hex", "base64", "base58"]
    each(check, "message by rpc", encodings * (METHOD_MESSAGES // len(encodings)), by_method)


class Spending:
    """A random PSBT with inputs of the wallet and of another party, who may have signed theirs."""

    def __init__(self, rng, owner, version, ours=OURS):
        self._random, self.owner, self.version = rng, owner, version
        self._other = ec.PrivateKey(rng.randbytes(32))
        self.kinds = [rng.choice([*ours, "other"]) for _ in range(rng.randint(1, 5))]
        if all(kind == "other" for kind in self.kinds):
            self.kinds[0] = rng.choice(ours)
        self.psbt = self._made()
        self.other_signed = rng.random() < 0.7 and self.psbt.sign_with(self._other) >= 0

    def ours(self):
        """The numbers of the wallet's inputs."""
        return [index for index, kind in enumerate(self.kinds) if kind != "other"]

    def is_complete(self):
        """Whether our signatures are the last ones, and no script needs a special finalizer."""
        return "wsh" not in self.kinds and ("other" not in self.kinds or self.other_signed)

    def _output(self, kind):
        """The output script, and the scripts that it commits to."""
        mine, theirs = self.owner.public_key, self._other.get_public_key()
        if kind == "nested":
            redeem = script.p2wpkh(mine)
            return script.p2sh(redeem), redeem, None
        if kind == "wsh":
            witness = script.multisig(2, sorted([mine, theirs], key=lambda key: key.sec()))
            return script.p2wsh(witness), None, witness
        plain = {"wpkh": script.p2wpkh, "pkh": script.p2pkh, "tr": script.p2tr, "other": script.p2wpkh}
        return plain[kind](theirs if kind == "other" else mine), None, None

    def _made(self):
        rng, theirs = self._random, self._other.get_public_key()
        outputs = [self._output(kind) for kind in self.kinds]
        wholes = [self.funding(pays_to) for pays_to, _, _ in outputs]
        sequences = [rng.choice([0xFFFFFFFF, 0xFFFFFFFD, 5]) for _ in wholes]
        vin = [TransactionInput(whole.txid(), 1, sequence=one) for whole, one in zip(wholes, sequences)]
        total = sum(whole.vout[1].value for whole in wholes)
        vout = [
            TransactionOutput(total - 3_500, script.p2wpkh(theirs)),
            TransactionOutput(500, script.p2tr(self.owner.public_key)),
        ]
        unsigned = Transaction(version=2, vin=vin, vout=vout, locktime=rng.choice([0, 850_000]))
        psbt = PSBT(unsigned, version=2 if self.version == 2 else None)
        for scope, kind, whole, (_, redeem, witness) in zip(psbt.inputs, self.kinds, wholes, outputs):
            self._fill(scope, kind, whole)
            scope.redeem_script, scope.witness_script = redeem, witness
        return psbt

    def funding(self, pays_to):
        """A transaction whose output 1 is spent."""
        rng = self._random
        spends = [TransactionInput(rng.randbytes(32), rng.randrange(4))]
        value = rng.randint(50_000, 5_000_000)
        pays = [TransactionOutput(1_000, pays_to), TransactionOutput(value, pays_to)]
        return Transaction(version=2, vin=spends, vout=pays, locktime=0)

    def _fill(self, scope, kind, whole):
        rng = self._random
        if kind == "pkh" or rng.random() < 0.5:
            scope.non_witness_utxo = whole
        if kind != "pkh" and (kind == "tr" or scope.non_witness_utxo is None or rng.random() < 0.5):
            scope.witness_utxo = whole.vout[1]
        if kind == "tr":
            scope.taproot_internal_key = self.owner.public_key
        elif kind == "wsh" or (kind != "other" and rng.random() < 0.5):
            scope.bip32_derivations[self.owner.public_key] = DerivationPath(rng.randbytes(4), [0, 7])
        scope.unknown = {b"\xe7kept": rng.randbytes(5)}

    def text(self, encoding):
        return encoded(self.psbt.serialize(), encoding)


def taproot_digest(psbt, index, sighash):
    """BIP-341, built from parts of embit, whose own version is wrong for ANYONECANPAY and SINGLE."""
    made, scopes, (kind, alone) = psbt.tx, psbt.inputs, SIGHASH.check(sighash)
    spends, spent = made.vin[index], scopes[index].utxo
    parts = [b"\0", bytes([sighash]), made.version.to_bytes(4, "little"), made.locktime.to_bytes(4, "little")]
    if not alone:
        parts += [made.hash_prevouts(), made.hash_amounts([scope.utxo.value for scope in scopes])]
        parts += [made.hash_script_pubkeys([scope.utxo.script_pubkey for scope in scopes]), made.hash_sequence()]
    if kind in (SIGHASH.DEFAULT, SIGHASH.ALL):
        parts.append(made.hash_outputs())
    parts.append(b"\0")
    if alone:
        parts += [spends.txid[::-1], spends.vout.to_bytes(4, "little"), spent.value.to_bytes(8, "little")]
        parts += [spent.script_pubkey.serialize(), spends.sequence.to_bytes(4, "little")]
    else:
        parts.append(index.to_bytes(4, "little"))
    if kind == SIGHASH.SINGLE:
        parts.append(hashlib.sha256(made.vout[index].serialize()).digest())
    return tagged_hash("TapSighash", b"".join(parts))


def digest_of(psbt, index, sighash=None):
    """The signed digest of an input; the default hash type if none is given."""
    if psbt.inputs[index].is_taproot:
        kind = SIGHASH.DEFAULT if sighash is None else sighash
        return taproot_digest(psbt, index, kind) if kind else psbt.sighash(index, sighash=kind)
    return psbt.sighash(index, sighash=SIGHASH.ALL if sighash is None else sighash)


def signature_holds(owner, psbt, index, signature, sighash=None):
    """Whether a signature of the wallet is valid for an input; the default hash type if none is given."""
    if psbt.inputs[index].is_taproot:
        kind = SIGHASH.DEFAULT if sighash is None else sighash
        body = signature if kind == SIGHASH.DEFAULT else signature[:-1]
        if len(body) != 64 or (kind and signature[-1] != kind):
            return False
        key = ec.PublicKey.from_xonly(psbt.inputs[index].utxo.script_pubkey.data[2:])
        return key.schnorr_verify(ec.SchnorrSig.parse(body), digest_of(psbt, index, sighash))
    kind = SIGHASH.ALL if sighash is None else sighash
    return ecdsa_holds(owner.public_key, signature, digest_of(psbt, index, sighash), kind)


def put(owner, psbt, index, signature):
    """Inserts a signature where the response must have it."""
    if psbt.inputs[index].is_taproot:
        psbt.inputs[index].unknown[TAP_KEY_SIG] = signature
    else:
        psbt.inputs[index].partial_sigs[owner.public_key] = signature


def in_order(psbt):
    """The bytes of a PSBT with its fields sorted by key, because they may be in any order."""
    for scope in psbt.inputs:
        scope.partial_sigs = dict(sorted(scope.partial_sigs.items(), key=lambda pair: pair[0].sec()))
        scope.unknown = dict(sorted(scope.unknown.items()))
    return psbt.serialize()


def for_bitcoinjs(data, version):
    """A PSBT for bitcoinjs-lib, which does not support version 2: embit converts it to version 0."""
    if version == 0:
        return data
    psbt = PSBT.parse(data)
    psbt.version = None
    return psbt.serialize()


def found_by_bitcoinjs(javascript, owner, before, version, signatures, after=None, finalize=False):
    """The verdict of bitcoinjs-lib on the signatures and the returned PSBT, and its own transaction."""
    return javascript.call(
        "psbt",
        before=for_bitcoinjs(before, version),
        after=after and for_bitcoinjs(after, version),
        public_key=owner.public_key.sec(),
        signatures=signatures,
        finalize=finalize,
    )


def usual_sighash(kind):
    return SIGHASH.DEFAULT if kind == "tr" else SIGHASH.ALL


def check_by_bitcoinjs(check, javascript, owner, answer, before, encoding, sighash, what):
    """bitcoinjs-lib accepts the same signatures, and inserts them in the same places."""
    is_final, signed = answer["finalized"], answer["signed_transaction"]
    after = None if is_final else decoded(signed, encoding)
    sent, signatures = before.psbt.serialize(), answer["signatures"]
    found = found_by_bitcoinjs(javascript, owner, sent, before.version, signatures, after, is_final)
    for one in found["signatures"]:
        kind = before.kinds[one["index"]]
        expected = usual_sighash(kind) if sighash is None else sighash
        good = one["holds"] and one["hash_type"] == expected
        check.that(good, f"bitcoinjs-lib verifies input {one['index']} of {what}")
    if is_final:
        check.that(found["transaction"] == signed, f"bitcoinjs-lib makes the same transaction of {what}")
    else:
        check.that(found["is_same"], f"bitcoinjs-lib makes the same PSBT of {what}")


def check_signed(check, javascript, owner, answer, before, indices, finalize, encoding="base64", sighash=None):
    """Our signatures are valid. The response is the request with them added, or the transaction that the libraries build."""
    what = f"PSBT {before.version or 0} of {','.join(before.kinds)}"
    made = {one["index"]: bytes.fromhex(one["signature"]) for one in answer["signatures"]}
    owner.wallet.signed_over(answer, b"".join(digest_of(before.psbt, index, sighash) for index in indices))
    check.that(list(made) == indices, f"the inputs {indices} of {what} are signed, and no others")
    check.that(answer["signature"] == answer["signatures"][0]["signature"], f"the first signature of {what}")
    for index, signature in made.items():
        good = signature_holds(owner, before.psbt, index, signature, sighash)
        check.that(good, f"the wallet signed input {index} of {what}")
    whole = PSBT.parse(before.psbt.serialize())
    for index, signature in made.items():
        put(owner, whole, index, signature)
    is_final = finalize and before.is_complete() and indices == before.ours()
    check.that(answer["finalized"] == is_final, f"{what} is {'' if is_final else 'not '}finalized")
    if is_final:
        check.that(answer["encoding"] == "hex", f"the transaction of {what} is hex")
        check_final(check, answer["signed_transaction"], whole, what)
    else:
        check.that(answer["encoding"] == encoding, f"{what} is answered in {encoding}")
        after = PSBT.parse(decoded(answer["signed_transaction"], encoding))
        check.that(in_order(after) == in_order(whole), f"{what} is as it was but for the signatures")
    check_by_bitcoinjs(check, javascript, owner, answer, before, encoding, sighash, what)


def check_final(check, text, whole, what):
    """embit finalizes the same PSBT to the same bytes."""
    for scope in whole.inputs:
        if TAP_KEY_SIG in scope.unknown:
            scope.final_scriptwitness = Witness([scope.unknown[TAP_KEY_SIG]])
    expected = finalize_psbt(whole)
    check.that(expected is not None, f"embit finalizes {what}")
    check.that(expected.serialize().hex() == text, f"embit makes the same transaction of {what}")
    read = Transaction.from_string(text)
    check.that(read.txid() == expected.txid(), f"embit reads the transaction of {what}")


def check_psbts(check, javascript, owners):
    def by_call(kind, rng):
        version, finalize = kind
        owner, encoding = rng.choice(owners), rng.choice(["base64", "hex"])
        # A script of two signers is never finalized, and would hide the rest.
        before = Spending(rng, owner, version, OURS[:-1] if finalize and rng.random() < 0.8 else OURS)
        request = {"psbt": before.text(encoding), "encoding": encoding, "finalize": finalize}
        indices = before.ours()
        if rng.random() < 0.2:
            indices = sorted(rng.sample(indices, rng.randint(1, len(indices))))
            request["sign_inputs"] = [{"index": index} for index in indices]
        answer = owner.wallet.sign_transaction(request)
        check_signed(check, javascript, owner, answer, before, indices, finalize, encoding)

    def by_method(kind, rng):
        version, finalize = kind
        owner, method = rng.choice(owners), rng.choice(["btc_signPsbt", "signPsbt"])
        before = Spending(rng, owner, version)
        answer = owner.wallet.rpc(method, psbt=before.text("base64"), finalize=finalize)
        check_signed(check, javascript, owner, answer, before, before.ours(), finalize)

    def by_sighash(name, rng):
        """Every input of ours, with a hash type that lets others change the transaction.

        embit miscounts the outputs that SINGLE leaves out before segregated witness, so those inputs are not asked for.
        """
        owner, suffix = rng.choice(owners), rng.choice(["", "|ANYONECANPAY"])
        before = Spending(rng, owner, 0)
        indices = before.ours()
        if name == "SINGLE":
            outputs = len(before.psbt.outputs)
            indices = [index for index in indices if index < outputs and before.kinds[index] != "pkh"]
        if not indices:
            return
        listed = [{"index": index, "sighash": name + suffix} for index in indices]
        answer = owner.wallet.sign_transaction({"psbt": before.text("base64"), "sign_inputs": listed})
        sighash = SIGHASH_NAMES[name] | (SIGHASH.ANYONECANPAY if suffix else 0)
        check_signed(check, javascript, owner, answer, before, indices, False, sighash=sighash)

    for kind in KINDS:
        version, finalize = kind
        each(check, f"PSBT {version}{' finalized' * finalize}", [kind] * PSBTS_PER_KIND, by_call)
    each(check, "PSBT by rpc", KINDS * (METHOD_PSBTS // len(KINDS)), by_method)
    each(check, "hash type", list(SIGHASH_NAMES) * (SIGHASHES // len(SIGHASH_NAMES)), by_sighash)


def check_mutated(check, javascript, owners):
    """A changed bit is refused or signed as it is, never as something else."""

    def examine(version, rng):
        owner = rng.choice(owners)
        data = bytearray(Spending(rng, owner, version, OURS[:2]).psbt.serialize())
        data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
        request = {"psbt": encoded(bytes(data), "base64")}
        answer = owner.wallet.signs_or_refuses(request, "psbt")
        if answer is None:
            return
        changed = as_wallets_read(owner, bytes(data))
        after = as_wallets_read(owner, base64.b64decode(answer["signed_transaction"]))
        if changed.tx_version == 0:
            # embit treats it as missing and writes 2.
            return
        check.that(after.tx.serialize() == changed.tx.serialize(), "the transaction is the changed one")
        for one in answer["signatures"]:
            good = signature_holds(owner, changed, one["index"], bytes.fromhex(one["signature"]))
            check.that(good, "the wallet signed the changed PSBT")
        before, signatures = changed.serialize(), answer["signatures"]
        found = found_by_bitcoinjs(javascript, owner, before, version, signatures, after.serialize())
        good = found["is_same"] and all(one["holds"] for one in found["signatures"])
        check.that(good, "bitcoinjs-lib verifies the changed PSBT")

    each(check, "mutated", [0, 2] * (MUTATED // 2), examine)


def as_wallets_read(owner, data):
    """A PSBT with fields that the libraries need: the redeem script of the wallet, and the lock time of version 2."""
    psbt, redeem = PSBT.parse(data), script.p2wpkh(owner.public_key)
    for scope in psbt.inputs:
        if scope.redeem_script is None and scope.utxo and scope.script_pubkey == script.p2sh(redeem):
            scope.redeem_script = redeem
        for field in LOCK_TIMES:
            if psbt.version == 2 and field in scope.unknown:
                psbt.locktime = int.from_bytes(scope.unknown[field], "little")
    return psbt


def check_altered(check, javascript, owner):
    """The JavaScript libraries reject another message, and an altered signature of each kind of input."""
    for form in FORMATS:
        request = {"message": "hello"} | ({"format": form} if form else {})
        answer, other = owner.wallet.sign_message(**request), request | {"message": "Hello"}
        good = bip322_js_holds(javascript, owner, answer, other, b"Hello", form)
        check.that(not good, f"bip322-js refuses another message as {form}")
    for version, kind in itertools.product((0, 2), OURS):
        before = Spending(check.random, owner, version, [kind])
        answer = owner.wallet.sign_transaction({"psbt": before.text("base64")})
        signatures = [one | {"signature": altered(one["signature"])} for one in answer["signatures"]]
        found = found_by_bitcoinjs(javascript, owner, before.psbt.serialize(), version, signatures)
        good = any(one["holds"] for one in found["signatures"])
        check.that(not good, f"bitcoinjs-lib refuses an altered signature of {kind} in a PSBT {version}")


def altered(signature):
    """Flips a bit of s, before the hash type if there is one, so that the signature stays well-formed."""
    changed = bytearray.fromhex(signature)
    changed[-2] ^= 1
    return changed.hex()


def check_refusals(check, owner, stranger):
    rng, wallet = check.random, owner.wallet
    for version in (0, 2):
        made = Spending(rng, owner, version, ["wpkh"])
        good = {"psbt": made.text("base64"), "encoding": "base64"}
        check_broken(wallet, good, "psbt", "base64", rng)
        theirs = Spending(rng, stranger, version, ["wpkh"])
        wallet.refuses_transaction(good | {"psbt": theirs.text("base64")}, "psbt", "a PSBT of another wallet")
        for change, kind, why in (
            (without_output, "wpkh", "without the output"),
            (with_other_transaction, "wpkh", "with another transaction"),
            (with_other_redeem_script, "nested", "with a redeem script that is not its output's"),
            (with_other_witness_script, "wsh", "with a witness script that is not its output's"),
            (with_other_witness_script, "wpkh", "with a witness script where its output has none"),
        ):
            spoilt = Spending(rng, owner, version, [kind])
            change(spoilt)
            wallet.refuses_transaction({"psbt": spoilt.text("base64")}, "psbt", f"a PSBT {version} {why}")
        for field, wrong, path in [
            ("sign_inputs", [{"index": 99}], "sign_inputs[0].index"),
            ("sign_inputs", [{"index": made.ours()[0]}] * 2, "sign_inputs[1].index"),
            ("sign_inputs", [{}], "sign_inputs[0].index"),
            ("sign_inputs", [], "sign_inputs"),
            ("sign_inputs", [{"index": made.ours()[0], "sighash": "EVERYTHING"}], "sign_inputs[0].sighash"),
            ("finalize", "yes", "finalize"),
            ("encoding", "base58", "encoding"),
        ]:
            wallet.refuses_transaction(good | {field: wrong}, path, f"{field} {wrong!r}")
        risky = Spending(rng, owner, version, ["wpkh"])
        risky.psbt.inputs[risky.ours()[0]].sighash_type = SIGHASH.NONE
        wallet.refuses_transaction({"psbt": risky.text("base64")}, "psbt", "a hash type that was not agreed to")
    check_common_refusals(wallet, good, "btc_signMessage")
    wallet.refuses("sign_message", {"message": "hi", "format": "bip9"}, "format", "an unknown format")
    call = {"method": "btc_signMessage", "params": {"message": "hi", "format": "bip9"}}
    wallet.refuses("rpc", call, "params.format", "an unknown format of btc_signMessage")


def without_output(spending):
    scope = spending.psbt.inputs[spending.ours()[0]]
    scope.witness_utxo = scope.non_witness_utxo = None
    scope.bip32_derivations[spending.owner.public_key] = DerivationPath(bytes(4), [0])


def with_other_transaction(spending):
    scope = spending.psbt.inputs[spending.ours()[0]]
    scope.non_witness_utxo = spending.funding(script.p2wpkh(spending.owner.public_key))


def with_other_redeem_script(spending):
    """BIP-174, "Signer": if a redeem script is provided, the output must be for it."""
    spending.psbt.inputs[spending.ours()[0]].redeem_script = script.p2wpkh(ec.PrivateKey(bytes(31) + b"\1"))


def with_other_witness_script(spending):
    """The same for witness scripts."""
    spending.psbt.inputs[spending.ours()[0]].witness_script = script.multisig(1, [spending.owner.public_key])


def main():
    check, javascript = Check("bitcoin", "embit"), JavaScript("bitcoin.mjs")
    for package in ("bip322-js", "bitcoinjs-lib", "@bitcoinerlab/secp256k1"):
        check.also(javascript.version(package))
    wallets = create_wallets(Service(), check, "bitcoin", WALLETS)
    with ThreadPoolExecutor(AT_A_TIME) as pool:
        owners = list(pool.map(lambda wallet: Owner(check, javascript, wallet), wallets))
    check_messages(check, javascript, owners)
    check_psbts(check, javascript, owners)
    check_payloads(check, wallets)
    check_mutated(check, javascript, owners)
    check_altered(check, javascript, owners[0])
    check_refusals(check, *owners[:2])
    javascript.end()
    check.end()


main()
