// Two identity providers in one process, driven by `identity_providers.py` over lines of JSON: oidc-provider, the certified implementation of
// OpenID Connect, with its own pages and cookies; and the few endpoints of Apple, whose client secrets are checked by jose.

import { createPublicKey, generateKeyPairSync, randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { createInterface } from "node:readline";

import * as jose from "jose";
import Provider from "oidc-provider";

// Its log must not mix with the responses.
console.info = console.warn;

const version = (name) =>
  JSON.parse(readFileSync(new URL(`./node_modules/${name}/package.json`, import.meta.url))).version;

// A server on a free port. Its handler is set later, because an issuer needs its own URL.
const listening = (state) =>
  new Promise((resolve) => {
    const server = createServer((request, response) => state.handler(request, response));
    server.listen(0, "127.0.0.1", () => resolve(`http://127.0.0.1:${server.address().port}`));
  });

const ISSUER = { handler: null };
const APPLE = { handler: null };
const issuer = await listening(ISSUER);
const apple = await listening(APPLE);

// Typing a login signs that person in; the driver sets their claims.
const people = new Map();

const findAccount = (_context, id) => ({
  accountId: id,
  claims: () => ({ sub: id, ...people.get(id) }),
});

function makeIssuer({ clients, keys, claims_in_id_token }) {
  const provider = new Provider(issuer, {
    clients,
    findAccount,
    jwks: { keys },
    claims: { openid: ["sub"], email: ["email", "email_verified"], profile: ["name", "given_name", "family_name"] },
    conformIdTokenClaims: !claims_in_id_token,
    cookies: { keys: [randomBytes(32).toString("hex")] },
    pkce: { required: () => true },
    features: { devInteractions: { enabled: true } },
  });
  ISSUER.handler = provider.callback();
}

// A private key for id tokens, of the given algorithm.
function signingKey(algorithm) {
  const made = {
    RS256: () => generateKeyPairSync("rsa", { modulusLength: 2048 }),
    PS256: () => generateKeyPairSync("rsa", { modulusLength: 2048 }),
    ES256: () => generateKeyPairSync("ec", { namedCurve: "P-256" }),
    EdDSA: () => generateKeyPairSync("ed25519"),
  }[algorithm]();
  const jwk = made.privateKey.export({ format: "jwk" });
  return { ...jwk, alg: algorithm, use: "sig", kid: `${algorithm}-${randomBytes(4).toString("hex")}` };
}

const read = async (request) => {
  const chunks = [];
  for await (const chunk of request) chunks.push(chunk);
  return new URLSearchParams(Buffer.concat(chunks).toString());
};

function makeApple({ client_id, team_id, key_id, private_key, redirect_uris, person }) {
  const publicKey = createPublicKey(private_key);
  const { privateKey, publicKey: published } = generateKeyPairSync("rsa", { modulusLength: 2048 });
  const codes = new Map();
  const seen = new Set();

  // https://developer.apple.com/documentation/accountorganizationaldatasharing/creating-a-client-secret
  const isClient = async (form) => {
    if (form.get("client_id") !== client_id) return false;
    try {
      const checked = await jose.jwtVerify(form.get("client_secret") ?? "", publicKey, {
        algorithms: ["ES256"],
        issuer: team_id,
        audience: apple,
        subject: client_id,
        requiredClaims: ["iat", "exp"],
      });
      const { iat, exp } = checked.payload;
      return checked.protectedHeader.kid === key_id && exp - iat <= 15777000;
    } catch {
      return false;
    }
  };

  const escaped = (text) => text.replaceAll("&", "&amp;").replaceAll('"', "&quot;").replaceAll("<", "&lt;");

  const routes = {
    "/.well-known/openid-configuration": () => [
      200,
      {
        issuer: apple,
        authorization_endpoint: `${apple}/auth/authorize`,
        token_endpoint: `${apple}/auth/token`,
        jwks_uri: `${apple}/auth/keys`,
        response_types_supported: ["code"],
        response_modes_supported: ["query", "fragment", "form_post"],
        subject_types_supported: ["pairwise"],
        id_token_signing_alg_values_supported: ["RS256"],
        scopes_supported: ["openid", "email", "name"],
        token_endpoint_auth_methods_supported: ["client_secret_post"],
      },
    ],
    "/auth/keys": async () => [
      200,
      { keys: [{ ...(await jose.exportJWK(published)), kid: "fh6Bs8C", use: "sig", alg: "RS256" }] },
    ],
    "/auth/authorize": (_form, query) => {
      const wrong = [
        query.get("client_id") !== client_id,
        query.get("response_type") !== "code",
        query.get("response_mode") !== "form_post",
        !redirect_uris.includes(query.get("redirect_uri")),
        !query.get("nonce"),
      ];
      if (wrong.includes(true)) return [400, { error: "invalid_request", wrong }];
      const code = `c${randomBytes(16).toString("hex")}.0.mxzs`;
      codes.set(code, query);
      const fields = { state: query.get("state"), code };
      if (!seen.has(person.sub)) fields.user = JSON.stringify({ name: person.name, email: person.email });
      seen.add(person.sub);
      const inputs = Object.entries(fields)
        .map(([name, value]) => `<input type="hidden" name="${name}" value="${escaped(value)}">`)
        .join("");
      return [200, `<form method="post" action="${escaped(query.get("redirect_uri"))}">${inputs}</form>`];
    },
    "/auth/token": async (form) => {
      if (!(await isClient(form))) return [400, { error: "invalid_client" }];
      const asked = codes.get(form.get("code"));
      codes.delete(form.get("code"));
      if (!asked || asked.get("redirect_uri") !== form.get("redirect_uri")) return [400, { error: "invalid_grant" }];
      const claims = {
        nonce: asked.get("nonce"),
        nonce_supported: true,
        email: person.email,
        email_verified: "true",
        is_private_email: "true",
      };
      const token = await new jose.SignJWT(claims)
        .setProtectedHeader({ alg: "RS256", kid: "fh6Bs8C" })
        .setIssuer(apple)
        .setAudience(client_id)
        .setSubject(person.sub)
        .setIssuedAt()
        .setExpirationTime("1d")
        .sign(privateKey);
      return [
        200,
        { access_token: "a1", token_type: "Bearer", expires_in: 3600, refresh_token: "r1", id_token: token },
      ];
    },
  };

  APPLE.handler = async (request, response) => {
    const url = new URL(request.url, apple);
    const route = routes[url.pathname] ?? (() => [404, { error: "not_found" }]);
    const [status, body] = await route(await read(request), url.searchParams);
    const isPage = typeof body === "string";
    response.writeHead(status, { "Content-Type": isPage ? "text/html" : "application/json" });
    response.end(isPage ? body : JSON.stringify(body));
  };
}

const calls = {
  version: () => ({ "oidc-provider": version("oidc-provider"), jose: version("jose"), issuer, apple }),
  issuer: ({ algorithms, ...rest }) => {
    makeIssuer({ keys: algorithms.map(signingKey), ...rest });
    return {};
  },
  person: ({ id, claims }) => {
    people.set(id, claims);
    return {};
  },
  apple: (settings) => {
    makeApple(settings);
    return {};
  },
};

for await (const line of createInterface({ input: process.stdin })) {
  const { call, ...request } = JSON.parse(line);
  process.stdout.write(`${JSON.stringify(calls[call](request))}\n`);
}
process.exit(0);
