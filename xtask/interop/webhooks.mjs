// standardwebhooks verifies and signs for webhooks.py, as does the code in docs/webhooks.md.

import { randomBytes } from "node:crypto";
import { Webhook, WebhookVerificationError } from "standardwebhooks";
import { answer } from "./calls.mjs";

let page;

const buffer = (hex) => Buffer.from(hex, "hex");

await answer({
  async usePage({ code }) {
    page = await import(`data:text/javascript,${encodeURIComponent(code)}`);
    return true;
  },
  secret: () => `whsec_${randomBytes(32).toString("base64")}`,
  sign: ({ secret, id, at, body }) => new Webhook(secret).sign(id, new Date(at * 1000), buffer(body).toString()),
  verifyByPackage({ secret, headers, body }) {
    try {
      new Webhook(secret).verify(buffer(body), headers);
      return true;
    } catch (fault) {
      // Signatures are checked first, so a body that is not JSON has a valid signature.
      if (fault instanceof WebhookVerificationError) return false;
      if (fault instanceof SyntaxError) return true;
      throw fault;
    }
  },
  verifyByPage: ({ secret, headers, body }) => page.verify(secret, headers, buffer(body)),
});
