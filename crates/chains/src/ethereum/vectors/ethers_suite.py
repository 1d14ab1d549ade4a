"""Writes ethers-suite.json: python ethers_suite.py DIRECTORY EVERY > ethers-suite.json

DIRECTORY is `package/testcases` of @ethersproject/testcases 5.8.0 (npm); every EVERY-th case is taken, of each kind. The
committed file has EVERY 64. Fields that the suite leaves out are zero there, and are written out here. Cases for chain 0
are left out: nothing is signed for it. Needs eth-utils (PyPI).
"""

import gzip
import json
import sys

from eth_utils import keccak

directory, every = sys.argv[1], int(sys.argv[2])


def suite(name):
    with gzip.open(f"{directory}/{name}.json.gz") as file:
        return json.load(file)


def quantity(value):
    return hex(int(value, 16) if isinstance(value, str) and value != "0x" else int(value or 0) if value != "0x" else 0)


def written(fields, chain_id, kind):
    prices = ["gasPrice"] if kind < 2 else ["maxFeePerGas", "maxPriorityFeePerGas"]
    numbers = ["nonce", "gasLimit", "value", *prices]
    ours = {name: quantity(fields.get(name) or 0) for name in numbers}
    ours["chainId"] = hex(chain_id)
    ours["data"] = fields.get("data") or "0x"
    if fields.get("to"):
        ours["to"] = fields["to"]
    if kind > 0:
        ours["type"] = hex(kind)
    if fields.get("accessList"):
        ours["accessList"] = fields["accessList"]
    return ours


def refused(ours):
    """The field that is refused, if one is: the suite has numbers that no chain takes."""
    bounds = {"nonce": 64, "gasLimit": 64, "gasPrice": 128, "maxFeePerGas": 128, "maxPriorityFeePerGas": 128}
    for name, bits in bounds.items():
        if int(ours.get(name, "0x0"), 16) >= 2**bits:
            return name
    if int(ours.get("maxPriorityFeePerGas", "0x0"), 16) > int(ours.get("maxFeePerGas", "0x0"), 16):
        return "maxPriorityFeePerGas"


def case(key, ours, signed):
    case = {"key": key, "transaction": ours}
    if field := refused(ours):
        return {**case, "refused": f"eth_transaction.{field}"}
    return {**case, "hash": "0x" + keccak(hexstr=signed).hex()}


def legacy(test):
    return case(test["privateKey"], written(test, 5, 0), test["signedTransactionChainId5"])


def typed(test):
    fields = test["tx"]
    return case(test["key"], written(fields, fields["chainId"], fields["type"]), test["signed"])


def typed_data(test):
    return {
        "typed_data": {
            "domain": test["domain"],
            "types": test["types"],
            "primaryType": test["primaryType"],
            "message": test["data"],
        },
        "digest": test["digest"],
    }


transactions = [legacy(test) for test in suite("transactions")[::every]]
on_a_chain = [test for test in suite("typed-transactions") if test["tx"].get("chainId")]
transactions += [typed(test) for test in on_a_chain[::every]]
cases = {
    "made_by": f"@ethersproject/testcases 5.8.0 (npm): transactions, typed-transactions, eip712; ethers_suite.py {every}",
    "transactions": transactions,
    "typed_data": [typed_data(test) for test in suite("eip712")[::every]],
}
print(json.dumps(cases, separators=(",", ":")))
