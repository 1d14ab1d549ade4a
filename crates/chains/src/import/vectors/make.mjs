// Makes javascript.json: addresses of phrases, and Polkadot's secrets as polkadot.js keeps them.
//
// ethers 6.17.0 for Ethereum, ed25519-hd-key 1.3.0 for Solana and Stellar (written by bs58 6.0.0 and @stellar/stellar-sdk 15.1.0),
// @polkadot/keyring 14.0.3 with @polkadot/util-crypto 14.0.3, @scure/bip32 2.4.0 with bitcoinjs-lib 7.0.5 and @noble/curves 1.9.7
// for Bitcoin. The phrases are made by @scure/bip39 2.4.0.
//
// npm install ethers@6.17.0 ed25519-hd-key@1.3.0 bs58@6.0.0 @stellar/stellar-sdk@15.1.0 @polkadot/keyring@14.0.3
//   @polkadot/util-crypto@14.0.3 @scure/bip32@2.4.0 @scure/bip39@2.4.0 bitcoinjs-lib@7.0.5 @noble/curves@1.9.7
// node make.mjs > javascript.json
import { createHash } from "node:crypto";
import { schnorr } from "@noble/curves/secp256k1";
import { Keyring } from "@polkadot/keyring";
import { cryptoWaitReady, keyFromPath, keyExtractPath, encodeAddress, mnemonicToMiniSecret, sr25519PairFromSeed } from "@polkadot/util-crypto";
import { HDKey } from "@scure/bip32";
import { entropyToMnemonic, mnemonicToSeedSync } from "@scure/bip39";
import { wordlist } from "@scure/bip39/wordlists/english.js";
import stellar from "@stellar/stellar-sdk";
import { initEccLib, networks, payments } from "bitcoinjs-lib";
import bs58 from "bs58";
import ed25519 from "ed25519-hd-key";
import { HDNodeWallet } from "ethers";

await cryptoWaitReady();
const keyring = new Keyring({ type: "sr25519", ss58Format: 0 });
const Point = schnorr.Point ?? (await import("@noble/curves/secp256k1")).secp256k1.Point;
initEccLib({
  isXOnlyPoint: (bytes) => {
    try { schnorr.utils.lift_x(BigInt("0x" + Buffer.from(bytes).toString("hex"))); return true; } catch { return false; }
  },
  xOnlyPointAddTweak: (bytes, tweak) => {
    const number = (part) => BigInt("0x" + Buffer.from(part).toString("hex"));
    const sum = schnorr.utils.lift_x(number(bytes)).add(Point.BASE.multiply(number(tweak)));
    if (sum.is0()) return null;
    const compressed = sum.toBytes(true);
    return { parity: compressed[0] & 1, xOnlyPubkey: compressed.slice(1) };
  },
});

const hash = (text) => createHash("sha512").update(text).digest();
const hex = (bytes) => Buffer.from(bytes).toString("hex");

function addresses(phrase, index) {
  const seed = mnemonicToSeedSync(phrase);
  const master = HDKey.fromMasterSeed(seed);
  const bitcoin = (purpose, coin, network) => {
    const { publicKey } = master.derive(`m/${purpose}'/${coin}'/0'/0/${index}`);
    return purpose === 84
      ? payments.p2wpkh({ pubkey: publicKey, network }).address
      : payments.p2tr({ internalPubkey: publicKey.slice(1), network }).address;
  };
  const ed = (path) => ed25519.getPublicKey(ed25519.derivePath(path, hex(seed)).key, false);
  return [
    HDNodeWallet.fromPhrase(phrase, "", `m/44'/60'/0'/0/${index}`).address,
    bs58.encode(ed(`m/44'/501'/${index}'/0'`)),
    keyring.addFromUri(index === 0 ? phrase : `${phrase}//${index}`).address,
    stellar.StrKey.encodeEd25519PublicKey(ed(`m/44'/148'/${index}'`)),
    bitcoin(84, 0, networks.bitcoin),
    bitcoin(84, 1, networks.testnet),
    bitcoin(86, 0, networks.bitcoin),
    bitcoin(86, 1, networks.testnet),
  ];
}

const phrases = [];
for (let number = 0; number < 40; number += 1) {
  const random = hash(`vestry phrase ${number}`);
  const phrase = entropyToMnemonic(random.subarray(0, [16, 20, 24, 28, 32][number % 5]), wordlist);
  const indexes = [0, 1, 2 + random[60], random.readUInt32LE(56) >>> 1, 2147483647];
  phrases.push([phrase, indexes.map((index) => [index, ...addresses(phrase, index)])]);
}

// A soft junction leaves no seed behind, only the expanded secret.
const keys = [];
for (let number = 0; number < 40; number += 1) {
  const pair = sr25519PairFromSeed(hash(`vestry key ${number}`).subarray(0, 32));
  const { path } = keyExtractPath(["", "/soft", "//hard", "//hard/soft/7"][number % 4]);
  const { publicKey, secretKey } = keyFromPath(pair, path, "sr25519");
  keys.push([encodeAddress(publicKey, 0), hex(secretKey)]);
}
console.log(JSON.stringify({ phrases, keys }).replaceAll("],[", "],\n["));
