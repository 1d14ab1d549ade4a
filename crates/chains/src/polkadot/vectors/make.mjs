// Writes payloads.json and keys.json. In an empty directory:
//   npm install @polkadot/types@16.5.6 @polkadot/types-support@16.5.6 @polkadot/keyring@14.0.3 @polkadot/util-crypto@14.0.3
//   node make.mjs <directory of the vectors>
import { writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';

const here = createRequire(process.cwd() + '/');
const load = (name) => import(pathToFileURL(here.resolve(name)));
const { TypeRegistry, Metadata } = await load('@polkadot/types');
const { Keyring } = await load('@polkadot/keyring');
const { u8aToHex, hexToU8a, u8aWrapBytes, stringToU8a, u8aConcat, compactAddLength } = await load('@polkadot/util');
const { cryptoWaitReady, encodeAddress } = await load('@polkadot/util-crypto');
const relay = (await load('@polkadot/types-support/metadata/v15/polkadot-hex')).default.default;
const hub = (await load('@polkadot/types-support/metadata/v15/asset-hub-polkadot-hex')).default.default;
await cryptoWaitReady();

// mulberry32: the same cases each time.
let state = 20261121;
const random = () => {
  state = (state + 0x6d2b79f5) | 0;
  let t = Math.imul(state ^ (state >>> 15), 1 | state);
  t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
  return (t ^ (t >>> 14)) >>> 0;
};
const below = (n) => random() % n;
const pick = (list) => list[below(list.length)];
const bytes = (n) => Uint8Array.from({ length: n }, () => below(256));
const big = (bits) => BigInt(u8aToHex(bytes(bits / 8))) >> BigInt(below(bits));

const SEED = '0x4ed8d4b17698ddeaa1f1559f152f87b5d472f725ca86d341bd0276f1b61197e2';
const pair = new Keyring({ type: 'sr25519', ss58Format: 0 }).addFromSeed(hexToU8a(SEED));

const SETS = [
  ['CheckNonZeroSender', 'CheckSpecVersion', 'CheckTxVersion', 'CheckGenesis', 'CheckMortality', 'CheckNonce', 'CheckWeight',
    'ChargeTransactionPayment', 'PrevalidateAttests', 'CheckMetadataHash'],
  ['CheckNonZeroSender', 'CheckSpecVersion', 'CheckTxVersion', 'CheckGenesis', 'CheckMortality', 'CheckNonce', 'CheckWeight',
    'ChargeAssetTxPayment', 'CheckMetadataHash'],
  ['CheckVersion', 'CheckGenesis', 'CheckEra', 'CheckNonce', 'CheckWeight', 'ChargeTransactionPayment', 'CheckBlockGasLimit'],
  ['CheckNonZeroSender', 'CheckSpecVersion', 'CheckTxVersion', 'CheckGenesis', 'CheckMortality', 'CheckNonce', 'CheckWeight',
    'SkipCheckIfFeeless', 'CheckMetadataHash', 'WeightReclaim'],
];
// Of names that add the same only one, CheckGenesis always; all others in any order and number.
const EITHER = [['CheckMortality', 'CheckEra'], ['CheckSpecVersion', 'CheckVersion'],
  ['ChargeTransactionPayment', 'SkipCheckIfFeeless', 'ChargeAssetTxPayment']];
const OTHERS = ['CheckNonce', 'CheckMetadataHash', 'CheckTxVersion', 'CheckBlockGasLimit', 'CheckNonZeroSender',
  'CheckWeight', 'DisallowSigned', 'LimitParathreadCommits', 'LockStakingStatus', 'OnlyStakingAndClaims', 'PrevalidateAttests',
  'RestrictFunctionality', 'TransactionCallFilter', 'ValidateDoubleVoteReports', 'ValidateEquivocationReport', 'WeightReclaim'];
const shuffled = (list) => list.map((x) => [random(), x]).sort(([a], [b]) => a - b).map(([, x]) => x);
for (let i = 0; i < 60; i++) {
  const names = ['CheckGenesis', ...EITHER.map(pick), ...OTHERS.filter(() => below(3) > 0)];
  SETS.push(shuffled(names));
}

const EDGES = [0n, 1n, 63n, 64n, 16383n, 16384n, (1n << 30n) - 1n, 1n << 30n, (1n << 32n) - 1n];
const WIDE = [...EDGES, 1n << 32n, (1n << 56n) - 1n, 1n << 64n, (1n << 128n) - 1n];
const hex = (n) => '0x' + n.toString(16);
const HASHES = Array.from({ length: 6 }, () => u8aToHex(bytes(32)));
const PREFIXES = [0, 2, 42, 63, 64, 255, 256, 1284, 5234, 16383];

const registryOf = (metadata) => {
  const registry = new TypeRegistry();
  // Some and a length stand in front.
  registry.setMetadata(new Metadata(registry, '0x' + metadata.slice(metadata.indexOf('6d657461'))));
  return registry;
};
const registries = { relay: registryOf(relay), hub: registryOf(hub) };

const call = (registry) => {
  const size = pick([0, 1, 3, 8, 20, 40, 60, 63, 64, 100, 120, 130, 140, 150, 160, 170]);
  // system.remark of both chains.
  const remark = registry.createType('Call', u8aConcat([0, 0], compactAddLength(bytes(size))));
  return remark.toHex();
};
const era = (registry) => below(3) === 0 ? '0x00'
  : registry.createType('ExtrinsicEra', { current: random() >>> 4, period: 2 ** (2 + below(15)) }).toHex();

const LOCATIONS = [{ parents: 1, interior: 'Here' },
  { parents: 0, interior: { X2: [{ PalletInstance: 50 }, { GeneralIndex: 1984 }] } },
  { parents: 2, interior: { X1: [{ Parachain: 2034 }] } }];

const cases = [];
for (let i = 0; i < 224; i++) {
  const set = i < 120 ? i % 4 : 4 + ((i - 120) % 60);
  const names = SETS[set];
  const registry = registries[names.includes('ChargeAssetTxPayment') ? 'hub' : 'relay'];
  registry.setSignedExtensions(names);
  const checked = names.includes('CheckMetadataHash') && below(2) === 0;
  const asset = names.includes('ChargeAssetTxPayment') && below(3) > 0
    ? registry.createType('TAssetConversion', pick(LOCATIONS)) : null;
  // What the interface of an application starts from; toPayload gives it the form in which it reaches a signer.
  const payload = registry.createType('SignerPayload', {
    address: encodeAddress(pair.publicKey, pick(PREFIXES)),
    assetId: asset,
    blockHash: pick(HASHES), blockNumber: hex(big(32)), era: era(registry), genesisHash: pick(HASHES),
    metadataHash: checked ? pick(HASHES) : null, method: call(registry), mode: checked ? 1 : 0,
    nonce: hex(below(2) ? pick(EDGES) : big(32)),
    runtimeVersion: { specVersion: Number(big(32)), transactionVersion: Number(big(32)) },
    signedExtensions: names, tip: hex(below(2) ? pick(WIDE) : big(128)), version: 4, withSignedTransaction: below(2) === 0,
  }).toPayload();
  // What an immortal transaction is signed over is the genesis.
  if (payload.era === '0x00') payload.blockHash = payload.genesisHash;
  if (names.every((name) => !name.startsWith('Charge') && !name.startsWith('Skip'))) payload.tip = '0x00';
  const signing = registry.createType('ExtrinsicPayload', payload, { version: 4 });
  const expected = signing.toU8a({ method: true });
  // The sent part, out of a transaction with a signature that is none.
  const signature = registry.createType('ExtrinsicSignatureV4');
  signature.addSignature(payload.address, u8aConcat([1], new Uint8Array(64).fill(7)), payload);
  const sent = signature.toU8a().subarray(1 + 32 + 65);
  cases.push([set, payload, u8aToHex(expected), u8aToHex(sent)]);
}

// Hashes and what every payload has are written once.
const compact = cases.map(([set, payload, expected, sent]) => {
  const { signedExtensions, version, blockHash, genesisHash, metadataHash, ...rest } = payload;
  let shortened = expected.slice(2);
  HASHES.forEach((hash, index) => { shortened = shortened.replaceAll(hash.slice(2), `#${index}`); });
  if (!shortened.startsWith(rest.method.slice(2))) throw new Error('payloads begin with their method');
  shortened = shortened.slice(rest.method.length - 2);
  const index = (hash) => hash === null ? null : HASHES.indexOf(hash);
  return [set, rest, index(blockHash), index(genesisHash), index(metadataHash), shortened, sent.slice(2)];
});
const lines = (list) => '[\n' + list.map((x) => '  ' + JSON.stringify(x)).join(',\n') + '\n]';
const about = 'made by make.mjs with @polkadot/types 16.5.6 and its metadata of Polkadot and of its Asset Hub';
writeFileSync(`${process.argv[2]}/payloads.json`, `{"about":${JSON.stringify(about)},
"columns":["index into sets","SignerPayloadJSON without what the other columns say","blockHash","genesisHash","metadataHash",
  "payload after its method, with #n for a hash","extra bytes of the extrinsic"],
"hashes":${lines(HASHES)},
"sets":${lines(SETS)},
"cases":${lines(compact)}}
`);

const keys = Array.from({ length: 24 }, (_, i) => {
  const seed = i === 0 ? hexToU8a(SEED) : bytes(32);
  const pair = new Keyring({ type: 'sr25519', ss58Format: 0 }).addFromSeed(seed);
  const message = pick(['', 'hello', '<Bytes>', '<Bytes></Bytes>', '<Bytes>x</Bytes>', '<Bytes></Bytes> ', '</Bytes>',
    '<Bytes/Bytes>', '\x19Ethereum Signed Message:\n5hello', '\x19Ethereum Signed Message:', 'µ€😀', 'x'.repeat(300)]);
  const wrapped = u8aWrapBytes(stringToU8a(message));
  const addresses = PREFIXES.map((prefix) => encodeAddress(pair.publicKey, prefix));
  return { seed: u8aToHex(seed), publicKey: u8aToHex(pair.publicKey), addresses, message, wrapped: u8aToHex(wrapped),
    signature: u8aToHex(pair.sign(wrapped)), multi: u8aToHex(pair.sign(wrapped, { withType: true })) };
});
writeFileSync(`${process.argv[2]}/keys.json`, `{"about":"made by make.mjs with @polkadot/keyring and util-crypto 14.0.3",
"prefixes":${JSON.stringify(PREFIXES)},
"keys":${lines(keys)}}
`);
