"""Makes python_phrases.json, addresses of phrases, and python_keys.json, private keys in the forms that other software writes.

bip-utils 2.12.3 derives and encodes, but for: Solana's pairs by solders 0.29.0, Stellar's secret seeds by stellar-sdk 16.1.1,
Polkadot's expanded secrets by py-sr25519-bindings 0.2.4.

pip install bip-utils==2.12.3 solders==0.29.0 stellar-sdk==16.1.1 py-sr25519-bindings==0.2.4; python make.py
"""
import base64
import hashlib
import json
import random

import sr25519
from bip_utils import (
    Base58Encoder,
    Bip39MnemonicGenerator,
    Bip39SeedGenerator,
    Bip44,
    Bip44Changes,
    Bip44Coins,
    Bip84,
    Bip84Coins,
    Bip86,
    Bip86Coins,
    P2TRAddrEncoder,
    P2WPKHAddrEncoder,
    Secp256k1PrivateKey,
    EthAddrEncoder,
    SubstrateBip39SeedGenerator,
    Substrate,
    SubstrateCoins,
    SubstrateSr25519AddrEncoder,
    WifEncoder,
)
from solders.keypair import Keypair as SolanaPair
from stellar_sdk import Keypair as StellarPair

EXTERNAL = Bip44Changes.CHAIN_EXT
RNG = random.Random("vestry phrases")


def addresses(phrase, index):
    """In the order of the wallet types, Bitcoin's four last."""
    seed = Bip39SeedGenerator(phrase).Generate()

    def accounts(hierarchy, coin):
        return hierarchy.FromSeed(seed, coin).Purpose().Coin()

    def first_account(hierarchy, coin):
        return accounts(hierarchy, coin).Account(0).Change(EXTERNAL).AddressIndex(index)

    def address(key):
        return key.PublicKey().ToAddress()

    substrate = Substrate.FromSeed(SubstrateBip39SeedGenerator(phrase).Generate(), SubstrateCoins.POLKADOT)
    return [
        address(first_account(Bip44, Bip44Coins.ETHEREUM)),
        address(accounts(Bip44, Bip44Coins.SOLANA).Account(index).Change(EXTERNAL)),
        address(substrate.DerivePath(f"//{index}") if index else substrate),
        address(accounts(Bip44, Bip44Coins.STELLAR).Account(index)),
        address(first_account(Bip84, Bip84Coins.BITCOIN)),
        address(first_account(Bip84, Bip84Coins.BITCOIN_TESTNET)),
        address(first_account(Bip86, Bip86Coins.BITCOIN)),
        address(first_account(Bip86, Bip86Coins.BITCOIN_TESTNET)),
    ]


def phrases():
    for number in range(40):
        phrase = Bip39MnemonicGenerator().FromEntropy(RNG.randbytes((16, 20, 24, 28, 32)[number % 5])).ToStr()
        indexes = [0, 1, RNG.randrange(2, 100), RNG.randrange(1 << 31), (1 << 31) - 1]
        yield [phrase, [[index, *addresses(phrase, index)] for index in indexes]]


def texts(raw):
    """The forms that every chain has."""
    standard = base64.b64encode(raw).decode()
    url = base64.urlsafe_b64encode(raw).decode()
    return [raw.hex(), "0x" + raw.hex().upper(), Base58Encoder.Encode(raw), standard, standard.rstrip("="), url.rstrip("=")]


def keys():
    for number in range(20):
        raw = hashlib.sha256(b"vestry key %d" % number).digest()
        secp = Secp256k1PrivateKey.FromBytes(raw).PublicKey()
        yield ["ethereum", EthAddrEncoder.EncodeKey(secp), texts(raw)]
        for environment, hrp, version in (("live", "bc", b"\x80"), ("test", "tb", b"\xef")):
            wif = WifEncoder.Encode(raw, version)
            for encoder in (P2WPKHAddrEncoder, P2TRAddrEncoder):
                yield [f"bitcoin {environment}", encoder.EncodeKey(secp, hrp=hrp), [*texts(raw)[:3], wif]]
        solana = SolanaPair.from_seed(raw)
        yield ["solana", str(solana.pubkey()), [*texts(raw)[:3], *texts(bytes(solana)), str(solana)]]
        stellar = StellarPair.from_raw_ed25519_seed(raw)
        yield ["stellar", stellar.public_key, [*texts(raw)[:3], stellar.secret]]
        public, secret = sr25519.pair_from_seed(raw)
        address = SubstrateSr25519AddrEncoder.EncodeKey(public, ss58_format=0)
        yield ["polkadot", address, [*texts(raw)[:3], *texts(secret)]]
        # These have no seed: a soft junction changes only the number.
        _code, public, secret = sr25519.derive_keypair((raw, public, secret), b"")
        address = SubstrateSr25519AddrEncoder.EncodeKey(public, ss58_format=0)
        ed25519 = sr25519.convert_secret_key_to_ed25519(secret)
        yield ["polkadot", address, [secret.hex(), ed25519.hex(), Base58Encoder.Encode(ed25519)]]


for name, rows in (("phrases", phrases()), ("keys", keys())):
    with open(f"python_{name}.json", "w") as file:
        print(json.dumps(list(rows), separators=(",", ":")).replace("],[", "],\n["), file=file)
