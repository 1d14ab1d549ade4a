/** What is known about an error. */
export interface ErrorDetails {
  code: string;
  status?: number | undefined;
  param?: string | undefined;
  request_id?: string | undefined;
  retry_after?: number | undefined;
}

/** Base class of all errors. */
export class VestryError extends Error {
  /** The service's error code, or one of this library; branch on it. */
  readonly code: string;
  /** HTTP status; absent if there was no response. */
  readonly status: number | undefined;
  /** The rejected field, or the kind of the object that was not found. */
  readonly param: string | undefined;
  /** Include it in support requests. */
  readonly request_id: string | undefined;
  /** Seconds to wait before a retry. */
  readonly retry_after: number | undefined;

  constructor(message: string, details: ErrorDetails) {
    super(message);
    this.name = new.target.name;
    this.code = details.code;
    this.status = details.status;
    this.param = details.param;
    this.request_id = details.request_id;
    this.retry_after = details.retry_after;
  }
}

/** The request is wrong (400, 405, 413, 415), or was not sent because it would be. */
export class InvalidRequestError extends VestryError {}

/** The key or the session is missing, wrong or expired (401). */
export class AuthenticationError extends VestryError {}

/** The key or the App does not permit the call (403). */
export class NotAllowedError extends VestryError {}

/** The object does not exist (404). */
export class NotFoundError extends VestryError {}

/** The call conflicts with the state of the object or with another call (409). */
export class ConflictError extends VestryError {}

/** Too many requests or attempts (429). */
export class RateLimitError extends VestryError {}

/** The service failed or is not available (5xx). */
export class UnavailableError extends VestryError {}

/** There was no complete response. */
export class ApiConnectionError extends VestryError {
  /** Whether the service may have received the request. */
  readonly sent: boolean;

  constructor(message: string, sent: boolean, code = "connection_failed") {
    super(message, { code });
    this.sent = sent;
  }
}

/** An attempt took longer than `timeout`. */
export class ApiTimeoutError extends ApiConnectionError {
  constructor(message: string, sent = true) {
    super(message, sent, "timeout");
  }
}

/** A session JWT is not valid for this App and environment now. */
export class TokenVerificationError extends VestryError {
  constructor(message: string) {
    super(message, { code: "invalid_token" });
  }
}

/** Why a webhook request was refused. */
export type WebhookRefusal = "missing_header" | "malformed" | "timestamp" | "signature";

/** A webhook request was not signed with one of the secrets, or not recently. */
export class WebhookVerificationError extends VestryError {
  readonly reason: WebhookRefusal;

  constructor(reason: WebhookRefusal, message: string) {
    super(message, { code: reason });
    this.reason = reason;
  }
}

const CLASSES: Record<number, typeof VestryError> = {
  400: InvalidRequestError,
  401: AuthenticationError,
  403: NotAllowedError,
  404: NotFoundError,
  405: InvalidRequestError,
  409: ConflictError,
  413: InvalidRequestError,
  415: InvalidRequestError,
  429: RateLimitError,
};

/** The error of a response. `body` is parsed JSON, or undefined if it is none. */
export function ofResponse(
  status: number,
  body: unknown,
  request_id: string | undefined,
  retry_after: number | undefined,
): VestryError {
  let code = "unexpected_response";
  let message = `unexpected response with status ${status}`;
  let param: string | undefined;
  const detail: unknown = (body as { error?: unknown } | null | undefined)?.error;
  if (typeof detail === "object" && detail !== null) {
    const ours = detail as { code?: unknown; message?: unknown; param?: unknown };
    if (typeof ours.code === "string" && typeof ours.message === "string") {
      code = ours.code;
      message = ours.message;
      param = typeof ours.param === "string" ? ours.param : undefined;
    }
  }
  const kind = status >= 500 ? UnavailableError : (CLASSES[status] ?? VestryError);
  return new kind(message, { status, code, param, request_id, retry_after });
}

/** The error of a request that is not sent. */
export function invalid(param: string, message: string): InvalidRequestError {
  return new InvalidRequestError(message, { code: "invalid_field", param });
}
