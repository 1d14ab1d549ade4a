"""The service, and where the bench needs something that the library leaves open."""

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
    """As `passwords` of Vestry's configuration when it says nothing: Argon2id, 19 MiB, two passes."""

    time_cost = 2
    memory_cost = 19_456
    parallelism = 1


class Adapter(DefaultAccountAdapter):
    """Codes are known beforehand."""

    def generate_email_verification_code(self):
        return "000000"


def make(address, verified=False, password=None):
    """A user as a backend makes one: the library has no call for it."""
    with transaction.atomic():
        user = get_user_model().objects.create_user(username=address, email=address, password=password)
        EmailAddress.objects.create(user=user, email=address, verified=verified, primary=True)
    return user


def create(request):
    user = make(json.loads(request.body)["email"])
    return JsonResponse({"id": user.pk, "email": user.email})


def pending_is_no_failure(respond):
    """Whoever signed up and has to bring a code is answered 401, which the load would count as a failure."""

    def middleware(request):
        response = respond(request)
        if response.status_code == 401 and request.path.endswith("/auth/signup"):
            response.status_code = 202
        return response

    return middleware


urlpatterns = [path("_allauth/", include("allauth.headless.urls")), path("create", create)]

application = WSGIHandler()
