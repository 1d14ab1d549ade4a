"""An SMTP server for tests: receives mails over STARTTLS with a login, and misbehaves on request.

Started with one argument, a JSON document (see `Behaviour` below for its keys). Binds a free port of the loopback
interface, then prints one JSON document a line on standard output:

    {"event": "listening", "port": 40123}
    {"event": "clear", "text": "EHLO example.com\r\n"}     what arrived unencrypted
    {"event": "mail", ...}                                 what was delivered
    {"event": "end", "open": 0}                            the last line; connections that the client has not closed

Ends when its standard input does, so that it never outlives the test, and when the clients have closed their
connections, so that nothing they sent is missed.
"""

import asyncio
import dataclasses
import email
import email.policy
import functools
import json
import logging
import os
import ssl
import sys
import warnings

from aiosmtpd.smtp import SMTP, AuthResult

NAME = "relay.vestry.test"


@dataclasses.dataclass
class Behaviour:
    certificate: str
    key: str
    user: str
    password: str
    starttls: bool = True
    """Offer STARTTLS; otherwise everything is accepted unencrypted."""
    implicit_tls: bool = False
    """TLS from the first byte."""
    international: bool = False
    """Offer SMTPUTF8."""
    replies: dict[str, str] = dataclasses.field(default_factory=dict)
    """Replies by command, `.` for the end of the content; `{argument}` is the client's argument."""
    silent: str = ""
    """The command that gets no reply; `CONNECT` for the greeting."""
    drip: bool = False
    """A greeting that never ends, sent one byte at a time."""
    inject: bool = False
    """Append a forged EHLO reply to the reply to STARTTLS, like an attacker on the network path."""


CLOSING = 5
"""Seconds that clients have to close their connections at the end."""


def report(event, **details):
    print(json.dumps({"event": event, **details}), flush=True)


class Handler:
    def __init__(self, behaviour):
        self.behaviour = behaviour

    async def handle_DATA(self, server, session, envelope):
        refusal = self.behaviour.replies.get(".")
        if refusal:
            return refusal
        if self.behaviour.silent == ".":
            await asyncio.Event().wait()
        mail = email.message_from_bytes(envelope.content, policy=email.policy.default)
        parts = {
            part.get_content_type(): part.get_content().replace("\r\n", "\n")
            for part in mail.walk()
            if not part.is_multipart()
        }
        report(
            "mail",
            encrypted=server.is_encrypted(),
            login=server.user,
            sender=envelope.mail_from,
            recipients=envelope.rcpt_tos,
            content_type=mail.get_content_type(),
            headers=[[name, str(value)] for name, value in mail.items()],
            text=parts.get("text/plain"),
            html=parts.get("text/html"),
            source=envelope.content.decode("utf-8", errors="surrogateescape"),
        )
        return "250 2.0.0 taken"


class Server(SMTP):
    connections = set()

    def __init__(self, behaviour, tls):
        self.behaviour = behaviour
        self.user = None
        super().__init__(
            Handler(behaviour),
            hostname=NAME,
            enable_SMTPUTF8=behaviour.international,
            tls_context=tls if behaviour.starttls and not behaviour.implicit_tls else None,
            auth_required=bool(behaviour.user),
            auth_require_tls=behaviour.starttls and not behaviour.implicit_tls,
            authenticator=self.check,
        )
        for command, reply in behaviour.replies.items():
            self._smtp_methods[command] = functools.partial(self.answer, reply)
        if behaviour.silent:
            self._smtp_methods[behaviour.silent] = self.stay_silent

    def is_encrypted(self):
        return self.behaviour.implicit_tls or self._tls_protocol is not None

    def check(self, server, session, envelope, mechanism, login):
        right = (self.behaviour.user.encode(), self.behaviour.password.encode())
        if (login.login, login.password) != right:
            return AuthResult(success=False, handled=False)
        self.user = self.behaviour.user
        return AuthResult(success=True)

    def connection_made(self, transport):
        self.connections.add(self)
        super().connection_made(transport)

    def connection_lost(self, error):
        self.connections.discard(self)
        super().connection_lost(error)

    def data_received(self, data):
        if not self.is_encrypted():
            report("clear", text=data.decode("latin-1"))
        super().data_received(data)

    async def push(self, status):
        if self.behaviour.inject and status == "220 Ready to start TLS":
            status += "\r\n250-forged\r\n250 AUTH PLAIN LOGIN"
        await super().push(status)

    async def answer(self, reply, argument):
        await self.push(reply.replace("{argument}", argument or ""))
        # RFC 5321, section 3.8: the server that says 421 closes the connection.
        if reply.startswith("421"):
            self.transport.close()

    async def stay_silent(self, argument):
        await asyncio.Event().wait()

    async def _handle_client(self):
        try:
            if self.behaviour.silent == "CONNECT":
                await self.stay_silent(None)
            if self.behaviour.drip:
                for byte in b"220-":
                    await self.drip(byte)
                while True:
                    await self.drip(ord("."))
        except asyncio.CancelledError:
            self._writer.close()
            raise
        await super()._handle_client()

    async def drip(self, byte):
        self._writer.write(bytes([byte]))
        await self._writer.drain()
        await asyncio.sleep(0.02)


async def main():
    # Clients that go away and servers that misbehave are what these tests are about.
    logging.getLogger("mail.log").setLevel(logging.CRITICAL + 1)
    warnings.simplefilter("ignore")
    behaviour = Behaviour(**json.loads(sys.argv[1]))
    tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    tls.load_cert_chain(behaviour.certificate, behaviour.key)
    loop = asyncio.get_running_loop()
    server = await loop.create_server(
        lambda: Server(behaviour, tls),
        host="127.0.0.1",
        port=0,
        ssl=tls if behaviour.implicit_tls else None,
    )
    report("listening", port=server.sockets[0].getsockname()[1])
    await loop.run_in_executor(None, sys.stdin.read)
    server.close()
    end = loop.time() + CLOSING
    while Server.connections and loop.time() < end:
        await asyncio.sleep(0.005)
    report("end", open=len(Server.connections))
    # Conversations that hang on request would hold up an orderly end.
    os._exit(0)


asyncio.run(main())
