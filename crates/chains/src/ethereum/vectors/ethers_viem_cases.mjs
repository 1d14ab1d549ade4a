// Writes ethers-viem.json: node ethers_viem_cases.mjs COUNT > ethers-viem.json
//
// COUNT cases of each kind, always the same ones. Needs ethers 6.17.0 and viem 2.45.0 (npm). The committed file has COUNT 7.

import * as ethers from "ethers";
import { getUserOperationHash } from "viem/account-abstraction";
import { privateKeyToAccount } from "viem/accounts";

const count = Number(process.argv[2]);

let draws = 0;
function bytes(length) {
  let data = "0x";
  while (ethers.dataLength(data) < length) {
    data = ethers.concat([data, ethers.id(`vestry ethereum ${draws++}`)]);
  }
  return ethers.dataSlice(data, 0, length);
}

const below = (bound) => Number(BigInt(bytes(6)) % BigInt(bound));
const pick = (list) => list[below(list.length)];
const times = (number, make) => Array.from({ length: number }, make);
const number = (bits) => BigInt.asUintN(below(bits + 1), BigInt(bytes(32)));
const address = () => ethers.getAddress(bytes(20));
const wallet = () => new ethers.Wallet(bytes(32));
const hex = (value) => (typeof value === "bigint" ? ethers.toQuantity(value) : value);
const inHex = (fields) => Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, hex(value)]));
const accessList = () =>
  times(below(3), () => ({ address: address(), storageKeys: times(below(3), () => bytes(32)) }));

// For every chain, or for that of the transaction: others would be skipped (EIP-7702).
function authorization(chain) {
  const unsigned = { chainId: number(40) % 2n ? chain : 0n, address: address(), nonce: number(60) };
  const signed = wallet().authorizeSync(unsigned);
  const { r, s, yParity } = signed.signature;
  return [signed, { ...inHex(unsigned), yParity: hex(BigInt(yParity)), r, s }];
}

function transaction(type) {
  const fields = {
    chainId: 1n + number(50), nonce: number(52), gasLimit: number(40), value: number(256),
    data: bytes(pick([0, 0, 4, 36, 60])),
  };
  if (type > 2 || below(5) > 0) fields.to = address();
  // A creation has code.
  else if (fields.data === "0x") fields.data = "0xfe";
  if (type < 2) {
    fields.gasPrice = number(100);
  } else {
    fields.maxFeePerGas = number(100);
    fields.maxPriorityFeePerGas = fields.maxFeePerGas / BigInt(1 + below(3));
  }
  if (type > 0) fields.accessList = accessList();
  if (type === 3) {
    fields.maxFeePerBlobGas = number(100);
    fields.blobVersionedHashes = times(1 + below(6), () => ethers.concat(["0x01", bytes(31)]));
  }
  const ours = inHex(fields);
  if (type === 4) {
    const authorizations = times(1 + below(2), () => authorization(fields.chainId));
    fields.authorizationList = authorizations.map(([signed]) => signed);
    ours.authorizationList = authorizations.map(([, written]) => written);
  }
  if (below(2) > 0) ours.type = hex(BigInt(type));
  return signed({ ...fields, type, nonce: Number(fields.nonce) }, ours);
}

function signed(fields, ours) {
  const signer = wallet();
  const theirs = ethers.Transaction.from(fields);
  theirs.signature = signer.signingKey.sign(theirs.unsignedHash);
  return { key: signer.privateKey, transaction: ours, hash: ethers.keccak256(theirs.serialized) };
}

// With blobs of one byte repeated, so that the reader of the cases can make them: `fill` says which.
function withBlobs(blobCount) {
  const fills = times(blobCount, () => 1 + below(255));
  const repeated = (fill, length) => ethers.hexlify(new Uint8Array(length).fill(fill));
  const blobs = fills.map((fill) => ({
    data: repeated(fill, 131072), commitment: repeated(fill, 48), proof: repeated(fill, 48 * 128),
  }));
  const hash = ({ commitment }) => ethers.concat(["0x01", ethers.dataSlice(ethers.sha256(commitment), 1)]);
  const fields = {
    chainId: 1n, nonce: 7n, gasLimit: 21000n, value: 1n, data: "0x", to: address(), maxFeePerGas: 30n,
    maxPriorityFeePerGas: 2n, maxFeePerBlobGas: 9n, blobVersionedHashes: blobs.map(hash),
  };
  const network = { blobWrapperVersion: 1, blobs, nonce: 7, type: 3 };
  return { fills, ...signed({ ...fields, ...network }, inHex(fields)) };
}

function atom() {
  const bits = 8 * (1 + below(32));
  const length = 1 + below(32);
  const random = BigInt.asUintN(bits, BigInt(bytes(32)));
  return pick([
    ["bool", below(2) > 0],
    ["address", address()],
    ["string", times(below(12), () => pick(["a", "b", " ", "é", "世", "😀", '"', "\\"])).join("")],
    ["bytes", bytes(below(40))],
    [`bytes${length}`, bytes(length)],
    [`uint${bits}`, random.toString()],
    [`int${bits}`, BigInt.asIntN(bits, random).toString()],
  ]);
}

function member(structures) {
  let [kind, value] = structures.length > 0 && below(2) > 0 ? structures[structures.length - 1] : atom();
  for (const _ of times(pick([0, 0, 1, 2]))) {
    const copies = below(4);
    kind += copies > 0 ? pick(["[]", `[${copies}]`]) : "[]";
    value = times(copies, () => value);
  }
  return [kind, value];
}

// A chain of structures, each with the one before it as its first member: ethers wants all types to be used.
async function typedData() {
  const standard = {
    name: "Vestry", version: "1", chainId: 1 + below(2 ** 40), verifyingContract: address(), salt: bytes(32),
  };
  const domain = Object.fromEntries(Object.entries(standard).filter(() => below(10) < 7));
  const types = {};
  const structures = [];
  const names = ["Zebra", "Ape", "Mule", "Ox", "_Bee", "Cow9"];
  for (const name of times(1 + below(4), () => names.splice(below(names.length), 1)[0])) {
    const first = structures.length > 0 ? [structures[structures.length - 1]] : [];
    const members = [...first, ...times(1 + below(3), () => member(structures))];
    types[name] = members.map(([type], place) => ({ name: `m${place}`, type }));
    structures.push([name, Object.fromEntries(members.map(([, value], place) => [`m${place}`, value]))]);
  }
  const [primaryType, message] = structures[structures.length - 1];
  const signer = wallet();
  const signature = await signer.signTypedData(domain, types, message);
  const viems = await privateKeyToAccount(signer.privateKey).signTypedData({ domain, types, primaryType, message });
  if (viems !== signature) throw new Error("ethers and viem disagree");
  return { key: signer.privateKey, typed_data: { domain, types, primaryType, message }, signature };
}

const entryPoints = {
  "0.6": "0x5FF137D4b0FDCD49DcA30c7CF57E578a026d2789",
  "0.7": "0x0000000071727De22E5E9d8BAf0edAc6f37da032",
  "0.8": "0x4337084D9E255Ff0702461CF8895CE9E3b5Ff108",
};

async function userOperation(version) {
  const operation = {
    sender: address(), nonce: number(256), callData: bytes(below(80)), callGasLimit: number(128),
    verificationGasLimit: number(128), preVerificationGas: number(256), maxFeePerGas: number(128),
    maxPriorityFeePerGas: number(128),
  };
  let authorization;
  if (version === "0.6") {
    if (below(2) > 0) operation.initCode = bytes(20 + below(60));
    if (below(2) > 0) operation.paymasterAndData = bytes(20 + below(60));
  } else {
    if (below(2) > 0) Object.assign(operation, { factory: address(), factoryData: bytes(below(60)) });
    if (below(2) > 0) {
      Object.assign(operation, {
        paymaster: address(), paymasterVerificationGasLimit: number(128), paymasterPostOpGasLimit: number(128),
        paymasterData: bytes(below(40)),
      });
    }
    if (version === "0.8" && below(2) > 0) {
      operation.factory = pick(["0x7702", "0x7702000000000000000000000000000000000000"]);
      authorization = { address: address() };
    }
  }
  const chainId = 1 + below(2 ** 40);
  const entryPointAddress = entryPoints[version];
  const hash = getUserOperationHash({
    chainId, entryPointAddress, entryPointVersion: version, userOperation: { ...operation, authorization },
  });
  const key = bytes(32);
  const account = privateKeyToAccount(key);
  const signature =
    version === "0.8" ? await account.sign({ hash }) : await account.signMessage({ message: { raw: hash } });
  const user_operation = inHex(operation);
  if (authorization) user_operation.eip7702Auth = authorization;
  return { key, params: { contract: entryPointAddress, chain_id: hex(BigInt(chainId)), user_operation }, signature };
}

const cases = {
  made_by: `ethers ${ethers.version} and viem 2.45.0 (npm), ethers_viem_cases.mjs ${count}`,
  transactions: [0, 1, 2, 3, 4].flatMap((type) => times(count, () => transaction(type))),
  blobs: [1, 2].map(withBlobs),
  typed_data: await Promise.all(times(2 * count, typedData)),
  user_operations: await Promise.all(["0.6", "0.7", "0.8"].flatMap((version) => times(2 * count, () => userOperation(version)))),
};
console.log(JSON.stringify(cases));
