// better-auth on Postgres, as its documentation sets it up, for `cargo xtask bench --peers`.
//
// Arguments: the URL of an empty database, and the number of users to create, each with an address and a session; 64 more have a
// password. It creates its tables, prints a line `session=COOKIE` for each session, and then its URL. It serves with a process per core.
//
// Features for production that would make the comparison unfair are off: its rate limit, which counts in memory, and the cookie cache of
// sessions, which stays valid for minutes after a session has ended. Codes are fixed, and password hashes cost as much as ours.

import cluster from "node:cluster";
import { createServer } from "node:http";
import { availableParallelism } from "node:os";
import { createHmac } from "node:crypto";

import { hash, verify } from "@node-rs/argon2";
import { betterAuth } from "better-auth";
import { getMigrations } from "better-auth/db/migration";
import { toNodeHandler } from "better-auth/node";
import { emailOTP } from "better-auth/plugins";
import pg from "pg";

const [databaseUrl, users] = process.argv.slice(2);
const secret = "a secret of a benchmark, which is long enough";
const PASSWORD = "correct horse battery staple";
const WITH_PASSWORD = 64;
// Vestry's default: Argon2id, 19 MiB, two passes.
const cost = { memoryCost: 19_456, timeCost: 2, parallelism: 1 };

const auth = betterAuth({
  baseURL: "http://127.0.0.1",
  secret,
  database: new pg.Pool({ connectionString: databaseUrl, max: 10 }),
  rateLimit: { enabled: false },
  session: { cookieCache: { enabled: false } },
  telemetry: { enabled: false },
  logger: { level: "error" },
  emailAndPassword: {
    enabled: true,
    password: {
      hash: (password) => hash(password, cost),
      verify: ({ hash: kept, password }) => verify(kept, password),
    },
  },
  plugins: [emailOTP({ generateOTP: () => "000000", sendVerificationOTP: async () => {} })],
});

// Creates a user without a password, for which the HTTP API needs an operator's session.
async function create(request, response) {
  let body = "";
  for await (const piece of request) body += piece;
  const { internalAdapter } = await auth.$context;
  const { email } = JSON.parse(body);
  const user = await internalAdapter.createUser({ email, name: "", emailVerified: false });
  response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(user));
}

// The cookie of a session, signed like the library does.
function cookie(token) {
  const signature = createHmac("sha256", secret).update(token).digest("base64");
  return encodeURIComponent(`${token}.${signature}`);
}

const address = (number) => `user${String(number).padStart(8, "0")}@bench.example`;

async function seed() {
  const { runMigrations } = await getMigrations(auth.options);
  await runMigrations();
  const { internalAdapter } = await auth.$context;
  const one = async (number) => {
    const user = await internalAdapter.createUser({ email: address(number), name: "", emailVerified: true });
    const session = await internalAdapter.createSession(user.id);
    return cookie(session.token);
  };
  for (let number = 0; number < WITH_PASSWORD; number += 1) {
    await auth.api.signUpEmail({ body: { email: `password${String(number).padStart(2, "0")}@bench.example`, name: "", password: PASSWORD } });
  }
  const cookies = [];
  for (let first = 0; first < users; first += 50) {
    const many = Math.min(50, users - first);
    cookies.push(...(await Promise.all(Array.from({ length: many }, (_, place) => one(first + place)))));
  }
  console.log(cookies.map((one) => `session=${one}`).join("\n"));
}

if (cluster.isPrimary) {
  await seed();
  let listening = 0;
  cluster.on("listening", (_worker, { port }) => {
    listening += 1;
    if (listening === availableParallelism()) console.log(`http://127.0.0.1:${port}`);
  });
  for (let worker = 0; worker < availableParallelism(); worker += 1) cluster.fork();
  cluster.on("exit", () => process.exit(1));
  process.on("SIGTERM", () => process.exit(0));
} else {
  const handler = toNodeHandler(auth);
  const server = createServer((request, response) => {
    // The request data that the load needs when it reads the response.
    const load = request.headers["x-load"];
    if (load) response.setHeader("x-load", load);
    return request.url === "/create" ? create(request, response) : handler(request, response);
  });
  server.listen(0, "127.0.0.1");
}
