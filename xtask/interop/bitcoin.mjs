// bip322-js and bitcoinjs-lib verify our signatures for bitcoin.py, and finalize the same PSBTs.

import * as ecc from "@bitcoinerlab/secp256k1";
import { Verifier } from "bip322-js";
import { address, initEccLib, networks, payments, Psbt } from "bitcoinjs-lib";
import { answer, bytes, hex } from "./calls.mjs";

initEccLib(ecc);

const NETWORK = networks.testnet;

// Whether a signature is valid, and low if it is ECDSA. Taproot keys are x-only.
function verifies(publicKey, digest, signature) {
  const isSchnorr = publicKey.length === 32;
  return isSchnorr ? ecc.verifySchnorr(digest, publicKey, signature) : ecc.verify(digest, publicKey, signature, true);
}

// The hash type of a signature, which taproot omits if it is the default.
const hashType = (signature) => (signature.length === 64 ? 0 : signature.at(-1));

// Inserts a signature into its input.
function put(psbt, index, pubkey, signature) {
  const isTaproot = psbt.data.inputs[index].tapInternalKey !== undefined;
  psbt.updateInput(index, isTaproot ? { tapKeySig: signature } : { partialSig: [{ pubkey, signature }] });
}

// Whether an inserted signature is valid for the key.
function holds(psbt, index, pubkey, signature) {
  const input = psbt.data.inputs[index];
  if (input.tapKeySig === undefined) return psbt.validateSignaturesOfInput(index, verifies, pubkey);
  // bitcoinjs-lib reads the hash type of taproot from here, not from the signature.
  input.sighashType = hashType(signature);
  return psbt.validateSignaturesOfInput(index, verifies);
}

const CALLS = {
  address({ address: written, public_key }) {
    const { output } = payments.p2wpkh({ pubkey: bytes(public_key), network: NETWORK });
    return {
      address: address.fromOutputScript(output, NETWORK),
      script: hex(address.toOutputScript(written, NETWORK)),
    };
  },
  message({ address: signer, text, data, signature, is_strict }) {
    // bip322-js treats a Buffer like text, without encoding it.
    return Verifier.verifySignature(signer, text ?? Buffer.from(data, "hex"), signature, is_strict);
  },
  psbt({ before, after, public_key, signatures, finalize }) {
    const pubkey = bytes(public_key);
    const made = signatures.map(({ index, signature }) => ({ index, signature: bytes(signature) }));
    const psbt = Psbt.fromHex(before);
    made.forEach(({ index, signature }) => put(psbt, index, pubkey, signature));
    const is_same = after === null || Psbt.fromHex(after).toHex() === psbt.toHex();
    const found = made.map(({ index, signature }) => ({
      index,
      hash_type: hashType(signature),
      holds: holds(psbt, index, pubkey, signature),
    }));
    const transaction = finalize ? psbt.finalizeAllInputs().extractTransaction(true).toHex() : null;
    return { signatures: found, is_same, transaction };
  },
};

await answer(CALLS);
