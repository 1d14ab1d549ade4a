import { createRemoteJWKSet, customFetch, decodeProtectedHeader, errors, jwtVerify } from "jose";
import type { JWTPayload } from "jose";

import { ApiConnectionError, TokenVerificationError } from "./errors.js";
import type { Session } from "./generated/types.js";

const ALGORITHMS = ["ES256", "RS256", "EdDSA"];
/** Milliseconds for which the key set is cached, and between fetches for unknown keys. */
const LIFESPAN = 60_000;
const COOLDOWN = 10_000;
/** Seconds by which clocks may differ at the expiry. `nbf` is set earlier for this reason. */
const LEEWAY = 60;

/** The key set of an App and environment, and the checks of their tokens. */
export class Verifier {
  readonly #issuer: string;
  readonly #audience: string;
  readonly #clock: () => number;
  readonly #keys: ReturnType<typeof createRemoteJWKSet>;

  constructor(
    baseUrl: string,
    appId: string,
    environment: string,
    timeout: number,
    ownFetch: typeof fetch,
    clock: () => number,
  ) {
    this.#issuer = `${baseUrl}/${appId}`;
    this.#audience = `${appId}/${environment}`;
    this.#clock = clock;
    const url = new URL(`${baseUrl}/v1/auth/jwks/${appId}?environment=${environment}`);
    this.#keys = createRemoteJWKSet(url, {
      cacheMaxAge: LIFESPAN,
      cooldownDuration: COOLDOWN,
      timeoutDuration: timeout,
      [customFetch]: (input, init) => ownFetch(input, init as RequestInit),
    });
  }

  /** The session of a token. */
  async verify(token: string): Promise<Session> {
    const now = this.#clock();
    const claims = await this.#claims(token, now);
    if (Number(claims.nbf) > now) {
      throw new TokenVerificationError("the token is not valid yet");
    }
    const session = claims["session"];
    if (typeof session !== "object" || session === null) {
      throw new TokenVerificationError("the token has no session");
    }
    return session as Session;
  }

  async #claims(token: string, now: number): Promise<JWTPayload> {
    try {
      const { kid, typ } = decodeProtectedHeader(token);
      if (typ !== "JWT" || typeof kid !== "string") {
        throw new TokenVerificationError("typ or kid is wrong");
      }
      const { payload } = await jwtVerify(token, this.#keys, {
        algorithms: ALGORITHMS,
        issuer: this.#issuer,
        audience: this.#audience,
        requiredClaims: ["exp", "nbf"],
        clockTolerance: LEEWAY,
        currentDate: new Date(now * 1000),
      });
      return payload;
    } catch (error) {
      if (error instanceof TokenVerificationError) {
        throw error;
      }
      if (error instanceof errors.JWTExpired) {
        throw new TokenVerificationError("the token has expired");
      }
      // A key set that could not be fetched says nothing about the token.
      if (error instanceof errors.JWKSTimeout || !isOfToken(error)) {
        throw new ApiConnectionError("cannot fetch the key set", false);
      }
      throw new TokenVerificationError("the token is not valid for this App and environment");
    }
  }
}

function isOfToken(error: unknown): boolean {
  // `jose` throws its base class for a response without a key set, and TypeErrors for malformed tokens.
  const isBase = error instanceof errors.JOSEError && error.code === errors.JOSEError.code;
  const failed = error instanceof TypeError && error.message.includes("fetch");
  return !isBase && !failed;
}
