"""solders, and @solana/kit with @solana/offchain-messages, verify Solana signatures: messages, off-chain messages, and transactions of all
versions."""

import base64

import base58
from solders.address_lookup_table_account import AddressLookupTableAccount
from solders.hash import Hash
from solders.instruction import AccountMeta, Instruction
from solders.keypair import Keypair
from solders.message import Message, MessageV0, MessageV1, TransactionConfig, from_bytes_versioned, to_bytes_versioned
from solders.pubkey import Pubkey
from solders.signature import Signature
from solders.transaction import VersionedTransaction

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
    random_text,
    shown,
)

WALLETS = of_night(1_000)
RANDOM_MESSAGES = of_night(1_000)
METHOD_MESSAGES = 60
# Half of them for each version.
OFFCHAIN_MESSAGES = of_night(600)
# Of legacy and v0, which kit decodes, 1,000 together.
TRANSACTIONS_PER_KIND = of_night(500)
METHOD_TRANSACTIONS = 60
MUTATED = 100

KINDS = ("legacy", "v0", "v1")
# The maximum length of a transaction: a packet, and for v1 the limit of SIMD-0385.
LARGEST = {"legacy": 1232, "v0": 1232, "v1": 4096}


def public_key(wallet):
    return Pubkey.from_string(wallet.address)


def check_addresses(check, kit, wallets):
    for wallet in wallets:
        check.that(public_key(wallet).is_on_curve(), "the address is a public key for solders")
        data = base58.b58decode(wallet.address)
        check.that(len(data) == 32, "the address is base58 of 32 bytes")
        facts = kit.call("address", address=wallet.address)
        check.that(facts["is_address"] and not facts["is_off_curve"], "the address is a public key for kit")
        check.that(facts["bytes"] == data.hex(), "kit reads the same 32 bytes of the address")


def kit_verifies_message(kit, wallet, answer, request):
    """Whether kit accepts the signature for the content that it decodes from the request."""
    asked = {"message": request["message"], "encoding": request.get("encoding", "utf-8")}
    answered = {"signature": answer["signature"], "signature_encoding": answer["encoding"]}
    return kit.call("message", address=wallet.address, **asked, **answered)


def check_message(check, kit, wallet, answer, request, data):
    """The signature is valid for the bytes without a prefix."""
    encoding = request.get("encoding")
    expected = encoding if encoding == "base64" else "base58"
    check.that(answer["encoding"] == expected, f"a message in {encoding} is answered in {expected}")
    signature = Signature.from_bytes(decoded(answer["signature"], expected))
    wallet.signed_over(answer, data)
    check.that(signature.verify(public_key(wallet), data), f"the wallet signed {shown(data)}")
    check.that(kit_verifies_message(kit, wallet, answer, request), f"the wallet signed {shown(data)} for kit")


def check_messages(check, kit, wallets):
    def by_call(case, rng):
        number, (request, data) = case
        # The wallets take turns, so that each address is checked against its key.
        wallet = wallets[number % WALLETS]
        check_message(check, kit, wallet, wallet.sign_message(**request), request, data)

    def by_method(encoding, rng):
        request, data = random_message(rng, encoding)
        wallet = rng.choice(wallets)
        answer = wallet.rpc(rng.choice(["sol_signMessage", "signMessage"]), **request)
        check_message(check, kit, wallet, answer, request, data)

    each(check, "message", enumerate(messages(check.random, RANDOM_MESSAGES)), by_call)
    encodings = [None, "utf-8", "base58", "base64"]
    each(check, "message by rpc", encodings * (METHOD_MESSAGES // len(encodings)), by_method)


def offchain_message(wallet, version, domain, text):
    """The bytes of Anza's proposal (version 0) and of sRFC 3 (version 1), of which solders has an older version."""
    data = text.encode()
    head = b"\xffsolana offchain" + bytes([version])
    signers = b"\x01" + bytes(public_key(wallet))
    if version == 1:
        return head + signers + data
    is_short = len(data) <= 1232 - 85
    is_plain = all(0x20 <= byte <= 0x7E for byte in data)
    text_format = 2 if not is_short else 0 if is_plain else 1
    return head + domain + bytes([text_format]) + signers + len(data).to_bytes(2, "little") + data


def kit_on_offchain_message(kit, wallet, answer, version, domain, text):
    """The verdict of @solana/offchain-messages on a response."""
    asked = {"version": version, "message": text, "application_domain": base58.b58encode(domain).decode()}
    answered = {name: answer[name] for name in ("offchain_message", "signature")}
    return kit.call("offchainMessage", address=wallet.address, **asked, **answered)


def check_offchain_messages(check, kit, wallets):
    def examine(version, rng):
        wallet, text, domain = rng.choice(wallets), random_text(rng), bytes(32)
        params = {"message": text, "version": version}
        if version == 0 and rng.random() < 0.5:
            domain = rng.randbytes(32)
            params["application_domain"] = base58.b58encode(domain).decode()
        answer = wallet.rpc("sol_signOffchainMessage", **params)
        expected = offchain_message(wallet, version, domain, text)
        check.that(base64.b64decode(answer["offchain_message"]) == expected, f"the layout of version {version}")
        signature = Signature.from_string(answer["signature"])
        wallet.signed_over(answer, expected)
        check.that(signature.verify(public_key(wallet), expected), f"the wallet signed version {version}")
        found = kit_on_offchain_message(kit, wallet, answer, version, domain, text)
        check.that(found["reads_the_request"], f"kit reads the request in version {version}")
        check.that(found["makes_the_same"], f"kit makes the same bytes of version {version}")
        check.that(found["verified"], f"the wallet signed version {version} for kit")

    each(check, "off-chain message", [0, 1] * (OFFCHAIN_MESSAGES // 2), examine)


def signers_of(message):
    """The required signers, in the order of the slots."""
    return message.account_keys[: message.header.num_required_signatures]


class Maker:
    """Random transactions that require a signature of the wallet, and possibly others."""

    def __init__(self, rng, wallet):
        self._random, self._wallet = rng, public_key(wallet)

    def _pubkey(self):
        return Pubkey(self._random.randbytes(32))

    def _instructions(self, signers, tables):
        others = [*signers, *(self._pubkey() for _ in range(self._random.randrange(1, 4)))]
        others += [self._random.choice(list(table.addresses)) for table in tables]
        for number in range(self._random.randrange(1, 4)):
            picked = self._random.sample(others, self._random.randrange(1, len(others) + 1))
            metas = [AccountMeta(key, key in signers, self._random.random() < 0.5) for key in picked]
            if number == 0:
                metas += [AccountMeta(key, True, self._random.random() < 0.5) for key in signers]
                metas += [AccountMeta(self._random.choice(list(table.addresses)), False, True) for table in tables]
            yield Instruction(self._pubkey(), self._random.randbytes(self._random.randrange(60)), metas)

    def _config(self):
        options = {
            "priority_fee": self._random.randrange(2**60),
            "compute_unit_limit": self._random.randrange(1_400_000),
            "loaded_accounts_data_size_limit": self._random.randrange(2**26),
            "heap_size": 32768 + 1024 * self._random.randrange(200),
        }
        return TransactionConfig(**{name: value for name, value in options.items() if self._random.random() < 0.5})

    def message(self, kind, others):
        """A message that the wallet and other keys must sign; the first of them pays."""
        signers = [self._wallet, *(key.pubkey() for key in others)]
        self._random.shuffle(signers)
        blockhash, tables = Hash(self._random.randbytes(32)), []
        if kind == "v0":
            addresses = [[self._pubkey() for _ in range(4)] for _ in range(self._random.randrange(3))]
            tables = [AddressLookupTableAccount(self._pubkey(), listed) for listed in addresses]
        steps = list(self._instructions(signers, tables))
        if kind == "legacy":
            return Message.new_with_blockhash(steps, signers[0], blockhash)
        if kind == "v0":
            return MessageV0.try_compile(signers[0], steps, tables, blockhash)
        return MessageV1.try_compile(signers[0], steps, blockhash, self._config())

    def transaction(self, kind):
        """A transaction within the size limit, signed by some of the others."""
        while True:
            others = [Keypair.from_seed(self._random.randbytes(32)) for _ in range(self._random.randrange(3))]
            message = self.message(kind, others)
            made = {key.pubkey(): key.sign_message(to_bytes_versioned(message)) for key in others}
            held = {key: one for key, one in made.items() if self._random.random() < 0.5}
            slots = [held.get(key, Signature.default()) for key in signers_of(message)]
            transaction = VersionedTransaction.populate(message, slots)
            if len(bytes(transaction)) <= LARGEST[kind]:
                return transaction


VERSIONS = {Message: "legacy", MessageV0: 0, MessageV1: 1}
SETTINGS = ("priority_fee", "compute_unit_limit", "loaded_accounts_data_size_limit", "heap_size")


def told(message):
    """A message in the notation of solana.mjs."""
    header, version = message.header, VERSIONS[type(message)]
    counts = header.num_readonly_signed_accounts, header.num_readonly_unsigned_accounts
    tables = message.address_table_lookups if version == 0 else []
    config = {name: getattr(message.config, name) for name in SETTINGS} if version == 1 else {}
    return {
        "version": version,
        "header": [header.num_required_signatures, *counts],
        "accounts": [str(key) for key in message.account_keys],
        "blockhash": str(message.recent_blockhash),
        "instructions": [[one.program_id_index, list(one.accounts), one.data.hex()] for one in message.instructions],
        "tables": [[str(one.account_key), list(one.writable_indexes), list(one.readonly_indexes)] for one in tables],
        "config": {name: str(value) for name, value in config.items() if value is not None},
    }


def check_signed_for_kit(check, kit, answer, expected, kind):
    """kit decodes the transaction that solders expects, and its signers."""
    found = kit.call("transaction", signed=answer["signed_transaction"], encoding=answer["encoding"])
    message = expected.message
    slots = [
        [str(key), None if held == Signature.default() else bytes(held).hex()]
        for key, held in zip(signers_of(message), expected.signatures, strict=True)
    ]
    check.that(found["message"] == told(message), f"kit reads the message of {kind}")
    check.that(found["message_bytes"] == to_bytes_versioned(message).hex(), f"kit finds the bytes of {kind}")
    check.that(found["signatures"] == slots, f"kit finds the signatures of {kind}")
    check.that(found["verified"] == expected.verify_with_results(), f"kit verifies the signatures of {kind}")
    # For kit, any non-empty slot counts as signed.
    fully_signed = found["fully_signed"] and all(found["verified"])
    check.that(answer["fully_signed"] == fully_signed, f"fully_signed of {kind} is what kit finds")
    if found["message"]["version"] != 1:
        check.that(found["writes_the_same"], f"kit writes {kind} the same")


def check_signed(check, kit, wallet, answer, before, encoding, kind):
    """Our slot has a valid signature; the message and the other slots are unchanged."""
    message = to_bytes_versioned(before.message)
    after = VersionedTransaction.from_bytes(decoded(answer["signed_transaction"], encoding))
    signature = Signature.from_string(answer["signature"])
    expected = [
        signature if key == public_key(wallet) else held
        for key, held in zip(signers_of(before.message), before.signatures, strict=True)
    ]
    wallet.signed_over(answer, message)
    check.that(answer["encoding"] == encoding, f"{kind} is answered in {encoding}")
    check.that(after.message == before.message, f"the message of {kind} is unchanged")
    check.that(to_bytes_versioned(after.message) == message, f"the bytes of {kind} are unchanged")
    check.that(list(after.signatures) == expected, f"one signature of {kind} is new")
    check.that(signature.verify(public_key(wallet), message), f"the wallet signed {kind}")
    check.that(bytes(after) == decoded(answer["signed_transaction"], encoding), f"solders writes {kind} the same")
    good = after.verify_with_results()
    check.that(answer["fully_signed"] == all(good), f"fully_signed of {kind} is what solders finds")
    check_signed_for_kit(check, kit, answer, VersionedTransaction.populate(before.message, expected), kind)


def check_transactions(check, kit, wallets):
    def by_call(kind, rng):
        wallet = rng.choice(wallets)
        before = Maker(rng, wallet).transaction(kind)
        encoding = "base64" if kind == "v1" else rng.choice(["base64", "base58"])
        # For a message without slots, the service adds them.
        if rng.random() < 0.2:
            empty = [Signature.default() for _ in before.signatures]
            before = VersionedTransaction.populate(before.message, empty)
            sent = to_bytes_versioned(before.message)
        else:
            sent = bytes(before)
        answer = wallet.sign_transaction({"transaction": encoded(sent, encoding), "encoding": encoding})
        check_signed(check, kit, wallet, answer, before, encoding, kind)
        # Not for altered ones: solders has limits for the heap of v1 that newer releases do not have.
        before.sanitize()

    def by_method(kind, rng):
        wallet = rng.choice(wallets)
        before = Maker(rng, wallet).transaction(kind)
        method = rng.choice(["sol_signTransaction", "signTransaction"])
        answer = wallet.rpc(method, transaction=encoded(bytes(before), "base64"), encoding="base64")
        check_signed(check, kit, wallet, answer, before, "base64", kind)

    for kind in KINDS:
        each(check, kind, [kind] * TRANSACTIONS_PER_KIND, by_call)
    each(check, "transaction by rpc", KINDS * (METHOD_TRANSACTIONS // len(KINDS)), by_method)


def check_two_signers(check, kit, wallets):
    """Two of our wallets sign one transaction in turn."""

    def examine(kind, rng):
        first, second = rng.sample(wallets, 2)
        other = Keypair.from_seed(rng.randbytes(32))
        message = Message.new_with_blockhash(
            [
                Instruction(
                    Pubkey(rng.randbytes(32)),
                    rng.randbytes(9),
                    [AccountMeta(key, True, True) for key in (public_key(first), public_key(second), other.pubkey())],
                )
            ],
            public_key(first),
            Hash(rng.randbytes(32)),
        )
        slots = [
            other.sign_message(to_bytes_versioned(message)) if key == other.pubkey() else Signature.default()
            for key in message.account_keys[:3]
        ]
        text, done = encoded(bytes(VersionedTransaction.populate(message, slots)), "base64"), []
        for wallet in (first, second):
            answer = wallet.sign_transaction({"transaction": text, "encoding": "base64"})
            text = answer["signed_transaction"]
            done.append(answer["fully_signed"])
        check.that(done == [False, True], "the last of the signatures makes it fully signed")
        whole = VersionedTransaction.from_bytes(base64.b64decode(text))
        check.that(all(whole.verify_with_results()), "all three signatures are good")
        check_signed_for_kit(check, kit, answer, whole, "a transaction of two wallets")

    each(check, "two signers", range(30), examine)


def read_either(data):
    """A transaction with empty slots, or only its message."""
    try:
        return VersionedTransaction.from_bytes(data)
    except ValueError:
        message = from_bytes_versioned(data)
        return VersionedTransaction.populate(message, [Signature.default()] * message.header.num_required_signatures)


def check_mutated(check, kit, wallets):
    """A changed byte is refused or signed as it is, never as something else."""

    def examine(kind, rng):
        wallet = rng.choice(wallets)
        data = bytearray(bytes(Maker(rng, wallet).transaction(kind)))
        data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
        request = {"transaction": encoded(bytes(data), "base64"), "encoding": "base64"}
        answer = wallet.signs_or_refuses(request, "transaction")
        if answer is None:
            return
        before = read_either(bytes(data))
        check_signed(check, kit, wallet, answer, before, "base64", f"a changed {kind}")

    each(check, "mutated", KINDS * (MUTATED // len(KINDS)), examine)


def flipped(data, part, rng):
    """The bytes with one bit flipped in this range."""
    changed = bytearray(data)
    changed[data.index(part) + rng.randrange(len(part))] ^= 1 << rng.randrange(8)
    return bytes(changed)


def check_kit(check, kit, wallet):
    """kit rejects a signature with one bit flipped, so its other verdicts mean something."""
    rng, request = check.random, {"message": "dGVzdA==", "encoding": "base64"}
    answer = wallet.sign_message(**request)
    signature = base64.b64decode(answer["signature"])
    wrong = answer | {"signature": encoded(flipped(signature, signature, rng), "base64")}
    check.that(not kit_verifies_message(kit, wallet, wrong, request), "kit refuses a changed signature")
    other = request | {"message": encoded(flipped(b"test", b"test", rng), "base64")}
    check.that(not kit_verifies_message(kit, wallet, answer, other), "kit refuses a changed message")
    for version in (0, 1):
        answer = wallet.rpc("sol_signOffchainMessage", message="test", version=version)
        signature = base58.b58decode(answer["signature"])
        wrong = answer | {"signature": encoded(flipped(signature, signature, rng), "base58")}
        found = kit_on_offchain_message(kit, wallet, wrong, version, bytes(32), "test")
        check.that(not found["verified"], f"kit refuses a changed signature of version {version}")
        found = kit_on_offchain_message(kit, wallet, answer, version, bytes(32), "text")
        same = found["reads_the_request"] or found["makes_the_same"]
        check.that(not same, f"kit sees another text in version {version}")
    for kind in KINDS:
        before = Maker(rng, wallet).transaction(kind)
        answer = wallet.sign_transaction({"transaction": encoded(bytes(before), "base64"), "encoding": "base64"})
        signed, signature = base64.b64decode(answer["signed_transaction"]), base58.b58decode(answer["signature"])
        slot = list(before.message.account_keys).index(public_key(wallet))
        for part, what in ((signature, "signature"), (bytes(before.message.recent_blockhash), "blockhash")):
            changed = encoded(flipped(signed, part, rng), "base64")
            found = kit.call("transaction", signed=changed, encoding="base64")
            check.that(not found["verified"][slot], f"kit refuses {kind} with a changed {what}")
            same = found["message"] == told(before.message)
            check.that(same == (what == "signature"), f"kit sees the changed {what} of {kind}")


def check_refusals(check, wallet, stranger):
    for kind in KINDS:
        make = Maker(check.random, wallet)
        transaction = make.transaction(kind)
        good = {"transaction": encoded(bytes(transaction), "base64"), "encoding": "base64"}
        # In v1 the signatures come last: without them, it is only a message.
        messages = {len(to_bytes_versioned(transaction.message))} if kind == "v1" else ()
        check_broken(wallet, good, "transaction", "base64", check.random, messages)
        theirs = encoded(bytes(Maker(check.random, stranger).transaction(kind)), "base64")
        wallet.refuses_transaction(good | {"transaction": theirs}, "transaction", f"{kind} of another wallet")
        message = encoded(to_bytes_versioned(transaction.message), "base64")
        for disguised in (message, good["transaction"]):
            request = {"message": disguised, "encoding": "base64"}
            wallet.refuses("sign_message", request, "message", f"{kind} disguised as a message")
            call = {"method": "sol_signMessage", "params": request}
            wallet.refuses("rpc", call, "params.message", f"{kind} disguised as a message of rpc")
    check_common_refusals(wallet, good, "sol_signMessage")
    for encoding in ("hex", "utf-8", "", 7):
        wallet.refuses_transaction(good | {"encoding": encoding}, "encoding", f"a transaction in {encoding!r}")
    params = {"message": "aa", "encoding": "hex"}
    wallet.refuses("rpc", {"method": "sol_signMessage", "params": params}, "params.encoding", "sol_signMessage of hex")


def main():
    check, kit = Check("solana", "solders"), JavaScript("solana.mjs")
    for package in ("@solana/kit", "@solana/offchain-messages"):
        check.also(kit.version(package))
    wallets = create_wallets(Service(), check, "solana", WALLETS)
    check_addresses(check, kit, wallets)
    check_messages(check, kit, wallets)
    check_offchain_messages(check, kit, wallets)
    check_transactions(check, kit, wallets)
    check_payloads(check, wallets)
    check_two_signers(check, kit, wallets)
    check_mutated(check, kit, wallets)
    check_kit(check, kit, wallets[0])
    check_refusals(check, *wallets[:2])
    kit.end()
    check.end()


main()
