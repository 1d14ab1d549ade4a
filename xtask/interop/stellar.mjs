// @stellar/stellar-sdk reads and verifies for stellar.py.

import {
  FeeBumpTransaction,
  Keypair,
  StrKey,
  TransactionBuilder,
  authorizeEntry,
  hash,
  xdr,
} from "@stellar/stellar-sdk";
import { answer, bytes, hex } from "./calls.mjs";

const MESSAGE_PREFIX = "Stellar Signed Message:\n";

const base64 = (text) => Buffer.from(text, "base64");

const verified = (address, digest, signature) => Keypair.fromPublicKey(address).verify(digest, base64(signature));

const operationName = (operation) => operation.body().switch().name;

// In the notation of the library, which has 64-bit numbers as strings.
function told(made) {
  if (made instanceof FeeBumpTransaction) {
    return { fee_source: made.feeSource, fee: made.fee, inner: told(made.innerTransaction) };
  }
  const { timeBounds, ledgerBounds } = made;
  const names = made.tx.operations().map(operationName);
  return {
    source: made.source,
    fee: made.fee,
    sequence: made.sequence,
    memo: hex(made.memo.toXDRObject().toXDR()),
    time_bounds: [timeBounds.minTime, timeBounds.maxTime],
    ledger_bounds: ledgerBounds ? [ledgerBounds.minLedger, ledgerBounds.maxLedger] : null,
    operations: made.operations.map(({ source }, number) => [names[number], source ?? null]),
  };
}

// A v0 transaction as the equivalent v1 (CAP-15): with the type of its source key before it.
function asV1(tx) {
  const type = xdr.PublicKeyType.publicKeyTypeEd25519();
  return xdr.Transaction.fromXDR(Buffer.concat([type.toXDR(), tx.toXDR()]));
}

// The signed digest of an envelope.
function digestOf(envelope, passphrase) {
  const tagged = xdr.TransactionSignaturePayloadTaggedTransaction;
  const tx = envelope.value().tx();
  const ofType = {
    envelopeTypeTxV0: () => tagged.envelopeTypeTx(asV1(tx)),
    envelopeTypeTx: () => tagged.envelopeTypeTx(tx),
    envelopeTypeTxFeeBump: () => tagged.envelopeTypeTxFeeBump(tx),
  };
  const taggedTransaction = ofType[envelope.switch().name]();
  return hash(new xdr.TransactionSignaturePayload({ networkId: hash(passphrase), taggedTransaction }).toXDR());
}

const CALLS = {
  address({ address }) {
    const key = StrKey.decodeEd25519PublicKey(address);
    const encoded = StrKey.encodeEd25519PublicKey(key);
    return { is_valid: StrKey.isValidEd25519PublicKey(address), bytes: hex(key), encoded };
  },
  // SEP-53, which the library does not support in this release.
  message({ address, data, signature }) {
    return verified(address, hash(Buffer.concat([Buffer.from(MESSAGE_PREFIX), bytes(data)])), signature);
  },
  transaction({ address, passphrase, signed }) {
    const made = TransactionBuilder.fromXDR(signed, passphrase);
    const key = Keypair.fromPublicKey(address);
    return {
      told: told(made),
      kind: made.toEnvelope().switch().name,
      transaction: hex(made.tx.toXDR()),
      signatures: made.signatures.map((one) => [hex(one.hint()), hex(one.signature())]),
      hash: hex(made.hash()),
      hint: hex(key.signatureHint()),
      verified: key.verify(made.hash(), made.signatures.at(-1).signature()),
      writes_the_same: made.toXDR() === signed,
    };
  },
  // For operations with a name or number that `Operation` would reject.
  envelope({ address, passphrase, signed, signature }) {
    const envelope = xdr.TransactionEnvelope.fromXDR(signed, "base64");
    const digest = digestOf(envelope, passphrase);
    return {
      transaction: hex(envelope.value().tx().toXDR()),
      hash: hex(digest),
      verified: verified(address, digest, signature),
      writes_the_same: envelope.toXDR("base64") === signed,
    };
  },
  preimage({ address, preimage, signature }) {
    const digest = hash(base64(preimage));
    return { hash: hex(digest), verified: verified(address, digest, signature) };
  },
  // The library builds the preimage itself, and rejects a signature that is not valid for it.
  async authorization({ address, entry, valid_until, passphrase, signature }) {
    let asked = null;
    const signer = (preimage) => {
      asked = preimage.toXDR("base64");
      return { publicKey: address, signature: base64(signature) };
    };
    const unsigned = xdr.SorobanAuthorizationEntry.fromXDR(entry, "base64");
    const authorizing = authorizeEntry(unsigned, signer, valid_until, passphrase);
    return { accepted: await authorizing.then(() => true, () => false), preimage: asked };
  },
};

await answer(CALLS);
