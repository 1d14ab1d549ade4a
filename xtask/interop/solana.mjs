// @solana/kit and @solana/offchain-messages read and verify for solana.py.

import { isDeepStrictEqual } from "node:util";
import * as kit from "@solana/kit";
import * as offchain from "@solana/offchain-messages";
import { answer, hex } from "./calls.mjs";

const ENCODERS = {
  "utf-8": kit.getUtf8Encoder(),
  hex: kit.getBase16Encoder(),
  base64: kit.getBase64Encoder(),
  base58: kit.getBase58Encoder(),
};

const read = (text, encoding) => ENCODERS[encoding].encode(encoding === "hex" ? text.replace(/^0x/, "") : text);

async function verified(address, signature, data) {
  const key = await kit.getPublicKeyFromAddress(kit.address(address));
  return kit.verifySignature(key, kit.signatureBytes(signature), data);
}

const HEADER = ["numSignerAccounts", "numReadonlySignerAccounts", "numReadonlyNonSignerAccounts"];

// SIMD-0385, built from the codecs of the library, whose decoders support version 0 at most in this release.
const V1_MESSAGE = 0x81;
const V1_HEAD = kit.getStructDecoder([
  ["version", kit.getU8Decoder()],
  ...HEADER.map((count) => [count, kit.getU8Decoder()]),
  ["configMask", kit.getU32Decoder()],
  ["lifetimeToken", kit.fixDecoderSize(kit.getBase58Decoder(), 32)],
  ["numInstructions", kit.getU8Decoder()],
  ["numAccounts", kit.getU8Decoder()],
]);
const V1_INSTRUCTION_HEAD = kit.getStructDecoder([
  ["programAddressIndex", kit.getU8Decoder()],
  ["numAccounts", kit.getU8Decoder()],
  ["numBytes", kit.getU16Decoder()],
]);
const V1_CONFIG = [
  ["priority_fee", 0b00011, kit.getU64Decoder()],
  ["compute_unit_limit", 0b00100, kit.getU32Decoder()],
  ["loaded_accounts_data_size_limit", 0b01000, kit.getU32Decoder()],
  ["heap_size", 0b10000, kit.getU32Decoder()],
];

function readV1(wire) {
  let offset = 0;
  const next = (decoder) => {
    const [value, end] = decoder.read(wire, offset);
    offset = end;
    return value;
  };
  const many = (decoder, size) => next(kit.getArrayDecoder(decoder, { size }));
  const { version, configMask, lifetimeToken, numInstructions, numAccounts, ...header } = next(V1_HEAD);
  const staticAccounts = many(kit.getAddressDecoder(), numAccounts);
  const set = V1_CONFIG.filter(([, bits]) => configMask & bits);
  const config = Object.fromEntries(set.map(([name, , decoder]) => [name, String(next(decoder))]));
  const instructions = many(V1_INSTRUCTION_HEAD, numInstructions).map((head) => ({
    programAddressIndex: head.programAddressIndex,
    accountIndices: many(kit.getU8Decoder(), head.numAccounts),
    data: next(kit.fixDecoderSize(kit.getBytesDecoder(), head.numBytes)),
  }));
  const messageBytes = wire.slice(0, offset);
  const slots = many(kit.fixDecoderSize(kit.getBytesDecoder(), 64), header.numSignerAccounts);
  if (offset !== wire.length) throw new Error(`${wire.length - offset} bytes more`);
  const held = slots.map((slot, number) => [staticAccounts[number], slot.some(Boolean) ? slot : null]);
  const message = { version: version & 0x7f, header, staticAccounts, lifetimeToken, instructions, config };
  return { message, transaction: { messageBytes, signatures: Object.fromEntries(held) }, writes_the_same: null };
}

function readUpToV0(wire) {
  const transaction = kit.getTransactionDecoder().decode(wire);
  const message = kit.getCompiledTransactionMessageDecoder().decode(transaction.messageBytes);
  const rewritten = kit.getCompiledTransactionMessageEncoder().encode(message);
  const whole = kit.getTransactionEncoder().encode({ ...transaction, messageBytes: rewritten });
  return { message, transaction, writes_the_same: hex(whole) === hex(wire) };
}

const toldInstruction = ({ programAddressIndex, accountIndices = [], data = [] }) => [
  programAddressIndex,
  accountIndices,
  hex(data),
];
const toldTable = ({ lookupTableAddress, writableIndexes, readonlyIndexes }) => [
  lookupTableAddress,
  writableIndexes,
  readonlyIndexes,
];

const told = ({ addressTableLookups = [], config = {}, ...message }) => ({
  version: message.version,
  header: HEADER.map((count) => message.header[count]),
  accounts: message.staticAccounts,
  blockhash: message.lifetimeToken,
  instructions: message.instructions.map(toldInstruction),
  tables: addressTableLookups.map(toldTable),
  config,
});

// The library leaves the choice of the format to the caller.
function contentV0(text) {
  if (85 + Buffer.byteLength(text) > 1232) return offchain.offchainMessageContentUtf8Of65535BytesMax(text);
  return /^[ -~]*$/.test(text)
    ? offchain.offchainMessageContentRestrictedAsciiOf1232BytesMax(text)
    : offchain.offchainMessageContentUtf8Of1232BytesMax(text);
}

async function envelopeVerified(envelope) {
  try {
    await offchain.verifyOffchainMessageEnvelope(envelope);
    return true;
  } catch (fault) {
    if (kit.isSolanaError(fault, kit.SOLANA_ERROR__OFFCHAIN_MESSAGE__SIGNATURE_VERIFICATION_FAILURE)) return false;
    throw fault;
  }
}

const CALLS = {
  address({ address }) {
    kit.assertIsAddress(address);
    const bytes = hex(kit.getAddressEncoder().encode(address));
    return { is_address: kit.isAddress(address), is_off_curve: kit.isOffCurveAddress(address), bytes };
  },
  message({ address, message, encoding, signature, signature_encoding }) {
    return verified(address, read(signature, signature_encoding), read(message, encoding));
  },
  async offchainMessage({ address, version, message, application_domain, offchain_message, signature }) {
    const requiredSignatories = [{ address: kit.address(address) }];
    const asked =
      version === 0
        ? { version, applicationDomain: application_domain, content: contentV0(message), requiredSignatories }
        : { version, content: message, requiredSignatories };
    const content = read(offchain_message, "base64");
    const signatures = { [address]: kit.signatureBytes(read(signature, "base58")) };
    return {
      reads_the_request: isDeepStrictEqual(offchain.getOffchainMessageDecoder().decode(content), asked),
      makes_the_same: hex(offchain.compileOffchainMessageEnvelope(asked).content) === hex(content),
      verified: await envelopeVerified({ content, signatures }),
    };
  },
  async transaction({ signed, encoding }) {
    const wire = read(signed, encoding);
    const { message, transaction, writes_the_same } = wire[0] === V1_MESSAGE ? readV1(wire) : readUpToV0(wire);
    const signers = Object.entries(transaction.signatures);
    const holds = ([address, held]) => held !== null && verified(address, held, transaction.messageBytes);
    return {
      message: told(message),
      message_bytes: hex(transaction.messageBytes),
      writes_the_same,
      signatures: signers.map(([address, held]) => [address, held && hex(held)]),
      verified: await Promise.all(signers.map(holds)),
      fully_signed: kit.isFullySignedTransaction(transaction),
    };
  },
};

await answer(CALLS);
