/** Client of Vestry, a self-hosted service for sign-in, users and wallets. */

export { Vestry } from "./client.js";
export type { CallOptions, ClientOptions, KeyOptions } from "./core.js";
export {
  ApiConnectionError,
  ApiTimeoutError,
  AuthenticationError,
  ConflictError,
  InvalidRequestError,
  NotAllowedError,
  NotFoundError,
  RateLimitError,
  TokenVerificationError,
  UnavailableError,
  VestryError,
  WebhookVerificationError,
} from "./errors.js";
export type { ErrorDetails, WebhookRefusal } from "./errors.js";
export type * from "./generated/types.js";
export type { Items } from "./pages.js";
export { VERSION } from "./version.js";
export * as webhooks from "./webhooks.js";
