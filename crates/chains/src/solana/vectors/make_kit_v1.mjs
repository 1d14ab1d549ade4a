// Writes kit_v1.json: node make_kit_v1.mjs > kit_v1.json (@solana/kit 8.4.0 from npm, which knows version 1; 5.5.1 does not).
import { createHash } from 'node:crypto';
import * as kit from '@solana/kit';

// Bytes out of a counter, so that each run writes the same.
let counter = 0;
function bytes(length) {
    const parts = [];
    for (let have = 0; have < length; have += 32) {
        parts.push(createHash('sha256').update(`vestry ${counter++}`).digest());
    }
    return new Uint8Array(Buffer.concat(parts).subarray(0, length));
}
const hex = array => Buffer.from(array).toString('hex');
const base64 = array => Buffer.from(array).toString('base64');
const address = array => kit.getAddressDecoder().decode(array);

async function wallet() {
    const seed = bytes(32);
    return { seed, signer: await kit.createKeyPairSignerFromPrivateKeyBytes(seed) };
}

const settings = [
    (value, message) => kit.setTransactionMessagePriorityFeeLamports(BigInt(value), message),
    kit.setTransactionMessageComputeUnitLimit,
    kit.setTransactionMessageLoadedAccountsDataSizeLimit,
    (_value, message) => kit.setTransactionMessageHeapSize(32768 + 1024 * (counter % 200), message),
];

async function transaction(version, signers) {
    const wallets = await Promise.all(Array.from({ length: signers }, wallet));
    const accounts = wallets.slice(1).map(({ signer }) => ({ address: signer.address, role: kit.AccountRole.WRITABLE_SIGNER }));
    const instruction = {
        programAddress: address(bytes(32)),
        accounts: [...accounts, { address: address(bytes(32)), role: kit.AccountRole.WRITABLE }],
        data: bytes(10 + counter % 40),
    };
    let message = kit.createTransactionMessage({ version });
    message = kit.setTransactionMessageFeePayer(wallets[0].signer.address, message);
    message = kit.setTransactionMessageLifetimeUsingBlockhash(
        { blockhash: kit.getBase58Decoder().decode(bytes(32)), lastValidBlockHeight: 1n }, message);
    message = kit.appendTransactionMessageInstruction(instruction, message);
    for (const set of settings) {
        if (bytes(1)[0] < 128) message = set(1000 + counter, message);
    }
    const compiled = kit.compileTransaction(message);
    const own = wallets[counter % signers];
    const others = wallets.filter(one => one !== own && bytes(1)[0] < 128).map(one => one.signer.keyPair);
    const before = await kit.partiallySignTransaction(others, compiled);
    const after = await kit.partiallySignTransaction([own.signer.keyPair], before);
    return {
        kind: 'v1', seed: hex(own.seed), message: base64(compiled.messageBytes),
        before: kit.getBase64EncodedWireTransaction(before), after: kit.getBase64EncodedWireTransaction(after),
        signature: kit.getBase58Decoder().decode(after.signatures[own.signer.address]),
        fully_signed: kit.isFullySignedTransaction(after),
    };
}

const made = { made_by: '@solana/kit 8.4.0 (npm), make_kit_v1.mjs beside this file', transactions: [] };
for (const signers of [1, 1, 2, 2, 2, 3, 3, 4]) {
    made.transactions.push(await transaction(1, signers));
}
process.stdout.write(`${JSON.stringify(made).replaceAll('},{', '},\n{')}\n`);
