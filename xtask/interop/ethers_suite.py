"""The cases of the ethers test suite: its keys are imported, and their signatures are those of @ethersproject/testcases.

Every private key comes sealed by pyhpke, and its wallet has the address of the suite. It signs the transactions of its
cases byte for byte as the suite does. Refused are more gas than 64 bits hold, transactions for no chain, and transactions
without a recipient and without data. The typed data is signed by one wallet after another, and eth-keys recovers the wallet's address from the signature and the
digest of the suite. Addresses without a key stand in authorizations, whose answers repeat them in EIP-55 form.

Left out are:
- hdnode: keys at random paths, and an import derives by one path per chain. Derivation is tested in Rust.
- the signatures of legacy transactions without a chain id (before EIP-155), which the service never makes: the suite
  has each of these transactions for chain 5 as well, and those are here.
- the files of wallets that hold keys, encrypted by several programs. Their keys and addresses are here.

An address is imported once, so a service takes the suite once.
"""

import gzip
import json
from itertools import cycle

from eth_keys import keys
from eth_utils import to_checksum_address

from javascript import JavaScript, home
from key_transfer import OF_EXPORTS, Ethereum, Pyhpke, begin, check_wallet, import_body, new_user
from service import Check, Service, of_night
from wallets import FIELDS, Wallet, each

# The number of cases in each file of 5.8.0.
CASES = {"accounts": 1_038, "transactions": 1_067, "typed-transactions": 1_792, "eip712": 1_025, "wallets": 9}

# The chain id of legacy transactions that have one.
LEGACY_CHAIN = 5

# The first gas value out of bounds; all other numbers of the suite are within.
GAS_BOUND = 2**64


class Imported(Wallet):
    """A wallet with a key of the suite."""

    def __init__(self, service, check, user_id, key, address):
        self._service, self._check = service, check
        self.wallet_type, self.field = Ethereum.wallet_type, FIELDS[Ethereum.wallet_type]
        kem, aead = OF_EXPORTS
        # Most addresses of the suite are in lower case.
        public_key = begin(service, Ethereum, address.lower(), kem)
        message = Pyhpke().seal(kem, aead, public_key, key.encode())
        body = import_body(user_id, Ethereum, address.lower(), *message)
        imported = service.call("POST", "/v1/wallets/import", body)
        check_wallet(check, imported, address, None)
        self.id, self.address = imported["id"], imported["public_address"]


def read_suite(check):
    """The cases of all files. Fewer than expected are a mismatch."""
    suite = {}
    for name, least in CASES.items():
        with gzip.open(f"{home()}/node_modules/@ethersproject/testcases/testcases/{name}.json.gz") as file:
            suite[name] = json.load(file)
        check.that(len(suite[name]) >= least, f"{name} has {least} cases and not {len(suite[name])}")
        # Evenly from the whole file.
        suite[name] = suite[name][:: len(suite[name]) // of_night(len(suite[name]))]
    print("interop ethers_suite:", *(f"{name}={len(cases)}" for name, cases in suite.items()))
    return suite


def keys_of(check, suite):
    """Every private key with its address; some cases share them."""
    found = {case["privateKey"]: case["checksumAddress"] for case in suite["accounts"] if "privateKey" in case}
    others = [(case["privateKey"], case["accountAddress"]) for case in suite["transactions"]]
    others += [(case["key"], case["address"]) for case in suite["typed-transactions"]]
    others += [(case["privateKey"], case["address"]) for case in suite["wallets"]]
    others += [(case["privateKey"], address_of(case["privateKey"])) for case in suite["eip712"] if "privateKey" in case]
    for key, address in others:
        checksum = to_checksum_address(address)
        check.that(found.setdefault(key, checksum) == checksum, f"the suite has one key for {checksum}")
    return found


def address_of(key):
    """Of a case that does not say it."""
    return keys.PrivateKey(bytes.fromhex(key.removeprefix("0x"))).public_key.to_checksum_address()


def import_keys(service, check, suite):
    """The wallets, by their keys."""
    user_id = new_user(service, check, "ethers-suite")
    wallets = {}

    def examine(case, _):
        key, address = case
        wallets[key] = Imported(service, check, user_id, key, address)

    found = keys_of(check, suite)
    each(check, "key", found.items(), examine)
    # In the order of the suite, not of the imports.
    return {key: wallets[key] for key in found if key in wallets}


def check_addresses(check, wallet, accounts):
    """EIP-55 of addresses with unknown keys."""

    def examine(case, _):
        params = {"contractAddress": case["address"], "chainId": "0x1", "nonce": "0x0"}
        written = wallet.rpc("eth_sign7702Authorization", **params)["authorization"]["address"]
        check.that(written == case["checksumAddress"], f"{written} is in the form of the suite")

    each(check, "address", [case for case in accounts if "privateKey" not in case], examine)


def quantity(number):
    """A number of the suite in the notation of a request. A missing one, or 0x, is zero."""
    if isinstance(number, str):
        number = int(number.removeprefix("0x") or "0", 16)
    return hex(number or 0)


def request(fields, kind, chain_id):
    """A transaction of the suite as a request."""
    fees = ["gasPrice"] if kind < 2 else ["maxFeePerGas", "maxPriorityFeePerGas"]
    asked = {name: quantity(fields.get(name)) for name in ("nonce", "gasLimit", "value", *fees)}
    asked |= {"type": hex(kind), "chainId": hex(chain_id)}
    return asked | {name: fields[name] for name in ("to", "data", "accessList") if fields.get(name)}


def refused(asked):
    """The refused field, if any."""
    if int(asked["chainId"], 16) == 0:
        return "chainId"
    if int(asked["gasLimit"], 16) >= GAS_BOUND:
        return "gasLimit"
    return None if "to" in asked or asked.get("data", "0x") != "0x" else "to"


def transactions(suite):
    """The key, the request and the signed transaction of each case."""
    for case in suite["transactions"]:
        yield case["privateKey"], request(case, 0, LEGACY_CHAIN), case["signedTransactionChainId5"]
    for case in suite["typed-transactions"]:
        fields = case["tx"]
        yield case["key"], request(fields, fields["type"], fields.get("chainId", 0)), case["signed"]


def check_transactions(check, wallets, suite):
    def examine(case, _):
        key, asked, expected = case
        if field := refused(asked):
            wallets[key].refuses_transaction(asked, field, f"{field} {asked.get(field)}")
        else:
            signed = wallets[key].sign_transaction(asked)["signed_transaction"]
            check.that(signed == expected, f"{asked} is signed as in the suite")

    each(check, "transaction", transactions(suite), examine)


def check_typed_data(check, wallets, cases):
    def examine(case, _):
        wallet, test = case
        names = {"domain": "domain", "types": "types", "primaryType": "primaryType", "message": "data"}
        typed_data = {ours: test[theirs] for ours, theirs in names.items()}
        wallet = wallets.get(test.get("privateKey"), wallet)
        text = wallet.rpc("eth_signTypedData_v4", typed_data=typed_data)["signature"]
        signature, digest = bytes.fromhex(text.removeprefix("0x")), bytes.fromhex(test["digest"].removeprefix("0x"))
        by = keys.Signature(signature[:64] + bytes([signature[64] - 27])).recover_public_key_from_msg_hash(digest)
        check.that(by.to_checksum_address() == wallet.address, f"the digest of {test['name']} is the one signed")
        if "signature" in test:
            check.that(text == test["signature"], f"{test['name']} is signed as in the suite")

    each(check, "typed data", zip(cycle(wallets.values()), cases), examine)


def main():
    check = Check("ethers_suite", "eth-keys", "coincurve", "pyhpke")
    check.also(JavaScript.version("@ethersproject/testcases"))
    suite = read_suite(check)
    wallets = import_keys(Service(), check, suite)
    check_addresses(check, next(iter(wallets.values())), suite["accounts"])
    check_transactions(check, wallets, suite)
    check_typed_data(check, wallets, suite["eip712"])
    check.end()


main()
