"""Django settings: an app backend as in django-allauth's documentation, on Postgres.

Its limits of requests are off, as everybody's are in the bench, and it sends no mail.
"""

import os
from urllib.parse import urlsplit

_url = urlsplit(os.environ["DATABASE_URL"])

ALLOWED_HOSTS = ["*"]
SECRET_KEY = "a secret of a benchmark, which is long enough"
ROOT_URLCONF = "service"
USE_TZ = True
DATABASES = {
    "default": {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": _url.path.removeprefix("/"),
        "HOST": _url.hostname,
        "PORT": _url.port,
        "USER": _url.username,
        "CONN_MAX_AGE": None,
    }
}
INSTALLED_APPS = [
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "allauth",
    "allauth.account",
    "allauth.headless",
]
MIDDLEWARE = [
    "service.pending_is_no_failure",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "allauth.account.middleware.AccountMiddleware",
]
TEMPLATES = [{"BACKEND": "django.template.backends.django.DjangoTemplates", "APP_DIRS": True}]
AUTHENTICATION_BACKENDS = ["allauth.account.auth_backends.AuthenticationBackend"]
PASSWORD_HASHERS = ["service.Hasher"]
EMAIL_BACKEND = "django.core.mail.backends.dummy.EmailBackend"
LOGGING_CONFIG = None

HEADLESS_ONLY = True
HEADLESS_CLIENTS = ["app"]
ACCOUNT_ADAPTER = "service.Adapter"
ACCOUNT_LOGIN_METHODS = {"email"}
ACCOUNT_SIGNUP_FIELDS = ["email*"]
ACCOUNT_EMAIL_VERIFICATION = "mandatory"
ACCOUNT_EMAIL_VERIFICATION_BY_CODE_ENABLED = True
ACCOUNT_RATE_LIMITS = False
