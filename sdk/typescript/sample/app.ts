// A backend with sign-in by e-mail code, local verification of sessions, wallets, and a webhook receiver.
import express from "express";
import type { NextFunction, Request, Response } from "express";
import { TokenVerificationError, Vestry, VestryError, WebhookVerificationError, webhooks } from "@vestry/node";
import type { Session } from "@vestry/node";

function setting(name: string): string {
  const value = process.env[name];
  if (value === undefined) throw new Error(`set ${name}`);
  return value;
}

const vestry = new Vestry({
  key: setting("SAMPLE_KEY"),
  baseUrl: setting("SAMPLE_URL"),
  appId: setting("SAMPLE_APP_ID"),
});
const secret = setting("SAMPLE_WEBHOOK_SECRET");
const received: string[] = [];
const app = express();

// 1. Webhooks: the raw body is verified, so this route comes before the JSON parser.
app.post("/webhooks", express.raw({ type: "*/*" }), async (request, response) => {
  const event = await webhooks.verify(request.body as Buffer, request.headers, secret);
  received.push(event.type);
  response.sendStatus(204);
});

app.use(express.json());

// 2. Sign-in with a code by e-mail.
app.post("/sign-in", async (request, response) => {
  const { email } = request.body as { email: string };
  const { email_id } = await vestry.otps.email.loginOrCreate({ email, expires_in: 10 });
  response.json({ method_id: email_id });
});

app.post("/sign-in/code", async (request, response) => {
  const { method_id, otp } = request.body as { method_id: string; otp: string };
  const verified = await vestry.otps.verify({ method_id, otp, session_expires_in: 60 });
  response.json({ session_jwt: verified.session_jwt });
});

// 3. Middleware: everything below needs a session. It is verified without a call.
async function signedIn(request: Request, response: Response, next: NextFunction): Promise<void> {
  const token = /^Bearer (.+)$/.exec(request.headers.authorization ?? "")?.[1] ?? "";
  response.locals["session"] = await vestry.sessions.verifyLocally(token);
  next();
}

function userOf(response: Response): string {
  return (response.locals["session"] as Session).user_id;
}

app.get("/me", signedIn, async (_request, response) => {
  const user = await vestry.users.get(userOf(response));
  response.json({ user_id: user.user_id, emails: user.emails.map(({ email }) => email) });
});

// 4. A wallet. Creating it again returns the same one.
app.post("/wallet", signedIn, async (_request, response) => {
  const wallet = await vestry.wallets.create({ user_id: userOf(response), wallet_type: "ethereum" });
  response.json({ id: wallet.id, address: wallet.public_address });
});

// 5. A signature.
app.post("/sign", signedIn, async (request, response) => {
  const { message } = request.body as { message: string };
  const { wallets } = await vestry.wallets.list({ user_id: userOf(response) });
  const wallet = wallets[0];
  if (wallet === undefined) {
    response.status(404).json({ error: "create a wallet first" });
    return;
  }
  const { signature } = await vestry.wallets.signMessage(wallet.id, { message });
  response.json({ signature });
});

app.get("/received", (_request, response) => {
  response.json(received);
});

app.use((error: unknown, _request: Request, response: Response, next: NextFunction) => {
  if (error instanceof TokenVerificationError) {
    response.status(401).json({ error: "sign in" });
  } else if (error instanceof WebhookVerificationError) {
    response.status(400).json({ error: error.reason });
  } else if (error instanceof VestryError && error.status !== undefined && error.status < 500) {
    response.status(error.status).json({ error: error.code });
  } else {
    next(error);
  }
});

const server = app.listen(Number(process.env["PORT"] ?? 3000), "127.0.0.1", () => {
  const address = server.address();
  const port = typeof address === "object" ? address?.port : undefined;
  console.log(`listening on http://127.0.0.1:${port}`);
});
