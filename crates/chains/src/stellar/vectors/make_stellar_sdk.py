"""Writes stellar_sdk.json: python make_stellar_sdk.py > stellar_sdk.json (stellar-sdk 16.1.1 from PyPI)."""
import base64
import json
import random

import stellar_sdk
from stellar_sdk import (Account, Asset, FeeBumpTransaction, Keypair, MuxedAccount, Network, Price, Signer, StrKey,
                         TransactionBuilder, scval, xdr)
from stellar_sdk.auth import authorization_payload_hash, authorize_entry
from stellar_sdk.transaction_envelope import TransactionEnvelope

R = random.Random(20261121)
NETWORKS = {"live": Network.PUBLIC_NETWORK_PASSPHRASE, "test": Network.TESTNET_NETWORK_PASSPHRASE}


def keypair():
    return Keypair.from_raw_ed25519_seed(R.randbytes(32))


def b64(data):
    return base64.b64encode(data).decode()


def contract():
    return StrKey.encode_contract(R.randbytes(32))


def message():
    key = keypair()
    text = R.choice(["", "hello", "Zeile\nzwei", "ünïcode 👛 署名", "0x1234"]) + "x" * R.randrange(80)
    return {"seed": key.raw_secret_key().hex(), "address": key.public_key, "secret": key.secret, "text": text,
            "signature": b64(key.sign_message(text))}


def classic(builder, other):
    asset = Asset("USDC", other.public_key)
    muxed = MuxedAccount(other.public_key, R.randrange(2**63))
    steps = [
        lambda: builder.append_payment_op(muxed, Asset.native(), str(R.randrange(1, 1000))),
        lambda: builder.append_create_account_op(other.public_key, "5", source=muxed),
        lambda: builder.append_change_trust_op(asset, "100.5"),
        lambda: builder.append_path_payment_strict_send_op(other.public_key, Asset.native(), "1", asset, "2", [Asset("LONGERCODE", other.public_key)]),
        lambda: builder.append_set_options_op(home_domain="example.com", master_weight=R.randrange(255), signer=Signer.sha256_hash(R.randbytes(32), 1)),
        lambda: builder.append_manage_sell_offer_op(asset, Asset.native(), "3", Price(R.randrange(1, 99), 7)),
        lambda: builder.append_manage_data_op("name", R.randbytes(R.randrange(1, 64))),
        lambda: builder.append_bump_sequence_op(R.randrange(2**60)),
        lambda: builder.append_account_merge_op(other.public_key),
        lambda: builder.append_begin_sponsoring_future_reserves_op(other.public_key),
        lambda: builder.append_claim_claimable_balance_op("00000000" + R.randbytes(32).hex()),
    ]
    for step in R.sample(steps, R.randrange(1, 4)):
        step()


def deep(levels):
    value = scval.to_uint64(R.randrange(2**64))
    for level in range(levels):
        value = scval.to_vec([value]) if level % 2 else scval.to_map({scval.to_symbol("k"): value})
    return value


def arguments():
    return [scval.to_address(contract()), scval.to_int128(-R.randrange(2**100)), deep(R.randrange(6)),
            scval.to_bytes(R.randbytes(5)), scval.to_string("ü")]


def entry(v2):
    function = xdr.SorobanAuthorizedFunction(
        xdr.SorobanAuthorizedFunctionType.SOROBAN_AUTHORIZED_FUNCTION_TYPE_CONTRACT_FN,
        xdr.InvokeContractArgs(stellar_sdk.Address(contract()).to_xdr_sc_address(), scval.to_symbol("transfer").sym, arguments()))
    invocation = xdr.SorobanAuthorizedInvocation(function, [])
    invocation = xdr.SorobanAuthorizedInvocation(function, [invocation] * R.randrange(3))
    kinds = xdr.SorobanCredentialsType
    credentials = xdr.SorobanAddressCredentials(
        stellar_sdk.Address(R.choice([keypair().public_key, contract()])).to_xdr_sc_address(),
        xdr.Int64(R.randrange(2**62)), xdr.Uint32(0), scval.to_void())
    made = (xdr.SorobanCredentials(kinds.SOROBAN_CREDENTIALS_ADDRESS_V2, address_v2=credentials) if v2
            else xdr.SorobanCredentials(kinds.SOROBAN_CREDENTIALS_ADDRESS, address=credentials))
    return xdr.SorobanAuthorizationEntry(made, invocation)


def auth_entry(environment, v2):
    key, seen = keypair(), []

    def signer(preimage):
        seen.append(preimage)
        return scval.to_void()

    authorize_entry(entry(v2), signer, R.randrange(2**32), NETWORKS[environment])
    digest = authorization_payload_hash(seen[0])
    return {"environment": environment, "seed": key.raw_secret_key().hex(), "auth_entry": seen[0].to_xdr(),
            "hash": digest.hex(), "signature": b64(key.sign(digest))}


def transaction(kind, environment):
    wallet, other, payer = keypair(), keypair(), keypair()
    source = R.choice([wallet, other]).public_key
    if kind == "v1" and R.random() < 0.3:
        source = MuxedAccount(source, R.randrange(2**63))
    builder = TransactionBuilder(Account(source, R.randrange(2**50)), NETWORKS[environment], R.randrange(100, 10**6), v1=kind != "v0")
    if kind == "soroban":
        builder.append_invoke_contract_function_op(contract(), "call", arguments(), [entry(False)])
    else:
        classic(builder, other)
    builder.add_time_bounds(0, R.randrange(2**40))
    R.choice([lambda: builder.add_text_memo("memo ü"), lambda: builder.add_id_memo(7), lambda: builder.add_hash_memo(R.randbytes(32)), lambda: None])()
    if kind == "v1" and R.random() < 0.5:
        builder.set_ledger_bounds(5, 900)
        builder.set_min_sequence_age(60)
    envelope = builder.build()
    if kind == "fee-bump":
        envelope.sign(other)
        envelope = TransactionBuilder.build_fee_bump_transaction(payer.public_key, 10**6, envelope, NETWORKS[environment])
    for key in R.sample([other, payer, keypair()], R.randrange(3)):
        envelope.sign(key)
    before = envelope.to_xdr()
    envelope.sign(wallet)
    return {"kind": kind, "environment": environment, "seed": wallet.raw_secret_key().hex(), "before": before,
            "after": envelope.to_xdr(), "hash": envelope.hash_hex(), "signature": b64(envelope.signatures[-1].signature)}


print(json.dumps({
    "made_by": f"stellar-sdk {stellar_sdk.__version__} (PyPI), make_stellar_sdk.py beside this file",
    "messages": [message() for _ in range(30)],
    "transactions": [transaction(kind, environment) for kind in ("v0", "v1", "fee-bump", "soroban") for environment in NETWORKS for _ in range(7)],
    "auth_entries": [auth_entry(environment, v2) for environment in NETWORKS for v2 in (False, True) for _ in range(5)],
}, ensure_ascii=False, indent=0))
