"""Third-party wallets sign challenges: eth-account for Ethereum, cryptography's Ed25519 for Solana."""

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from eth_account import Account
from eth_account.messages import encode_defunct

from service import Check, Service

WALLETS = 40
DIGITS = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"


def base58(data):
    number, text = int.from_bytes(data, "big"), ""
    while number:
        number, digit = divmod(number, 58)
        text = DIGITS[digit] + text
    return "1" * (len(data) - len(data.lstrip(b"\0"))) + text


class Ethereum:
    """A key of eth-account."""

    wallet_type, channel = "ethereum", "eth_wallet"

    def __init__(self, rng):
        self._account = Account.from_key(rng.randbytes(32))
        self.address = self._account.address

    def sign(self, text):
        return "0x" + self._account.sign_message(encode_defunct(text=text)).signature.hex().removeprefix("0x")


class Solana:
    """A key of cryptography."""

    wallet_type, channel = "solana", "sol_wallet"

    def __init__(self, rng):
        self._key = Ed25519PrivateKey.from_private_bytes(rng.randbytes(32))
        self.address = base58(self._key.public_key().public_bytes_raw())

    def sign(self, text):
        return base58(self._key.sign(text.encode()))


def sign_in(service, check, wallet):
    claim = {"wallet_type": wallet.wallet_type, "public_address": wallet.address}
    begun = service.call("POST", "/v1/auth/wallets/registrations/begin", claim)
    proof = {**claim, "signature": wallet.sign(begun["challenge"]), "session_expires_in": 5}
    signed_in = service.call("POST", "/v1/auth/wallets/verify", proof)
    check.that(signed_in["public_address"] == wallet.address, "the address is shown as its maker writes it")
    check.that(signed_in["user_id"] == begun["user_id"], "the user who was named has signed in")
    factor = signed_in["session"]["factors"][0]
    check.that(factor["delivery_channel"] == wallet.channel, "the session rests on the wallet")
    refusal = service.call("POST", "/v1/auth/wallets/verify", proof, expect=401)
    check.that(refusal["error"]["code"] == "invalid_credentials", "the same signature is worth nothing")


def main():
    check = Check("wallet_sign_in", "eth-account", "cryptography")
    service = Service()
    for number in range(WALLETS):
        sign_in(service, check, (Ethereum, Solana)[number % 2](check.random))
    check.end()


main()
