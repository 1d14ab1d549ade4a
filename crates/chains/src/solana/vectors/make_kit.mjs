// Writes kit.json: node make_kit.mjs > kit.json (@solana/kit and @solana/offchain-messages 5.5.1 from npm).
import { createHash } from 'node:crypto';
import * as kit from '@solana/kit';
import * as offchain from '@solana/offchain-messages';

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

async function offchainMessage(version, text, withDomain) {
    const { seed, signer } = await wallet();
    const domain = address(withDomain ? bytes(32) : new Uint8Array(32));
    const requiredSignatories = [{ address: signer.address }];
    let message = { version, content: text, requiredSignatories };
    if (version === 0) {
        // @solana/offchain-messages leaves the choice of the format to its caller.
        const whole = 85 + Buffer.byteLength(text);
        const make = whole > 1232 ? offchain.offchainMessageContentUtf8Of65535BytesMax
            : /^[ -~]*$/.test(text) ? offchain.offchainMessageContentRestrictedAsciiOf1232BytesMax
                : offchain.offchainMessageContentUtf8Of1232BytesMax;
        message = { version, applicationDomain: domain, content: make(text), requiredSignatories };
    }
    const envelope = offchain.compileOffchainMessageEnvelope(message);
    const signed = await offchain.signOffchainMessageEnvelope([signer.keyPair], envelope);
    const signature = signed.signatures[signer.address];
    return {
        seed: hex(seed), version, text, application_domain: withDomain && version === 0 ? domain : null,
        sha256: createHash('sha256').update(envelope.content).digest('hex'),
        bytes: text.length < 200 ? base64(envelope.content) : null,
        signature: kit.getBase58Decoder().decode(signature),
    };
}

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
    const compiled = kit.compileTransaction(message);
    const own = wallets[counter % signers];
    const others = wallets.filter(one => one !== own && bytes(1)[0] < 128).map(one => one.signer.keyPair);
    const before = await kit.partiallySignTransaction(others, compiled);
    const after = await kit.partiallySignTransaction([own.signer.keyPair], before);
    return {
        kind: `${version}`, seed: hex(own.seed), message: base64(compiled.messageBytes),
        before: kit.getBase64EncodedWireTransaction(before), after: kit.getBase64EncodedWireTransaction(after),
        signature: kit.getBase58Decoder().decode(after.signatures[own.signer.address]),
        fully_signed: kit.isFullySignedTransaction(after),
    };
}

const texts = ['a', 'hello', 'Hello, World! ~ {}', 'tab\there', 'line\nbreak', 'ünïcode 👛', 'こんにちは', '\u007f', 'x'.repeat(1146),
    'x'.repeat(1147), 'x'.repeat(1148), 'é'.repeat(573), 'é'.repeat(574), 'x'.repeat(1213), 'é'.repeat(9000), 'x'.repeat(65515)];
const made = { made_by: '@solana/kit 5.5.1 and @solana/offchain-messages 5.5.1 (npm), make_kit.mjs beside this file', offchain: [], transactions: [] };
for (const text of texts) {
    for (const [version, withDomain] of [[0, false], [0, true], [1, false]]) {
        made.offchain.push(await offchainMessage(version, text, withDomain));
    }
}
for (const version of ['legacy', 0]) {
    for (const signers of [1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 4]) {
        made.transactions.push(await transaction(version, signers));
    }
}
// A long run of one character is written as its length.
const short = (name, value) => name === 'text' && value.length > 500 ? { repeat: value[0], times: value.length } : value;
process.stdout.write(`${JSON.stringify(made, short, 0).replaceAll('},{', '},\n{')}\n`);
