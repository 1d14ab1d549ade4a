"""stellar-sdk and @stellar/stellar-sdk verify Stellar signatures: messages, envelopes of all kinds, and Soroban authorizations."""

import base64
import hashlib

import stellar_sdk
from stellar_sdk import (
    Account,
    Asset,
    FeeBumpTransaction,
    Keypair,
    MuxedAccount,
    Network,
    Price,
    Signer,
    StrKey,
    TransactionBuilder,
    scval,
    xdr,
)
from stellar_sdk.auth import authorization_payload_hash, authorize_entry
from stellar_sdk.exceptions import BadSignatureError

from javascript import JavaScript
from service import Check, Service, of_night
from wallets import (
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
TRANSACTIONS_PER_KIND = of_night(300)
METHOD_TRANSACTIONS = 60
# The number of wallets that sign the same transaction.
SIGNERS = 4
# Half of them with credentials of version 2.
AUTH_ENTRIES = of_night(600)
MUTATED = 100

KINDS = ("v0", "v1", "fee-bump", "soroban")
# Names of the envelopes in JavaScript.
ENVELOPES = {"v0": "envelopeTypeTxV0", "fee-bump": "envelopeTypeTxFeeBump"}
PASSPHRASE = Network.TESTNET_NETWORK_PASSPHRASE


def holds(wallet, data, signature):
    """Whether a signature of the wallet is valid for these bytes."""
    try:
        Keypair.from_public_key(wallet.address).verify(data, signature)
    except BadSignatureError:
        return False
    return True


def check_addresses(check, javascript, wallets):
    for wallet in wallets:
        check.that(StrKey.is_valid_ed25519_public_key(wallet.address), "the address is a strkey of a public key")
        found = javascript.call("address", address=wallet.address)
        check.that(found["is_valid"], "the address is a strkey of a public key in JavaScript")
        key = StrKey.decode_ed25519_public_key(wallet.address)
        same = found["bytes"] == key.hex() and found["encoded"] == wallet.address
        check.that(same, "JavaScript reads and writes the same address")


def verified_message(javascript, wallet, data, signature):
    return javascript.call("message", address=wallet.address, data=data, signature=encoded(signature, "base64"))


def check_message(check, javascript, wallet, answer, data, encoding):
    """SEP-53, by the libraries."""
    expected = "hex" if encoding == "hex" else "base64"
    check.that(answer["encoding"] == expected, f"a message in {encoding} is answered in {expected}")
    signature = decoded(answer["signature"], expected)
    wallet.signed_over(answer, b"Stellar Signed Message:\n" + data)
    try:
        Keypair.from_public_key(wallet.address).verify_message(data, signature)
        good = True
    except BadSignatureError:
        good = False
    check.that(good, f"the wallet signed {shown(data)}")
    good = verified_message(javascript, wallet, data, signature)
    check.that(good, f"the wallet signed {shown(data)} for JavaScript")


def check_messages(check, javascript, wallets):
    def by_call(case, rng):
        number, (request, data) = case
        # The wallets take turns, so that each address is checked against its key.
        wallet = wallets[number % WALLETS]
        check_message(check, javascript, wallet, wallet.sign_message(**request), data, request.get("encoding"))

    def by_method(encoding, rng):
        request, data = random_message(rng, encoding)
        wallet = rng.choice(wallets)
        method = rng.choice(["xlm_signMessage", "signMessage"])
        check_message(check, javascript, wallet, wallet.rpc(method, **request), data, encoding)

    each(check, "message", enumerate(messages(check.random, RANDOM_MESSAGES)), by_call)
    encodings = [None, "utf-8", "hex", "base64", "base58"]
    each(check, "message by rpc", encodings * (METHOD_MESSAGES // len(encodings)), by_method)


class Maker:
    """Random envelopes of the test network."""

    def __init__(self, rng):
        self._random = rng

    def keypair(self):
        return Keypair.from_raw_ed25519_seed(self._random.randbytes(32))

    def contract(self):
        return StrKey.encode_contract(self._random.randbytes(32))

    def _asset(self):
        code = self._random.choice(["USDC", "A", "LONGERCODE12"])
        return self._random.choice([Asset.native(), Asset(code, self.keypair().public_key)])

    def _amount(self):
        return f"{self._random.randrange(1, 2**60) / 10**7:.7f}" if self._random.random() < 0.3 else "12.5"

    def _append_operations(self, builder):
        """One to eight classic operations, some with another source account."""
        other = self.keypair().public_key
        muxed = MuxedAccount(other, self._random.randrange(2**63))
        issued, price = Asset("USDC", other), Price(self._random.randrange(1, 99), self._random.randrange(1, 99))
        balance = "00000000" + self._random.randbytes(32).hex()
        source = self._random.choice([None, other, muxed])
        signer = self._random.choice(
            [Signer.sha256_hash(self._random.randbytes(32), 1), Signer.ed25519_public_key(other, 7)]
        )
        amount, asset = self._amount, self._asset
        steps = [
            lambda: builder.append_payment_op(muxed, asset(), amount(), source),
            lambda: builder.append_create_account_op(other, amount(), source),
            lambda: builder.append_change_trust_op(issued, amount(), source),
            lambda: builder.append_path_payment_strict_send_op(
                muxed, asset(), amount(), issued, "2", [asset()], source
            ),
            lambda: builder.append_path_payment_strict_receive_op(other, asset(), amount(), issued, "2", [], source),
            lambda: builder.append_set_options_op(
                home_domain="example.com", master_weight=self._random.randrange(256), signer=signer, source=source
            ),
            lambda: builder.append_manage_sell_offer_op(issued, Asset.native(), amount(), price, source=source),
            lambda: builder.append_manage_buy_offer_op(issued, Asset.native(), amount(), price, 12, source),
            lambda: builder.append_create_passive_sell_offer_op(issued, Asset.native(), amount(), price, source),
            lambda: builder.append_manage_data_op("name", self._random.randbytes(64), source),
            lambda: builder.append_manage_data_op("gone", None, source),
            lambda: builder.append_bump_sequence_op(self._random.randrange(2**60), source),
            lambda: builder.append_account_merge_op(muxed, source),
            lambda: builder.append_begin_sponsoring_future_reserves_op(other, source),
            lambda: builder.append_end_sponsoring_future_reserves_op(source),
            lambda: builder.append_claim_claimable_balance_op(balance, source),
            lambda: builder.append_create_claimable_balance_op(
                issued, amount(), [stellar_sdk.Claimant(other)], source
            ),
            lambda: builder.append_clawback_op(issued, muxed, amount(), source),
            lambda: builder.append_revoke_account_sponsorship_op(other, source),
            lambda: builder.append_liquidity_pool_withdraw_op(balance[8:], amount(), "1", "2", source),
        ]
        for step in self._random.choices(steps, k=self._random.randrange(1, 9)):
            step()

    def _value(self, levels):
        value = scval.to_uint64(self._random.randrange(2**64))
        for level in range(levels):
            value = scval.to_vec([value]) if level % 2 else scval.to_map({scval.to_symbol("k"): value})
        return value

    def _arguments(self):
        return [
            scval.to_address(self.contract()),
            scval.to_int128(-self._random.randrange(2**100)),
            self._value(self._random.randrange(6)),
            scval.to_bytes(self._random.randbytes(5)),
            scval.to_string("ü"),
        ]

    def auth_entry(self, in_v2=False):
        """An invocation that a contract asks an account to authorize."""
        kinds = xdr.SorobanCredentialsType
        call = xdr.InvokeContractArgs(
            stellar_sdk.Address(self.contract()).to_xdr_sc_address(),
            scval.to_symbol("transfer").sym,
            self._arguments(),
        )
        function = xdr.SorobanAuthorizedFunction(
            xdr.SorobanAuthorizedFunctionType.SOROBAN_AUTHORIZED_FUNCTION_TYPE_CONTRACT_FN, call
        )
        invocation = xdr.SorobanAuthorizedInvocation(function, [])
        invocation = xdr.SorobanAuthorizedInvocation(function, [invocation] * self._random.randrange(3))
        account = self._random.choice([self.keypair().public_key, self.contract()])
        credentials = xdr.SorobanAddressCredentials(
            stellar_sdk.Address(account).to_xdr_sc_address(),
            xdr.Int64(self._random.randrange(2**62)),
            xdr.Uint32(0),
            scval.to_void(),
        )
        if in_v2:
            credentials = xdr.SorobanCredentials(kinds.SOROBAN_CREDENTIALS_ADDRESS_V2, address_v2=credentials)
        else:
            credentials = xdr.SorobanCredentials(kinds.SOROBAN_CREDENTIALS_ADDRESS, address=credentials)
        return xdr.SorobanAuthorizationEntry(credentials, invocation)

    def authorization(self, in_v2):
        """An authorization entry, its expiration, and its payload as the library builds it."""
        seen, entry, valid_until = [], self.auth_entry(in_v2), self._random.randrange(2**32)

        def signer(preimage):
            seen.append(preimage)
            return scval.to_void()

        authorize_entry(entry, signer, valid_until, PASSPHRASE)
        return entry, valid_until, seen[0]

    def envelope(self, kind, address):
        """An envelope, possibly with signatures of others. The wallet is its source or another signer."""
        source = self._random.choice([address, self.keypair().public_key])
        if kind != "v0" and self._random.random() < 0.3:
            source = MuxedAccount(source, self._random.randrange(2**63))
        account = Account(source, self._random.randrange(2**50))
        builder = TransactionBuilder(account, PASSPHRASE, self._random.randrange(100, 10**6), v1=kind != "v0")
        if kind == "soroban":
            builder.append_invoke_contract_function_op(self.contract(), "call", self._arguments(), [self.auth_entry()])
        else:
            self._append_operations(builder)
        self._set_conditions(builder, kind)
        envelope = builder.build()
        if kind == "fee-bump":
            envelope.sign(self.keypair())
            envelope = TransactionBuilder.build_fee_bump_transaction(source, 10**6, envelope, PASSPHRASE)
        for _ in range(self._random.choice([0, 0, 1, 2, 19])):
            envelope.sign(self.keypair())
        return envelope

    def _set_conditions(self, builder, kind):
        builder.add_time_bounds(0, self._random.randrange(2**40))
        memos = [
            lambda: None,
            lambda: builder.add_text_memo("memo ü"),
            lambda: builder.add_id_memo(self._random.randrange(2**64)),
            lambda: builder.add_hash_memo(self._random.randbytes(32)),
            lambda: builder.add_return_hash_memo(self._random.randbytes(32)),
        ]
        self._random.choice(memos)()
        if kind != "v0" and self._random.random() < 0.5:
            builder.set_ledger_bounds(5, 900)
            builder.set_min_sequence_age(60)
            builder.add_extra_signer(self.keypair().public_key)


def told(transaction):
    """A transaction in the notation of stellar.mjs."""
    if isinstance(transaction, FeeBumpTransaction):
        return {
            "fee_source": transaction.fee_source.universal_account_id,
            "fee": str(transaction.fee),
            "inner": told(transaction.inner_transaction_envelope.transaction),
        }
    conditions = transaction.preconditions
    times, ledgers = conditions.time_bounds, conditions.ledger_bounds
    return {
        "source": transaction.source.universal_account_id,
        "fee": str(transaction.fee),
        "sequence": str(transaction.sequence),
        "memo": transaction.memo.to_xdr_object().to_xdr_bytes().hex(),
        "time_bounds": [str(times.min_time), str(times.max_time)],
        "ledger_bounds": ledgers and [ledgers.min_ledger, ledgers.max_ledger],
        "operations": [told_operation(one) for one in transaction.operations],
    }


def told_operation(operation):
    name = type(operation).__name__
    return [name[0].lower() + name[1:], operation.source and operation.source.universal_account_id]


def check_signed_for_javascript(check, javascript, wallet, answer, before, kind):
    """The same with the other library, which must read the requested transaction."""
    asked = {"address": wallet.address, "passphrase": PASSPHRASE}
    found = javascript.call("transaction", signed=answer["signed_transaction"], **asked)
    transaction = before.transaction.to_xdr_object().to_xdr_bytes()
    kept = [[one.signature_hint.hex(), one.signature.hex()] for one in before.signatures]
    added = [found["hint"], base64.b64decode(answer["signature"]).hex()]
    check.that(found["kind"] == ENVELOPES.get(kind, "envelopeTypeTx"), f"{kind} is what it was in JavaScript")
    check.that(found["told"] == told(before.transaction), f"JavaScript reads the transaction of {kind}")
    check.that(found["transaction"] == transaction.hex(), f"JavaScript writes the transaction of {kind} the same")
    check.that(found["writes_the_same"], f"JavaScript writes {kind} the same")
    check.that(found["hash"] == answer["hash"], f"JavaScript finds the hash of {kind}")
    check.that(found["signatures"] == [*kept, added], f"one signature of {kind} is new in JavaScript")
    check.that(found["verified"], f"the wallet signed {kind} for JavaScript")


def check_signed(check, javascript, wallet, answer, before, kind):
    """One signature of the wallet is added; everything else is unchanged."""
    signed = answer["signed_transaction"]
    after = TransactionBuilder.from_xdr(signed, PASSPHRASE)
    wallet.signed_over(answer, before.signature_base())
    check.that(type(after) is type(before), f"{kind} comes back as what it was")
    check.that(after.transaction == before.transaction, f"the transaction of {kind} is unchanged")
    check.that(after.to_xdr() == signed, f"stellar-sdk writes {kind} the same")
    check.that(answer["hash"] == before.hash_hex(), f"the hash of {kind}")
    *kept, added = after.signatures
    check.that(kept == before.signatures, f"the signatures of others of {kind} are kept")
    check.that(added.signature == base64.b64decode(answer["signature"]), f"the signature of {kind} is the last")
    hint = Keypair.from_public_key(wallet.address).signature_hint()
    check.that(added.signature_hint == hint, f"the hint of {kind} is the wallet's")
    check.that(holds(wallet, before.hash(), added.signature), f"the wallet signed {kind}")
    check_signed_for_javascript(check, javascript, wallet, answer, before, kind)


def check_transactions(check, javascript, wallets):
    def by_call(kind, rng):
        wallet = rng.choice(wallets)
        before = Maker(rng).envelope(kind, wallet.address)
        request = {"xdr": before.to_xdr()}
        if rng.random() < 0.3:
            request["network_passphrase"] = PASSPHRASE
        answer = wallet.sign_transaction(request)
        check_signed(check, javascript, wallet, answer, before, kind)
        if rng.random() < 0.2:
            again = wallet.sign_transaction({"xdr": answer["signed_transaction"]})
            same = again["signed_transaction"] == answer["signed_transaction"]
            check.that(same, f"{kind} is signed once, however often it is asked for")

    def by_method(kind, rng):
        wallet = rng.choice(wallets)
        before = Maker(rng).envelope(kind, wallet.address)
        method = rng.choice(["xlm_signTransaction", "signTransaction", "stellar_signXDR"])
        answer = wallet.rpc(method, xdr=before.to_xdr())
        check_signed(check, javascript, wallet, answer, before, kind)
        if method == "stellar_signXDR":
            check.that(answer["signedXDR"] == answer["signed_transaction"], "signedXDR is the signed transaction")

    def by_all(kind, rng):
        """A transaction that several wallets must sign."""
        signers = rng.sample(wallets, SIGNERS)
        before = Maker(rng).envelope(kind, signers[0].address)
        before.signatures.clear()
        text, last = before.to_xdr(), before
        for wallet in signers:
            answer = wallet.sign_transaction({"xdr": text})
            check_signed_for_javascript(check, javascript, wallet, answer, last, kind)
            text = answer["signed_transaction"]
            last = TransactionBuilder.from_xdr(text, PASSPHRASE)
        pairs = zip(signers, last.signatures, strict=True)
        check.that(all(holds(wallet, before.hash(), one.signature) for wallet, one in pairs), f"all signed {kind}")

    for kind in KINDS:
        each(check, kind, [kind] * TRANSACTIONS_PER_KIND, by_call)
    each(check, "transaction by rpc", KINDS * (METHOD_TRANSACTIONS // len(KINDS)), by_method)
    each(check, "transaction of several signers", KINDS * 5, by_all)


def authorization_for_javascript(javascript, wallet, answer, authorization):
    """The result of JavaScript, which builds the payload itself."""
    entry, valid_until, _ = authorization
    asked = {"entry": entry.to_xdr(), "valid_until": valid_until, "passphrase": PASSPHRASE}
    return javascript.call("authorization", address=wallet.address, signature=answer["signature"], **asked)


def check_auth_entries(check, javascript, wallets):
    def examine(in_v2, rng):
        wallet, authorization = rng.choice(wallets), Maker(rng).authorization(in_v2)
        preimage = authorization[-1]
        method = rng.choice(["xlm_signAuthEntry", "signAuthEntry"])
        answer = wallet.rpc(method, auth_entry=preimage.to_xdr())
        digest = authorization_payload_hash(preimage)
        wallet.signed_over(answer, preimage.to_xdr_bytes())
        check.that(answer["hash"] == digest.hex(), "the hash of the authorization")
        check.that(answer["encoding"] == "base64", "the authorization is answered in base64")
        check.that(holds(wallet, digest, base64.b64decode(answer["signature"])), "the wallet signed the authorization")
        asked = {"address": wallet.address, "preimage": preimage.to_xdr(), "signature": answer["signature"]}
        found = javascript.call("preimage", **asked)
        check.that(found["hash"] == answer["hash"], "JavaScript finds the hash of the authorization")
        check.that(found["verified"], "the wallet signed the authorization for JavaScript")
        # This release of the JavaScript library does not support credentials of version 2 (CAP-71) or their preimage.
        if not in_v2:
            found = authorization_for_javascript(javascript, wallet, answer, authorization)
            check.that(found["preimage"] == preimage.to_xdr(), "JavaScript asks the account for the same")
            check.that(found["accepted"], "JavaScript takes the signature for the authorization")

    each(check, "authorization", [False, True] * (AUTH_ENTRIES // 2), examine)


def check_mutated(check, javascript, wallets):
    """A changed bit is refused or signed as it is, never as something else."""

    def examine(kind, rng):
        wallet = rng.choice(wallets)
        data = bytearray(base64.b64decode(Maker(rng).envelope(kind, wallet.address).to_xdr()))
        data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
        request = {"xdr": base64.b64encode(data).decode()}
        answer = wallet.signs_or_refuses(request, "xdr")
        if answer is None:
            return
        changed = xdr.TransactionEnvelope.from_xdr(request["xdr"])
        check.that(changed.to_xdr() == request["xdr"], f"stellar-sdk reads the changed {kind}")
        signed = base64.b64decode(answer["signed_transaction"])
        body = unsigned_part(changed)
        check.that(signed.startswith(body) and data.startswith(body), f"the signed {kind} has the changed content")
        good = holds(wallet, bytes.fromhex(answer["hash"]), base64.b64decode(answer["signature"]))
        check.that(good, f"the wallet signed the changed {kind}")
        check.that(bytes.fromhex(answer["hash"]) == hash_of(changed), f"the hash of the changed {kind}")
        asked = {"address": wallet.address, "passphrase": PASSPHRASE, "signature": answer["signature"]}
        found = javascript.call("envelope", signed=answer["signed_transaction"], **asked)
        check.that(found["transaction"] == body[4:].hex(), f"JavaScript reads the changed {kind}")
        check.that(found["writes_the_same"], f"JavaScript writes the changed {kind} the same")
        check.that(found["hash"] == answer["hash"], f"JavaScript finds the hash of the changed {kind}")
        check.that(found["verified"], f"the wallet signed the changed {kind} for JavaScript")

    each(check, "mutated", KINDS * (MUTATED // len(KINDS)), examine)


def unsigned_part(envelope):
    """The bytes of an envelope before its signatures."""
    held = envelope.v0 or envelope.v1 or envelope.fee_bump
    return envelope.type.to_xdr_bytes() + held.tx.to_xdr_bytes()


def hash_of(envelope):
    """SHA-256 of network, type and transaction; a v0 transaction is hashed as the equivalent v1 (CAP-15)."""
    network = hashlib.sha256(PASSPHRASE.encode()).digest()
    part = unsigned_part(envelope)
    if envelope.v0:
        # Type 2, and a key type of four zero bytes before the source key.
        part = b"\0\0\0\2" + bytes(4) + part[4:]
    return hashlib.sha256(network + part).digest()


def flipped(data, part, rng):
    """The bytes with one bit flipped in this range."""
    changed = bytearray(data)
    changed[data.index(part) + rng.randrange(len(part))] ^= 1 << rng.randrange(8)
    return bytes(changed)


def check_javascript(check, javascript, wallet):
    """The JavaScript library rejects a signature with one bit flipped, so its other verdicts mean something."""
    rng, data = check.random, b"test"
    signature = base64.b64decode(wallet.sign_message(message="test")["signature"])
    wrong = flipped(signature, signature, rng)
    good = verified_message(javascript, wallet, data, wrong)
    check.that(not good, "JavaScript refuses a changed signature of a message")
    good = verified_message(javascript, wallet, flipped(data, data, rng), signature)
    check.that(not good, "JavaScript refuses a changed message")
    for kind in KINDS:
        before = Maker(rng).envelope(kind, wallet.address)
        answer = wallet.sign_transaction({"xdr": before.to_xdr()})
        signed, signature = (base64.b64decode(answer[name]) for name in ("signed_transaction", "signature"))
        # The seconds of the time bounds: any value of them is a valid transaction.
        inner = before.transaction.inner_transaction_envelope if kind == "fee-bump" else before
        seconds = inner.transaction.preconditions.time_bounds.to_xdr_object().to_xdr_bytes()
        for part, what in ((signature, "signature"), (seconds, "time")):
            asked = {"address": wallet.address, "passphrase": PASSPHRASE}
            changed = encoded(flipped(signed, part, rng), "base64")
            found = javascript.call("transaction", signed=changed, **asked)
            check.that(not found["verified"], f"JavaScript refuses {kind} with a changed {what}")
            same = found["told"] == told(before.transaction) and found["hash"] == answer["hash"]
            check.that(same == (what == "signature"), f"JavaScript sees the changed {what} of {kind}")
            held = flipped(signature, part, rng) if what == "signature" else signature
            found = javascript.call("envelope", signed=changed, signature=encoded(held, "base64"), **asked)
            check.that(not found["verified"], f"JavaScript refuses the envelope of {kind} with a changed {what}")
    for in_v2 in (False, True):
        authorization = Maker(rng).authorization(in_v2)
        preimage = authorization[-1].to_xdr()
        answer = wallet.rpc("xlm_signAuthEntry", auth_entry=preimage)
        signature = base64.b64decode(answer["signature"])
        wrong = {"signature": encoded(flipped(signature, signature, rng), "base64")}
        found = javascript.call("preimage", address=wallet.address, preimage=preimage, **wrong)
        check.that(not found["verified"], "JavaScript refuses a changed signature of an authorization")
        if not in_v2:
            found = authorization_for_javascript(javascript, wallet, wrong, authorization)
            check.that(not found["accepted"], "JavaScript takes no changed signature for the authorization")


def check_refusals(check, wallet, stranger):
    make = Maker(check.random)
    for kind in KINDS:
        good = {"xdr": make.envelope(kind, wallet.address).to_xdr()}
        check_broken(wallet, good, "xdr", "base64", check.random)
        public = {"network_passphrase": Network.PUBLIC_NETWORK_PASSPHRASE}
        wallet.refuses_transaction(good | public, None, f"{kind} for another network", status=403)
    check_common_refusals(wallet, good, "xlm_signMessage")
    full = make.envelope("v1", wallet.address)
    while len(full.signatures) < 20:
        full.sign(make.keypair())
    wallet.refuses_transaction({"xdr": full.to_xdr()}, "xdr", "an envelope with 20 signatures")
    preimage = make.authorization(False)[-1].to_xdr()
    for wrong, why in (
        (good["xdr"], "a transaction"),
        (base64.b64encode(base64.b64decode(preimage)[:-4]).decode(), "a truncated preimage"),
        (base64.b64encode(base64.b64decode(preimage) + bytes(4)).decode(), "a preimage with more behind it"),
        (7, "a number"),
    ):
        call = {"method": "xlm_signAuthEntry", "params": {"auth_entry": wrong}}
        wallet.refuses("rpc", call, "params.auth_entry", f"{why} for an authorization")
    call = {"method": "xlm_signTransaction", "params": {"xdr": preimage}}
    wallet.refuses("rpc", call, "params.xdr", "a preimage for a transaction")


def main():
    check, javascript = Check("stellar", "stellar-sdk"), JavaScript("stellar.mjs")
    check.also(javascript.version("@stellar/stellar-sdk"))
    wallets = create_wallets(Service(), check, "XLM", WALLETS)
    check_addresses(check, javascript, wallets)
    check_messages(check, javascript, wallets)
    check_transactions(check, javascript, wallets)
    check_auth_entries(check, javascript, wallets)
    check_payloads(check, wallets)
    check_mutated(check, javascript, wallets)
    check_javascript(check, javascript, wallets[0])
    check_refusals(check, *wallets[:2])
    javascript.end()
    check.end()


main()
