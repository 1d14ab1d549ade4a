"""Creates users and serves, for `cargo xtask bench --peers`.

Arguments: the URL of an empty database, and how many users to create, each with an address and a session; 64 more have a
password. Prints for each session a line `session=TOKEN`, and then `http://…` where it listens. As many processes serve as there
are cores, each with eight threads.
"""

import os
import sys

os.environ["DATABASE_URL"], users = sys.argv[1], int(sys.argv[2])
os.environ["DJANGO_SETTINGS_MODULE"] = "settings"

import django

django.setup()

from django.contrib import auth
from django.contrib.sessions.backends.db import SessionStore
from django.core.management import call_command
from django.db import connections, transaction
from gunicorn.app.base import BaseApplication

import service

PASSWORD = "correct horse battery staple"
WITH_PASSWORD = 64


def seed():
    call_command("migrate", verbosity=0)
    for number in range(WITH_PASSWORD):
        service.make(f"password{number:02}@bench.example", verified=True, password=PASSWORD)
    for first in range(0, users, 500):
        with transaction.atomic():
            for number in range(first, min(first + 500, users)):
                print(f"session={session(service.make(f'user{number:08}@bench.example', verified=True))}")
    connections.close_all()


def session(user):
    """The token of a session like that of a sign-in."""
    store = SessionStore()
    store[auth.SESSION_KEY] = str(user.pk)
    store[auth.BACKEND_SESSION_KEY] = "allauth.account.auth_backends.AuthenticationBackend"
    store[auth.HASH_SESSION_KEY] = user.get_session_auth_hash()
    store.create()
    return store.session_key


class Server(BaseApplication):
    def load_config(self):
        settings = {
            "bind": "127.0.0.1:0",
            "workers": os.cpu_count(),
            "worker_class": "gthread",
            "threads": 8,
            "keepalive": 60,
            "control_socket_disable": True,
            "when_ready": lambda arbiter: print(
                "http://{}:{}".format(*arbiter.LISTENERS[0].sock.getsockname()), flush=True
            ),
        }
        for name, value in settings.items():
            self.cfg.set(name, value)

    def load(self):
        return service.application


seed()
Server().run()
