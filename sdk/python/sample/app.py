"""A backend with sign-in by e-mail code, local verification of sessions, wallets, and a webhook receiver."""

import os
from typing import Annotated

import uvicorn
from fastapi import Depends, FastAPI, Header, Request, Response
from fastapi.responses import JSONResponse
from pydantic import BaseModel
from vestry import (
    AsyncVestry,
    TokenVerificationError,
    VestryError,
    WebhookVerificationError,
    models,
    webhooks,
)

vestry = AsyncVestry(
    key=os.environ["SAMPLE_KEY"],
    base_url=os.environ["SAMPLE_URL"],
    app_id=os.environ["SAMPLE_APP_ID"],
)
secret = os.environ["SAMPLE_WEBHOOK_SECRET"]
received: list[str] = []
app = FastAPI()


class Address(BaseModel):
    email: str


class Code(BaseModel):
    method_id: str
    otp: str


class Message(BaseModel):
    message: str


# 1. Webhooks: the raw body is verified.
@app.post("/webhooks", status_code=204)
async def receive(request: Request) -> None:
    event = webhooks.verify(await request.body(), request.headers, secret)
    received.append(event.type)


# 2. Sign-in with a code by e-mail.
@app.post("/sign-in")
async def sign_in(address: Address) -> dict[str, str]:
    sent = await vestry.otps.email.login_or_create(email=address.email, expires_in=10)
    return {"method_id": sent.email_id}


@app.post("/sign-in/code")
async def enter(code: Code) -> dict[str, str]:
    verified = await vestry.otps.verify(
        method_id=code.method_id, otp=code.otp, session_expires_in=60
    )
    return {"session_jwt": verified.session_jwt}


# 3. Middleware: routes with a `SignedIn` need a session. It is verified without a call.
async def signed_in(authorization: Annotated[str, Header()] = "") -> models.Session:
    return await vestry.sessions.verify_locally(authorization.removeprefix("Bearer "))


SignedIn = Annotated[models.Session, Depends(signed_in)]


@app.get("/me")
async def me(session: SignedIn) -> dict[str, object]:
    user = await vestry.users.get(session.user_id)
    return {"user_id": user.user_id, "emails": [address.email for address in user.emails]}


# 4. A wallet. Creating it again returns the same one.
@app.post("/wallet")
async def wallet(session: SignedIn) -> dict[str, str]:
    created = await vestry.wallets.create(user_id=session.user_id, wallet_type="ethereum")
    return {"id": created.id, "address": created.public_address}


# 5. A signature.
@app.post("/sign")
async def sign(session: SignedIn, message: Message) -> dict[str, str]:
    owned = await vestry.wallets.list(user_id=session.user_id)
    signed = await vestry.wallets.sign_message(owned.wallets[0].id, message=message.message)
    return {"signature": signed.signature}


@app.get("/received")
async def types() -> list[str]:
    return received


@app.exception_handler(VestryError)
async def failed(_request: Request, error: VestryError) -> Response:
    if isinstance(error, TokenVerificationError):
        return JSONResponse({"error": "sign in"}, 401)
    if isinstance(error, WebhookVerificationError):
        return JSONResponse({"error": error.reason}, 400)
    if error.status is not None and error.status < 500:
        return JSONResponse({"error": error.code}, error.status)
    raise error


if __name__ == "__main__":
    uvicorn.run(app, host="127.0.0.1", port=int(os.environ.get("PORT", "3000")))
