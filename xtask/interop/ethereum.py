"""eth-account recovers the signer of what our Ethereum wallets sign."""

from eth_account import Account
from eth_account.messages import encode_defunct
from eth_utils import is_checksum_address

from service import Check, Service

USERS = 8
RANDOM_MESSAGES = 240

# Half the order of secp256k1: a signature with a larger s is refused by contracts (EIP-2).
HALF_ORDER = 0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141 // 2

CHOSEN_MESSAGES = [
    "test",
    "hello",
    "",
    " ",
    "\n",
    "a\r\nb\tc",
    "0x",
    "0xdeadbeef",
    "\x19Ethereum Signed Message:\n4test",
    "ünïcödé",
    "e\u0301",
    "日本語のメッセージ",
    "\u202eright to left",
    "👩\u200d👩\u200d👧\u200d👦",
    "\U0010ffff",
    '{"quoted": "\\u0041"}',
    "x" * 31,
    "x" * 32,
    "x" * 33,
    "long " * 10_000,
]

ALPHABETS = [
    (0x20, 0x7E),
    (0x01, 0x1F),
    (0xA0, 0x2FF),
    (0x370, 0x1FFF),
    (0x3040, 0x9FFF),
    (0x1F300, 0x1FAFF),
]


def random_message(rng):
    """Text of one or several alphabets, mostly short."""
    length = rng.choice([rng.randrange(1, 40), rng.randrange(40, 400), rng.randrange(400, 4_000)])
    alphabets = rng.sample(ALPHABETS, rng.randrange(1, len(ALPHABETS) + 1))
    return "".join(chr(rng.randint(*rng.choice(alphabets))) for _ in range(length))


def create_wallet(service, check, number):
    """A new user with an Ethereum wallet, as `users/create` and `wallets/create` both give it."""
    email = f"interop-{check.seed}-{number}@example.com"
    user = service.call("POST", "/v1/auth/users/create", {"email": email, "wallet_type": "ethereum"})
    wallet = service.call(
        "POST", "/v1/wallets/create", {"user_id": user["user_id"], "wallet_type": "ethereum"}
    )
    again = service.get(f"/v1/wallets/{wallet['id']}")
    check.that(again["public_address"] == wallet["public_address"], "create and get show one address")
    check.that(wallet["wallet_type"] == "ethereum", "the wallet is an Ethereum wallet")
    check.that(is_checksum_address(wallet["public_address"]), "the address is in EIP-55 form")
    owned = service.get("/v1/wallets/list", user_id=user["user_id"])
    check.that([one["id"] for one in owned["wallets"]] == [wallet["id"]], "the user has this one wallet")
    return wallet


def check_signature(service, check, wallet, message):
    answer = service.call("POST", f"/v1/wallets/{wallet['id']}/sign_message", {"message": message})
    signature = bytes.fromhex(answer["signature"].removeprefix("0x"))
    shown = ascii(message[:40])
    check.that(answer["signature"].startswith("0x") and len(signature) == 65, f"65 bytes of 0x hex for {shown}")
    check.that(signature[64] in (27, 28), f"v is 27 or 28 for {shown}")
    check.that(int.from_bytes(signature[32:64], "big") <= HALF_ORDER, f"s is in the lower half for {shown}")
    signer = Account.recover_message(encode_defunct(text=message), signature=signature)
    check.that(signer == wallet["public_address"], f"the wallet signed {shown}")
    check.that(answer["wallet"]["public_address"] == wallet["public_address"], "the answer shows the wallet")


def main():
    check = Check("ethereum", "eth-account", "eth-keys")
    service = Service()
    wallets = [create_wallet(service, check, number) for number in range(USERS)]
    addresses = {wallet["public_address"] for wallet in wallets}
    check.that(len(addresses) == USERS, "every wallet has an address of its own")
    messages = CHOSEN_MESSAGES + [random_message(check.random) for _ in range(RANDOM_MESSAGES)]
    for number, message in enumerate(messages):
        check_signature(service, check, wallets[number % USERS], message)
    check.end()


main()
