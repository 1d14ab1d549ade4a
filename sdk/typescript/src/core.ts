import { conceal } from "./concealed.js";
import { ApiConnectionError, ApiTimeoutError, VestryError, invalid, ofResponse } from "./errors.js";
import type { Session } from "./generated/types.js";
import { Verifier } from "./tokens.js";
import { VERSION } from "./version.js";

/** Options of every call. */
export interface CallOptions {
  /** Milliseconds for one attempt. */
  timeout?: number;
  /** How often a failed call is repeated. */
  retries?: number;
  /** Further headers, such as `Vestry-Session`. */
  headers?: Record<string, string>;
}

/** Options of a call that changes something. */
export interface KeyOptions extends CallOptions {
  /** Your own unique name of the request; without it, a random one is sent. */
  idempotencyKey?: string;
}

/** A call of the API, as described in its document. */
export interface Operation {
  name: string;
  method: string;
  path: string;
  ids: readonly (readonly [name: string, pattern: RegExp])[];
  idempotency: string;
  sends: string;
}

/** Arguments of a client. */
export interface ClientOptions {
  /** Secret key (`sk_test_…` or `sk_live_…`); it selects the App and the environment. */
  key: string;
  /** Address of the service, without a path. */
  baseUrl: string;
  /** Id of the App, for `sessions.verifyLocally`. */
  appId?: string;
  /** Milliseconds for one attempt of a call; 30,000 if absent. */
  timeout?: number;
  /** How often a failed call is repeated; 2 if absent. */
  retries?: number;
  /** Your own `fetch`. */
  fetch?: typeof fetch;
  /** Unix seconds, for environments with a test clock. */
  clock?: () => number;
}

/** The bytes that every attempt of a call sends. */
interface Request {
  operation: Operation;
  url: string;
  headers: Record<string, string>;
  body: string | undefined;
  timeout: number;
  retries: number;
}

/** Longest pause before a retry in milliseconds, and longest `Retry-After` that is waited for in seconds. */
const MAX_PAUSE = 8000;
const MAX_RETRY_AFTER = 60;

/** Codes of errors before a connection exists. */
const NOT_CONNECTED = new Set([
  "ECONNREFUSED",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "ENOTFOUND",
  "EAI_AGAIN",
  "UND_ERR_CONNECT_TIMEOUT",
  "ConnectionRefused",
]);

/** Sends calls. The key is in no text of it. */
export class Core {
  readonly #key: string;
  readonly #baseUrl: string;
  readonly #appId: string | undefined;
  readonly #timeout: number;
  readonly #retries: number;
  readonly #fetch: typeof fetch;
  readonly #clock: () => number;
  #verifier: Verifier | undefined;

  constructor(options: ClientOptions) {
    if ("document" in globalThis) {
      throw invalid("key", "secret keys belong in a backend, not in a page");
    }
    if (!/^sk_(test|live)_[!-~]+$/.test(options.key ?? "")) {
      throw invalid("key", "key must be a secret key (sk_test_… or sk_live_…)");
    }
    if (options.appId !== undefined && !/^app_[0-9A-Za-z]{27}$/.test(options.appId)) {
      throw invalid("appId", "appId must be the id of an App (app_…)");
    }
    this.#key = options.key;
    this.#baseUrl = checked(options.baseUrl);
    this.#appId = options.appId;
    this.#timeout = positive(options.timeout ?? 30_000);
    this.#retries = count(options.retries ?? 2);
    this.#fetch = options.fetch ?? ((input, init) => fetch(input, init));
    this.#clock = options.clock ?? (() => Date.now() / 1000);
  }

  /** What may be shown of a client. */
  shown(): { baseUrl: string; environment: string } {
    return { baseUrl: this.#baseUrl, environment: this.#environment() };
  }

  #environment(): string {
    return this.#key.startsWith("sk_test_") ? "test" : "live";
  }

  async call<R>(
    operation: Operation,
    ids: readonly string[],
    params: object | undefined,
    options: KeyOptions,
  ): Promise<R> {
    const request = this.#request(operation, ids, params ?? {}, options);
    for (let attempt = 0; ; attempt++) {
      const outcome = await this.#attempt<R>(request);
      if (!(outcome instanceof VestryError)) {
        return outcome.result;
      }
      const milliseconds = pause(request, outcome, attempt);
      if (milliseconds === undefined) {
        throw outcome;
      }
      await new Promise((resolve) => setTimeout(resolve, milliseconds));
    }
  }

  async verifyLocally(jwt: string): Promise<Session> {
    if (this.#appId === undefined) {
      throw invalid("appId", "verifyLocally needs the client's appId");
    }
    this.#verifier ??= new Verifier(
      this.#baseUrl,
      this.#appId,
      this.#environment(),
      this.#timeout,
      this.#fetch,
      this.#clock,
    );
    return this.#verifier.verify(jwt);
  }

  #request(
    operation: Operation,
    ids: readonly string[],
    params: object,
    options: KeyOptions,
  ): Request {
    let url = this.#baseUrl + filled(operation, ids);
    const headers: Record<string, string> = {
      "User-Agent": `vestry-node/${VERSION}`,
      ...options.headers,
    };
    const ours: Record<string, string> = {
      Accept: "application/json",
      Authorization: `Bearer ${this.#key}`,
    };
    let body: string | undefined;
    if (operation.sends === "body") {
      body = JSON.stringify(params);
      ours["Content-Type"] = "application/json";
    } else {
      const query = new URLSearchParams();
      for (const [name, value] of Object.entries(params)) {
        if (value !== undefined && value !== null) {
          query.append(name, String(value));
        }
      }
      url += query.size > 0 ? `?${query}` : "";
    }
    const key = options.idempotencyKey;
    if (operation.idempotency === "key") {
      ours["Idempotency-Key"] = key === undefined ? crypto.randomUUID() : named(key);
    } else if (key !== undefined) {
      throw invalid("idempotencyKey", `${operation.name} accepts no idempotency key`);
    }
    const taken = new Set(Object.keys(ours).map((name) => name.toLowerCase()));
    for (const name of Object.keys(headers)) {
      if (taken.has(name.toLowerCase())) {
        throw invalid("headers", `the header ${name} is set by the client`);
      }
    }
    // A long poll may take as long as it was asked to wait.
    const wait = operation.sends === "query" ? (params as { wait?: unknown }).wait : undefined;
    const timeout = positive(options.timeout ?? this.#timeout);
    return {
      operation,
      url,
      headers: { ...headers, ...ours },
      body,
      timeout: timeout + (typeof wait === "number" ? wait * 1000 : 0),
      retries: count(options.retries ?? this.#retries),
    };
  }

  /** One attempt: the result, or an error. */
  async #attempt<R>(request: Request): Promise<{ result: R } | VestryError> {
    const deadline = new AbortController();
    const timer = setTimeout(() => deadline.abort(), request.timeout);
    let status: number;
    let headers: Headers;
    let text: string;
    try {
      const response = await this.#fetch(request.url, {
        method: request.operation.method,
        headers: request.headers,
        redirect: "manual",
        signal: deadline.signal,
        ...(request.body === undefined ? {} : { body: request.body }),
      });
      ({ status, headers } = response);
      text = await response.text();
    } catch (error) {
      // Without a cause: it could refer to the request, which contains the key.
      if (deadline.signal.aborted) {
        return new ApiTimeoutError("the service did not respond in time");
      }
      return wasConnected(error)
        ? new ApiConnectionError("the connection to the service was lost", true)
        : new ApiConnectionError("cannot connect to the service", false);
    } finally {
      clearTimeout(timer);
    }
    let body: unknown;
    try {
      body = JSON.parse(text);
    } catch {
      body = undefined;
    }
    if (status === 200 && typeof body === "object" && body !== null) {
      conceal(body);
      return { result: body as R };
    }
    const retryAfter = headers.get("Retry-After") ?? "";
    return ofResponse(
      status,
      status === 200 ? undefined : body,
      headers.get("X-Request-Id") ?? undefined,
      /^\d+$/.test(retryAfter) ? Number(retryAfter) : undefined,
    );
  }
}

/** Milliseconds before the next attempt; undefined if the error is final. The first attempt is 0. */
function pause(request: Request, error: VestryError, attempt: number): number | undefined {
  if (attempt >= request.retries || !isRepeated(request.operation, error)) {
    return undefined;
  }
  const least = error.retry_after ?? 0;
  if (least > MAX_RETRY_AFTER) {
    return undefined;
  }
  return Math.max(Math.random() * Math.min(MAX_PAUSE, 500 * 2 ** attempt), least * 1000);
}

function isRepeated(operation: Operation, error: VestryError): boolean {
  const canRepeat = operation.idempotency === "key" || operation.idempotency === "safe";
  if (error instanceof ApiConnectionError) {
    return canRepeat || !error.sent;
  }
  switch (error.status) {
    case 429:
      return true;
    case 500:
    case 502:
    case 503:
    case 504:
      // A search that timed out would do so again.
      return canRepeat && !(error.status === 503 && error.param === "filters");
    case 409:
      return (
        operation.idempotency === "key" &&
        error.code === "idempotency_key_reused" &&
        error.retry_after !== undefined
      );
    default:
      return false;
  }
}

/** Whether a failed `fetch` had a connection. Runtimes that do not say why it failed count as connected. */
function wasConnected(error: unknown): boolean {
  for (let cause = error, depth = 0; cause && depth < 5; depth++) {
    const { code, errors } = cause as { code?: unknown; errors?: unknown };
    if (typeof code === "string" && NOT_CONNECTED.has(code)) {
      return false;
    }
    // Node tried every address of the host.
    if (Array.isArray(errors) && errors.length > 0) {
      return errors.some(wasConnected);
    }
    cause = (cause as { cause?: unknown }).cause;
  }
  return true;
}

function filled(operation: Operation, ids: readonly string[]): string {
  let path = operation.path;
  operation.ids.forEach(([name, pattern], index) => {
    const id = ids[index];
    if (typeof id !== "string" || !pattern.test(id)) {
      throw invalid(name, `${name} is not a well-formed id`);
    }
    path = path.replace(`{${name}}`, id);
  });
  return path;
}

function named(key: string): string {
  if (typeof key !== "string" || !/^[!-~]{1,255}$/.test(key)) {
    throw invalid("idempotencyKey", "idempotencyKey must have 1 to 255 visible characters");
  }
  return key;
}

function positive(timeout: number): number {
  if (typeof timeout !== "number" || !(timeout > 0 && timeout <= 86_400_000)) {
    throw invalid("timeout", "timeout must be a number of milliseconds");
  }
  return timeout;
}

function count(retries: number): number {
  if (!Number.isInteger(retries) || retries < 0) {
    throw invalid("retries", "retries must be a whole number");
  }
  return retries;
}

/** The base URL without a slash at its end. Error messages do not repeat it: it may contain a password. */
function checked(baseUrl: string): string {
  let url: URL;
  try {
    url = new URL(baseUrl);
  } catch {
    throw invalid("baseUrl", "baseUrl must be a URL");
  }
  if (url.protocol !== "https:" && url.protocol !== "http:") {
    throw invalid("baseUrl", "baseUrl must be an http or https URL");
  }
  if (url.pathname !== "/" || /[?#@]/.test(baseUrl)) {
    throw invalid("baseUrl", "baseUrl must have no path, query, fragment or credentials");
  }
  const isLoopback = /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/.test(url.hostname);
  if (url.protocol === "http:" && !isLoopback) {
    throw invalid("baseUrl", "use https; http is for loopback addresses only");
  }
  return url.origin;
}
