"""The service, and parts that the bench needs and the library leaves to its users."""

import json

from allauth.account.adapter import DefaultAccountAdapter
from allauth.account.models import EmailAddress
from django.contrib.auth import get_user_model
from django.contrib.auth.hashers import Argon2PasswordHasher
from django.core.handlers.wsgi import WSGIHandler
from django.db import transaction
from django.http import JsonResponse
from django.urls import include, path


class Hasher(Argon2PasswordHasher):
    """Vestry's default: Argon2id, 19 MiB, two passes."""

    time_cost = 2
    memory_cost = 19_456
    parallelism = 1


class Adapter(DefaultAccountAdapter):
    """Fixed codes."""

    def generate_email_verification_code(self):
        return "000000"


def make(address, verified=False, password=None):
    """Creates a user like a backend, because the library has no call for it."""
    with transaction.atomic():
        user = get_user_model().objects.create_user(username=address, email=address, password=password)
        EmailAddress.objects.create(user=user, email=address, verified=verified, primary=True)
    return user


def create(request):
    user = make(json.loads(request.body)["email"])
    return JsonResponse({"id": user.pk, "email": user.email})


def pending_is_no_failure(respond):
    """Turns the 401 after a sign-up, which asks for the code, into a status that the load does not count as a failure."""

    def middleware(request):
        response = respond(request)
        if response.status_code == 401 and request.path.endswith("/auth/signup"):
            response.status_code = 202
        return response

    return middleware


urlpatterns = [path("_allauth/", include("allauth.headless.urls")), path("create", create)]

application = WSGIHandler()
