"""pyhpke and @hpke/core seal private keys and phrases for the service, and open exported ones. The libraries of five chains create them."""

import base64
import hashlib
import json

import base58
import embit.bip32
import embit.bip39
import sr25519
from embit import ec, script
from embit.networks import NETWORKS
from eth_account import Account
from mnemonic import Mnemonic
from pyhpke import AEADId, CipherSuite, KDFId, KEMId
from scalecodec.utils.ss58 import ss58_encode
from solders.keypair import Keypair as SolanaKeypair
from stellar_sdk import Keypair as StellarKeypair

from javascript import JavaScript
from service import Check, Refused, Service
from wallets import each

# The number of keys and of phrases of each chain; suites get equal shares.
KEYS = 32
PHRASES = 12
EXPORTS = 12
REFUSALS = 8

KEMS = {"x25519": KEMId.DHKEM_X25519_HKDF_SHA256, "p256": KEMId.DHKEM_P256_HKDF_SHA256}
AEADS = {"CHACHA20_POLY1305": AEADId.CHACHA20_POLY1305, "AES_GCM256": AEADId.AES256_GCM}
SUITES = [(kem, aead) for kem in KEMS for aead in AEADS]
OF_EXPORTS = ("x25519", "CHACHA20_POLY1305")
TESTNET = NETWORKS["test"]

Account.enable_unaudited_hdwallet_features()


class Pyhpke:
    """pyhpke."""

    @staticmethod
    def _suite(kem, aead):
        return CipherSuite.new(KEMS[kem], KDFId.HKDF_SHA256, AEADS[aead])

    def seal(self, kem, aead, public_key, plaintext, info=b"", aad=b""):
        """The sealed message: the encapsulated key, and the ciphertext with its tag."""
        suite = self._suite(kem, aead)
        encapsulated, context = suite.create_sender_context(suite.kem.deserialize_public_key(public_key), info)
        return encapsulated, context.seal(plaintext, aad)

    def recipient(self, rng):
        """A public key, and a function that opens messages to it."""
        suite = self._suite(*OF_EXPORTS)
        pair = suite.kem.derive_key_pair(rng.randbytes(32))

        def opens(encapsulated, ciphertext):
            return suite.create_recipient_context(encapsulated, pair.private_key).open(ciphertext)

        return pair.public_key.to_public_bytes(), opens


class HpkeCore:
    """@hpke/core."""

    def __init__(self):
        self._javascript = JavaScript("key_transfer.mjs")
        self.version = self._javascript.version("@hpke/core")
        self.end = self._javascript.end

    def seal(self, kem, aead, public_key, plaintext, info=b"", aad=b""):
        asked = {"kem": kem, "aead": aead, "public_key": public_key, "plaintext": plaintext, "info": info, "aad": aad}
        sent = self._javascript.call("seal", **asked)
        return bytes.fromhex(sent["encapsulated_key"]), bytes.fromhex(sent["ciphertext"])

    def recipient(self, _rng):
        kem, aead = OF_EXPORTS
        made = self._javascript.call("recipient", kem=kem, aead=aead)

        def opens(encapsulated, ciphertext):
            sent = {"encapsulated_key": encapsulated, "ciphertext": ciphertext}
            return bytes.fromhex(self._javascript.call("open", id=made["id"], **sent)["plaintext"])

        return bytes.fromhex(made["public_key"]), opens


class Ethereum:
    wallet_type = "ethereum"

    @staticmethod
    def drawn(rng):
        key = rng.randbytes(32)
        hex_text = key.hex()
        forms = [key, hex_text.encode(), b"0x" + hex_text.encode(), base64.b64encode(key)]
        return Account.from_key(key).address, forms, key

    @staticmethod
    def of_phrase(phrase, index):
        return Account.from_mnemonic(phrase, account_path=f"m/44'/60'/0'/0/{index}").address


class Bitcoin:
    wallet_type = "bitcoin"

    @staticmethod
    def drawn(rng):
        key = ec.PrivateKey(rng.randbytes(32), network=TESTNET)
        make = rng.choice([script.p2wpkh, script.p2tr])
        forms = [key.secret, key.secret.hex().encode(), key.wif(TESTNET).encode()]
        return make(key.get_public_key()).address(TESTNET), forms, key.secret

    @staticmethod
    def of_phrase(phrase, index):
        root = embit.bip32.HDKey.from_seed(embit.bip39.mnemonic_to_seed(phrase))
        purpose, make = [(84, script.p2wpkh), (86, script.p2tr)][index % 2]
        return make(root.derive(f"m/{purpose}h/1h/0h/0/{index}").key.get_public_key()).address(TESTNET)


class Solana:
    wallet_type = "solana"

    @staticmethod
    def drawn(rng):
        pair = SolanaKeypair.from_seed(rng.randbytes(32))
        both = bytes(pair)
        forms = [both, both[:32], base58.b58encode(both), base64.b64encode(both), pair.to_json().encode()]
        return str(pair.pubkey()), forms, both

    @staticmethod
    def of_phrase(phrase, index):
        seed = Mnemonic.to_seed(phrase)
        return str(SolanaKeypair.from_seed_and_derivation_path(seed, f"m/44'/501'/{index}'/0'").pubkey())


class Stellar:
    wallet_type = "XLM"

    @staticmethod
    def drawn(rng):
        pair = StellarKeypair.from_raw_ed25519_seed(rng.randbytes(32))
        seed = pair.raw_secret_key()
        return pair.public_key, [seed, pair.secret.encode(), seed.hex().encode()], seed

    @staticmethod
    def of_phrase(phrase, index):
        return StellarKeypair.from_mnemonic_phrase(phrase, index=index).public_key


class Polkadot:
    wallet_type = "DOT"

    @staticmethod
    def drawn(rng):
        seed = rng.randbytes(32)
        public_key, _ = sr25519.pair_from_seed(seed)
        return ss58_encode(public_key, 0), [seed, seed.hex().encode(), b"0x" + seed.hex().encode()], seed

    @staticmethod
    def of_phrase(phrase, index):
        # substrate-bip39: PBKDF2 over the entropy, not the words. `//i` is a hard junction.
        entropy = bytes(Mnemonic("english").to_entropy(phrase))
        seed = hashlib.pbkdf2_hmac("sha512", entropy, b"mnemonic", 2048)[:32]
        pair = sr25519.pair_from_seed(seed)
        if index:
            junction = index.to_bytes(32, "little")
            _, public_key, _ = sr25519.hard_derive_keypair((junction, *pair), b"")
        else:
            public_key, _ = pair
        return ss58_encode(public_key, 0)


CHAINS = [Ethereum, Bitcoin, Solana, Stellar, Polkadot]


def new_user(service, check, name):
    email = f"interop-transfer-{check.seed}-{name}@example.com"
    return service.call("POST", "/v1/auth/users/create", {"email": email, "wallet_type": "ethereum"})["user_id"]


def begin(service, chain, address, kem, entropy_type="private_key", **further):
    asked = {
        "public_address": address,
        "wallet_type": chain.wallet_type,
        "encryption_type": "HPKE",
        "entropy_type": entropy_type,
        "kem": kem,
    }
    begun = service.call("POST", "/v1/wallets/import/begin", asked | further)
    return base64.b64decode(begun["encryption_public_key"], validate=True)


def import_body(user_id, chain, address, encapsulated, ciphertext, entropy_type="private_key", **further):
    wallet = {
        "public_address": address,
        "wallet_type": chain.wallet_type,
        "encryption_type": "HPKE",
        "entropy_type": entropy_type,
        "ciphertext": base64.b64encode(ciphertext).decode(),
        "encapsulated_key": base64.b64encode(encapsulated).decode(),
    }
    return {"user_id": user_id, "wallet": wallet | further}


def check_wallet(check, wallet, address, account_index):
    holds = (
        wallet["public_address"] == address
        and wallet["is_imported"]
        and wallet["verified"]
        and not wallet["is_read_only"]
        and wallet["delegated"] is False
        and wallet["account_index"] == account_index
    )
    check.that(holds, f"the wallet is that of {address}: {wallet}")


def check_keys(service, check, library, user_id):
    """Keys of all chains in all suites and formats, with and without optional parameters."""

    def examine(case, rng):
        chain, (kem, aead), number = case
        address, forms, _ = chain.drawn(rng)
        further, info, aad = {}, b"", b""
        if number % 3 == 0:
            info, aad = rng.randbytes(rng.randrange(64)), rng.randbytes(rng.randrange(64))
            context = {"info": base64.b64encode(info).decode(), "aad": base64.b64encode(aad).decode()}
            further["hpke_config"] = context | rng.choice([{}, {"aead_algorithm": aead}])
        public_key = begin(service, chain, address, kem)
        form = rng.choice(forms)
        message = library.seal(kem, aead, public_key, form, info, aad)
        body = import_body(user_id, chain, address, *message, **further)
        check_wallet(check, service.call("POST", "/v1/wallets/import", body), address, None)

    cases = [(chain, SUITES[number % 4], number) for chain in CHAINS for number in range(KEYS)]
    each(check, f"keys {type(library).__name__}", cases, examine)


def check_phrases(service, check, library, user_id):
    def examine(case, rng):
        chain, (kem, aead), number = case
        phrase = Mnemonic("english").to_mnemonic(rng.randbytes(rng.choice([16, 20, 24, 28, 32])))
        index = rng.choice([0, 1, rng.randrange(1_000)])
        address = chain.of_phrase(phrase, index)
        early = {"account_index": index} if number % 2 else {}
        late = {} if number % 2 else {"account_index": index}
        public_key = begin(service, chain, address, kem, "hd", **early)
        written = rng.choice([phrase, phrase.upper(), phrase.title()])
        message = library.seal(kem, aead, public_key, written.encode())
        body = import_body(user_id, chain, address, *message, "hd", **late)
        check_wallet(check, service.call("POST", "/v1/wallets/import", body), address, index)

    cases = [(chain, SUITES[number % 4], number) for chain in CHAINS for number in range(PHRASES)]
    each(check, f"phrases {type(library).__name__}", cases, examine)


def check_exports(service, check, library, user_id):
    """An export opens for the recipient, and is the imported key."""

    def examine(case, rng):
        chain, _ = case
        address, forms, key = chain.drawn(rng)
        public_key = begin(service, chain, address, "x25519")
        message = library.seal(*OF_EXPORTS, public_key, forms[0])
        wallet = service.call("POST", "/v1/wallets/import", import_body(user_id, chain, address, *message))
        recipient, opens = library.recipient(rng)
        asked = {"recipient_public_key": base64.b64encode(recipient).decode(), "entropy_type": "private_key"}
        exported = service.call("POST", f"/v1/wallets/{wallet['id']}/export", asked)
        encapsulated, ciphertext = (
            base64.b64decode(exported[name], validate=True) for name in ("encapsulated_key", "ciphertext")
        )
        opened = opens(encapsulated, ciphertext)
        check.that(opened == key, f"the exported key of {address} is the one that came")

    each(check, f"exports {type(library).__name__}", [(chain, number) for chain in CHAINS for number in range(EXPORTS)], examine)


def check_refusals(service, check, library, user_id):
    """A used message, an altered one and one for another address are refused; a valid one is accepted afterwards."""

    def refused(body, code, description):
        try:
            answer = service.call("POST", "/v1/wallets/import", body, expect=400)
        except Refused as other:
            check.that(False, f"{description}: {other}")
            return
        check.that(answer["error"]["code"] == code, f"{description}: {answer['error']['code']}")

    def examine(case, rng):
        chain, (kem, aead) = case
        address, forms, _ = chain.drawn(rng)
        other, other_forms, _ = chain.drawn(rng)
        public_key = begin(service, chain, address, kem)
        encapsulated, ciphertext = library.seal(kem, aead, public_key, forms[0])
        at = rng.randrange(len(ciphertext))
        altered = ciphertext[:at] + bytes([ciphertext[at] ^ 1 << rng.randrange(8)]) + ciphertext[at + 1 :]
        refused(import_body(user_id, chain, address, encapsulated, altered), "decryption_failed", "an altered message")
        refused(import_body(user_id, chain, other, encapsulated, ciphertext), "decryption_failed", "another address")
        for point in (bytes(len(encapsulated)), b"\1" + bytes(len(encapsulated) - 1)):
            refused(import_body(user_id, chain, address, point, ciphertext), "decryption_failed", "no point to agree with")
        wrong = library.seal(kem, aead, public_key, other_forms[0])
        refused(import_body(user_id, chain, address, *wrong), "address_mismatch", "the key of another address")
        right = import_body(user_id, chain, address, encapsulated, ciphertext)
        check_wallet(check, service.call("POST", "/v1/wallets/import", right), address, None)
        refused(right, "decryption_failed", "a message that was used")

    cases = [(chain, SUITES[number % 4]) for chain in CHAINS for number in range(REFUSALS)]
    each(check, f"refusals {type(library).__name__}", cases, examine)


class Exporter(Service):
    """The same App with a key for import and export, which an operator creates and allows."""

    def __init__(self):
        super().__init__()
        self.operate("app", "set", self.app_id, "wallet_export=true")
        scopes = "wallets:write,wallets:export"
        made = self.operate("key", "create", self.app_id, "test", "--scope", scopes, "--json")
        self.secret_key = json.loads(made)["key"]


def main():
    service, exporter = Service(), Exporter()
    hpke_core = HpkeCore()
    check = Check("key_transfer", "pyhpke", "eth-account", "solders", "embit", "stellar-sdk", "py-sr25519-bindings")
    check.also(hpke_core.version)
    for library in (Pyhpke(), hpke_core):
        user_id = new_user(service, check, type(library).__name__.lower())
        check_keys(service, check, library, user_id)
        check_phrases(service, check, library, user_id)
        check_refusals(service, check, library, user_id)
        check_exports(exporter, check, library, user_id)
    hpke_core.end()
    check.end()


if __name__ == "__main__":
    main()
