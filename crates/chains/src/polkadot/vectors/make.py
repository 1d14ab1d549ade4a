"""Writes python.json: keys, addresses and signatures of the Rust bindings of Python, and of bip-utils.

    pip install py-sr25519-bindings==0.2.4 bip-utils==2.12.3 substrate-interface==1.8.1
    python make.py <directory of the vectors>
"""

import json
import random
import sys

import sr25519
from bip_utils import SS58Encoder
from substrateinterface import Keypair, KeypairType

source = random.Random(20261121)
keys = []
for _ in range(24):
    seed = source.randbytes(32)
    public_key, secret = sr25519.pair_from_seed(seed)
    message = source.randbytes(source.randrange(0, 80))
    keypair = Keypair.create_from_seed("0x" + seed.hex(), ss58_format=0, crypto_type=KeypairType.SR25519)
    assert keypair.public_key == public_key
    address = SS58Encoder.Encode(public_key, 0)
    assert keypair.ss58_address == address
    keys.append({
        "seed": seed.hex(),
        "publicKey": public_key.hex(),
        "address": address,
        "message": message.hex(),
        "signature": sr25519.sign((public_key, secret), message).hex(),
        "interface": keypair.sign(message).hex(),
    })

about = "made by make.py with py-sr25519-bindings 0.2.4, substrate-interface 1.8.1 and bip-utils 2.12.3"
with open(sys.argv[1] + "/python.json", "w") as file:
    lines = ",\n".join("  " + json.dumps(key, separators=(",", ":")) for key in keys)
    file.write(f'{{"about":{json.dumps(about)},\n"keys":[\n{lines}\n]}}\n')
