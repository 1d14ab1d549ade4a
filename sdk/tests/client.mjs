// Carries out the steps on its standard input with the packed package, and prints an outcome for each.
import { readFileSync } from "node:fs";
import { inspect } from "node:util";
import * as sdk from "@vestry/node";

const given = JSON.parse(readFileSync(0, "utf8"));
const camel = (name) => name.replace(/_(\w)/g, (_, letter) => letter.toUpperCase());
const saved = {};
const clients = new Map();

/** Replaces `$name.path` by a saved value, and `!$name.path` by digits that differ from it. */
function filled(value, n) {
  if (Array.isArray(value)) return value.map((one) => filled(one, n));
  if (value && typeof value === "object") {
    return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, filled(one, n)]));
  }
  if (typeof value !== "string") return value;
  if (value.startsWith("!")) return filled(value.slice(1), n).replace(/\d/g, (d) => (d + 1) % 10);
  if (!value.startsWith("$")) return value.replace("$n", n);
  return value.slice(1).split(".").reduce((found, part) => found[part], saved);
}

function clientOf(step) {
  const options = {
    key: step.key ?? given.key,
    baseUrl: given.bases[step.base ?? "service"],
    appId: "app" in step ? (step.app ?? undefined) : given.app,
    retries: step.retries ?? 2,
  };
  const name = JSON.stringify([options, step.clock]);
  const clock = step.clock === undefined ? {} : { clock: () => step.clock };
  if (!clients.has(name)) clients.set(name, new sdk.Vestry({ ...options, ...clock }));
  return clients.get(name);
}

/** Steps that are no calls. */
const others = {
  construct({ options, page }) {
    if (page) globalThis.document = {};
    try {
      return inspect(new sdk.Vestry({ appId: undefined, ...options }));
    } finally {
      delete globalThis.document;
    }
  },
  async verify({ body, text, headers, secrets, options }) {
    const bytes = text === undefined ? Buffer.from(body, "base64") : text;
    const { clock, ...rest } = options;
    return sdk.webhooks.verify(bytes, headers, secrets, { clock: () => clock, ...rest });
  },
  async inspect(step) {
    const client = clientOf(step);
    const texts = [inspect(client, { depth: 9, showHidden: true }), JSON.stringify(client), String(client)];
    try {
      await client.users.get(`user_${"0".repeat(27)}`);
    } catch (error) {
      texts.push(String(error), error.stack, inspect(error, { depth: 9, showHidden: true }), JSON.stringify(error));
    }
    return texts;
  },
};

async function made(step, n) {
  if (step.call in others) return others[step.call](step);
  const client = clientOf(step);
  const parts = step.call.split(".").map(camel);
  const verb = parts.pop();
  const resource = parts.reduce((found, part) => found[part], client);
  const values = filled(step.ids ?? [], n);
  if (step.params) values.push(filled(step.params, n));
  if (step.options) {
    const { idempotency_key, timeout, headers } = step.options;
    const options = { idempotencyKey: idempotency_key, headers };
    if (timeout !== undefined) options.timeout = timeout * 1000;
    values.push(JSON.parse(JSON.stringify(options)));
  }
  if (!step.iterate) {
    const result = await resource[verb](...values);
    return step.shown ? inspect(result, { depth: 9 }) : result;
  }
  const items = [];
  const all = resource[`iter${verb[0].toUpperCase()}${verb.slice(1)}`](...values);
  for await (const item of all) {
    items.push(item);
    if (items.length === step.take) return { items, cursor: all.cursor };
  }
  return items;
}

async function outcome(step, n) {
  try {
    const ok = await made(step, n);
    if (step.save) saved[step.save] = ok;
    return { ok };
  } catch (error) {
    if (!(error instanceof sdk.VestryError)) throw error;
    const { name, status = null, code, param = null, message } = error;
    return { error: { class: name, status, code, param }, message };
  }
}

const jobs = given.steps.flatMap((step) => Array.from({ length: step.repeat ?? 1 }, (_, n) => [step, n + 1]));
const outcomes = new Array(jobs.length);
let next = 0;
await Promise.all(
  Array.from({ length: given.parallel ?? 1 }, async () => {
    while (next < jobs.length) {
      const at = next++;
      outcomes[at] = await outcome(...jobs[at]);
    }
  }),
);
process.stdout.write(JSON.stringify(outcomes));
