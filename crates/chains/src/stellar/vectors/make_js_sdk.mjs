// Writes js_sdk.json: node make_js_sdk.mjs > js_sdk.json (@stellar/stellar-sdk 15.1.0 from npm).
import { createHash } from 'node:crypto';
import * as sdk from '@stellar/stellar-sdk';

// Bytes out of a counter, so that each run writes the same.
let counter = 0;
const bytes = () => createHash('sha256').update(`vestry ${counter++}`).digest();
const keypair = () => sdk.Keypair.fromRawEd25519Seed(bytes());
const networks = { live: sdk.Networks.PUBLIC, test: sdk.Networks.TESTNET };
const seedOf = key => key.rawSecretKey().toString('hex');

function message(text) {
    const key = keypair();
    const hash = createHash('sha256').update('Stellar Signed Message:\n').update(text).digest();
    return { seed: seedOf(key), address: key.publicKey(), secret: key.secret(), text, signature: key.sign(hash).toString('base64') };
}

function transaction(kind, environment) {
    const [wallet, other, third] = [keypair(), keypair(), keypair()];
    const asset = new sdk.Asset('EURX', other.publicKey());
    const account = new sdk.Account((counter % 2 ? wallet : other).publicKey(), String(counter * 7919));
    const builder = new sdk.TransactionBuilder(account, { fee: String(100 + counter), networkPassphrase: networks[environment] })
        .addOperation(sdk.Operation.payment({ destination: other.publicKey(), asset, amount: '12.3456789' }))
        .addOperation(sdk.Operation.setOptions({ clearFlags: 1, homeDomain: 'example.org' }))
        .setTimebounds(0, 1_800_000_000 + counter);
    if (counter % 3 === 0) builder.addMemo(sdk.Memo.text('ünïcode'));
    if (kind === 'soroban') {
        const contract = new sdk.Contract(sdk.StrKey.encodeContract(bytes()));
        const value = sdk.nativeToScVal({ list: [1n, [true, 'text', bytes()]], to: other.publicKey() });
        builder.clearOperations().addOperation(contract.call('run', value));
    }
    let made = builder.build();
    if (kind === 'fee-bump') {
        made.sign(other);
        made = sdk.TransactionBuilder.buildFeeBumpTransaction(third, '2000000', made, networks[environment]);
    }
    if (counter % 2) made.sign(third);
    const before = made.toXDR();
    made.sign(wallet);
    return {
        kind, environment, seed: seedOf(wallet), before, after: made.toXDR(), hash: made.hash().toString('hex'),
        signature: made.signatures.at(-1).signature().toString('base64'),
    };
}

async function authEntry(environment) {
    const key = keypair();
    const { xdr } = sdk;
    const contract = new sdk.Address(sdk.StrKey.encodeContract(bytes())).toScAddress();
    const call = new xdr.InvokeContractArgs({ contractAddress: contract, functionName: 'swap', args: [sdk.nativeToScVal([counter, 'x'])] });
    const invocation = new xdr.SorobanAuthorizedInvocation({
        function: xdr.SorobanAuthorizedFunction.sorobanAuthorizedFunctionTypeContractFn(call), subInvocations: [] });
    const credentials = new xdr.SorobanAddressCredentials({
        address: new sdk.Address(key.publicKey()).toScAddress(), nonce: xdr.Int64.fromString(String(counter * 104729)),
        signatureExpirationLedger: 0, signature: xdr.ScVal.scvVoid() });
    const entry = new xdr.SorobanAuthorizationEntry({
        rootInvocation: invocation, credentials: xdr.SorobanCredentials.sorobanCredentialsAddress(credentials) });
    let seen;
    await sdk.authorizeEntry(entry, async preimage => {
        seen = preimage.toXDR();
        return key.sign(createHash('sha256').update(seen).digest());
    }, 1000 + counter, networks[environment]);
    const hash = createHash('sha256').update(seen).digest();
    return { environment, seed: seedOf(key), auth_entry: seen.toString('base64'), hash: hash.toString('hex'), signature: key.sign(hash).toString('base64') };
}

const made = {
    made_by: '@stellar/stellar-sdk 15.1.0 (npm), make_js_sdk.mjs beside this file',
    messages: ['', 'hello', 'ünïcode 👛', 'x'.repeat(300)].map(message),
    transactions: [], auth_entries: [],
};
for (const environment of ['live', 'test']) {
    for (const kind of ['v1', 'fee-bump', 'soroban']) {
        for (let number = 0; number < 5; number++) made.transactions.push(transaction(kind, environment));
    }
    for (let number = 0; number < 4; number++) made.auth_entries.push(await authEntry(environment));
}
process.stdout.write(`${JSON.stringify(made).replaceAll('},{', '},\n{')}\n`);
