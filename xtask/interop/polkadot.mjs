// @polkadot/util-crypto and @polkadot/types verify our signatures for polkadot.py, and build the same extrinsics.

import { Metadata, Raw, TypeRegistry } from "@polkadot/types";
import { u8aWrapBytes } from "@polkadot/util";
import { blake2AsU8a, cryptoWaitReady, decodeAddress, encodeAddress, sr25519Verify } from "@polkadot/util-crypto";
import { answer, bytes, hex } from "./calls.mjs";

// The part of a chain's metadata that encoding an extrinsic requires.
const METADATA = { metadata: { V14: { extrinsic: { version: 4 } } } };

const registry = new TypeRegistry();
registry.setMetadata(new Metadata(registry, METADATA));
// The requested calls are random bytes of no chain.
registry.register("Call", Raw);

// Sets the metadata of the payload's chain: its extensions and the type of its asset ids.
function ofChain({ signedExtensions, assetId }) {
  const size = assetId ? bytes(assetId.slice(4)).length : 0;
  // A struct, like real ids: polkadot.js mistakes the hex of a plain array for a nested option.
  registry.register({ TAssetConversion: `Option<{"bytes":"[u8;${size}]"}>` });
  registry.setSignedExtensions(signedExtensions);
}

// The bytes that polkadot.js signs for a payload: the hash if it is long.
function signedBytes(payload) {
  let asked;
  const key = {
    sign(data) {
      asked = data;
      return new Uint8Array(65);
    },
  };
  registry.createType("ExtrinsicPayload", payload, { version: payload.version }).sign(key);
  return asked;
}

// The extrinsic of a payload and its signature.
function extrinsic(payload, signature) {
  const call = registry.createType("Call", payload.method);
  return registry.createType("Extrinsic", { method: call }).addSignature(payload.address, signature, payload);
}

// The fields of an extrinsic; null if absent.
function fields(data) {
  const read = registry.createType("Extrinsic", data);
  return {
    signer: encodeAddress(read.signer.toString(), 0),
    signature: read.inner.signature.multiSignature.toJSON(),
    era: read.era.toHex(),
    nonce: read.nonce.toString(),
    tip: read.tip.toString(),
    asset_id: read.assetId ? hex(read.assetId.toU8a()) : null,
    mode: read.mode ? read.mode.toNumber() : null,
    call: read.method.toHex(),
  };
}

const CALLS = {
  address({ address }) {
    const publicKey = decodeAddress(address, false, 0);
    return { public_key: hex(publicKey), address: encodeAddress(publicKey, 0) };
  },
  message({ address, message, signature }) {
    // Not signatureVerify, which also accepts a signature of the message without its tag.
    return sr25519Verify(u8aWrapBytes(bytes(message)), signature, decodeAddress(address));
  },
  transaction({ payload, signature, transaction }) {
    ofChain(payload);
    const signed = signedBytes(payload);
    const { isSr25519, value } = registry.createType("MultiSignature", signature);
    return {
      signed: hex(signed),
      holds: isSr25519 && sr25519Verify(signed, value.toU8a(), decodeAddress(payload.address)),
      transaction: extrinsic(payload, signature).toHex(),
      fields: fields(transaction),
    };
  },
  raw({ address, data, signature }) {
    const signed = bytes(data).length > 256 ? blake2AsU8a(bytes(data)) : bytes(data);
    const { isSr25519, value } = registry.createType("MultiSignature", signature);
    return isSr25519 && sr25519Verify(signed, value.toU8a(), decodeAddress(address));
  },
};

await cryptoWaitReady();
await answer(CALLS);
