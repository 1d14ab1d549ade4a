import { WebhookVerificationError, invalid } from "./errors.js";
import type { Event } from "./generated/types.js";

/** Headers of a request: those of `fetch`, of Node, or a plain object. */
export type WebhookHeaders =
  | { get(name: string): string | null }
  | Record<string, string | string[] | undefined>;

/** Options of `verify`. */
export interface VerifyOptions {
  /** Seconds by which `webhook-timestamp` may differ from the clock; 300 if absent. */
  tolerance?: number;
  /** Unix seconds. */
  clock?: () => number;
}

/**
 * Verify a webhook request and return its event
 *
 * @param body the body as it arrived, not parsed.
 * @param secrets the endpoint's secret (`whsec_…`), or several while one replaces another.
 * @throws {WebhookVerificationError} if the request was not signed with one of the secrets, or not recently.
 */
export async function verify(
  body: string | Uint8Array,
  headers: WebhookHeaders,
  secrets: string | readonly string[],
  options: VerifyOptions = {},
): Promise<Event> {
  const keys = (typeof secrets === "string" ? [secrets] : secrets).map(keyOf);
  if (keys.length === 0) {
    throw invalid("secrets", "secrets must contain a secret");
  }
  const bytes = typeof body === "string" ? new TextEncoder().encode(body) : body;
  if (!(bytes instanceof Uint8Array)) {
    throw new WebhookVerificationError("malformed", "body must be the bytes that arrived");
  }
  const id = header(headers, "webhook-id");
  const sentAt = header(headers, "webhook-timestamp");
  const signatures = header(headers, "webhook-signature");
  if (!/^[0-9]{1,12}$/.test(sentAt)) {
    throw new WebhookVerificationError("malformed", "webhook-timestamp is no number");
  }
  const tags = signatures.split(" ").map(tagOf).filter((tag) => tag !== undefined);
  if (tags.length === 0) {
    throw new WebhookVerificationError("malformed", "webhook-signature has no v1 signature");
  }
  const now = (options.clock ?? (() => Date.now() / 1000))();
  if (!(Math.abs(now - Number(sentAt)) <= (options.tolerance ?? 300))) {
    throw new WebhookVerificationError("timestamp", "webhook-timestamp is too far from the clock");
  }
  const start = new TextEncoder().encode(`${id}.${sentAt}.`);
  const signed = new Uint8Array(start.length + bytes.length);
  signed.set(start);
  signed.set(bytes, start.length);
  let matches = false;
  for (const bytesOfKey of keys) {
    const algorithm = { name: "HMAC", hash: "SHA-256" };
    const key = await crypto.subtle.importKey("raw", bytesOfKey, algorithm, false, ["verify"]);
    for (const tag of tags) {
      // Compares in constant time.
      matches = (await crypto.subtle.verify("HMAC", key, tag, signed)) || matches;
    }
  }
  if (!matches) {
    throw new WebhookVerificationError("signature", "no signature matches a secret");
  }
  try {
    const event: unknown = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
    if (typeof event === "object" && event !== null && "type" in event) {
      return event as Event;
    }
  } catch {
    // Reported below.
  }
  throw new WebhookVerificationError("malformed", "the body is not an event");
}

function header(headers: WebhookHeaders, name: string): string {
  let value: string | string[] | null | undefined;
  if (typeof headers.get === "function") {
    value = headers.get(name);
  } else {
    const found = Object.entries(headers).find(([known]) => known.toLowerCase() === name);
    value = found?.[1] as string | string[] | undefined;
  }
  if (typeof value !== "string") {
    throw new WebhookVerificationError("missing_header", `${name} is missing`);
  }
  return value;
}

function keyOf(secret: string): Uint8Array<ArrayBuffer> {
  const text = typeof secret === "string" ? secret.replace(/^whsec_/, "") : "";
  const key = decoded(text);
  if (key === undefined || key.length === 0) {
    throw invalid("secrets", "a secret is whsec_ and base64");
  }
  return key;
}

/** The bytes of a signature of version 1. Only their canonical base64 is accepted. */
function tagOf(signature: string): Uint8Array<ArrayBuffer> | undefined {
  if (!signature.startsWith("v1,")) {
    return undefined;
  }
  return decoded(signature.slice(3));
}

function decoded(text: string): Uint8Array<ArrayBuffer> | undefined {
  try {
    const binary = atob(text);
    return btoa(binary) === text ? Uint8Array.from(binary, (one) => one.charCodeAt(0)) : undefined;
  } catch {
    return undefined;
  }
}
