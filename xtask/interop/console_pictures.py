"""Takes the pictures of README.md and docs/console.md, with the objects of a shop that has just begun."""

import base64
import collections
import contextlib
import math
import os
import pathlib
import sqlite3
import time
import zlib

from console_browser import WIDE, console
from console_pages import Objects, Receiver
from service import Service

# Name and path of each picture; the first has one for each theme.
PICTURES = {
    "overview": "{app}/test/",
    "apps": "",
    "quick-start": "{app}/test/quick-start",
    "users": "{app}/test/users",
    "user": "{app}/test/users/{user}",
    "wallets": "{app}/test/wallets",
    "methods": "{app}/test/methods",
    "provider": "{app}/test/providers/google",
    "redirect-urls": "{app}/test/redirect-urls",
    "keys": "{app}/test/keys",
    "messages": "{app}/test/messages",
    "clock": "{app}/test/clock",
    "webhooks": "{app}/test/webhooks",
    "webhook": "{app}/test/webhooks/{hook}",
    "events": "{app}/test/events",
    "event": "{app}/test/events/{event}",
    "audit": "{app}/test/audit",
    "settings": "{app}/test/settings",
    "operators": "operators",
    "management-keys": "management-keys",
    "deployment": "deployment",
    "account": "me",
}
DAY = 86_400
PEOPLE = ["Marit Solheim", "Jonas Weber", "Amara Okafor", "Elif Şahin", "Tomás Rivera", "Yuki Tanaka", "Ines Duarte", "Piotr Nowak"]


class Shop(Objects):
    """Users, keys and endpoints that a reader of the documentation would have."""

    def __init__(self, service):
        dict.__init__(self)
        self.service, self.number = service, 0
        self["app"] = service.app_id
        self.operate("app", "create", "Harbour Books")
        self.operate("key", "create", self["app"], "test", "--name", "Order service", "--scope", "users:read,wallets:read", "--ip-allow", "192.0.2.0/24")
        self.operate("key", "create", self["app"], "test", "--name", "Support desk", "--scope", "users:read")
        self.operate("redirect-url", "add", self["app"], "test", "https://shop.example.com/signed-in", "--default")
        receiver = Receiver()
        for key, name, path in (("hook", "Order service", "ok"), ("failing", "Analytics", "broken")):
            self[key] = self.operate("webhook", "create", self["app"], "test", f"{receiver.url}/{path}", "--name", name)["id"]
        secret = pathlib.Path(service.database()).with_name("client-secret")
        secret.write_text("not a secret")
        self.operate("provider", "set", self["app"], "test", "google", "--client-id", "1234.apps.example.com", "--client-secret-file", str(secret))
        self.operate("manage-key", "create", "Pipeline", "--app", "all", "--environment", "test", "--expires-in", "90d", "--scope", "apps:write,audit:read")
        self.operate("operator", "create", "jonas.weber@example.com", "--role", "developer", "--app", self["app"])
        self.people()
        self["event"] = self.newest_event()

    def people(self):
        call = self.service.call
        for number, name in enumerate(PEOPLE):
            first, last = name.split()
            email = f"{first}.{last}@example.com".lower().translate(str.maketrans("şá", "sa"))
            metadata = {"plan": "gold" if number % 2 else "silver", "customer": 1000 + number}
            user = {"email": email, "email_verified": True, "first_name": first, "last_name": last, "metadata": metadata}
            made = call("POST", "/v1/auth/users/create", user)["user_id"]
            for kind in ("ethereum", "bitcoin", "solana")[: 1 + number % 3]:
                wallet = call("POST", "/v1/wallets/create", {"user_id": made, "wallet_type": kind})["id"]
            if not number:
                self["user"], self["wallet"] = made, wallet
                call("POST", f"/v1/wallets/{wallet}/sign_message", {"message": "hello"})
                self.signed_in(email)


def smaller(png):
    """The same picture with the 256 most frequent colours; others become the nearest of them."""
    width, height, pixels = decoded(png)
    channels = list(zip(pixels[0::3], pixels[1::3], pixels[2::3]))
    colours = [colour for colour, _ in collections.Counter(channels).most_common()]
    kept = colours[:256]
    palette = {colour: index for index, colour in enumerate(kept)}
    for colour in colours[256:]:
        palette[colour] = min(range(256), key=lambda index: sum((one - other) ** 2 for one, other in zip(kept[index], colour)))
    indices = bytes(map(palette.__getitem__, channels))
    lines = b"".join(b"\0" + indices[at : at + width] for at in range(0, width * height, width))
    head = width.to_bytes(4) + height.to_bytes(4) + bytes([8, 3, 0, 0, 0])
    parts = ((b"IHDR", head), (b"PLTE", bytes(sum(kept, ()))), (b"IDAT", zlib.compress(lines, 9)), (b"IEND", b""))
    return png[:8] + b"".join(chunk(*part) for part in parts)


def chunk(kind, content):
    return len(content).to_bytes(4) + kind + content + zlib.crc32(kind + content).to_bytes(4)


def decoded(png):
    """Width, height and the pixels of an 8-bit RGB picture, as Chromium takes it."""
    at, packed = 8, b""
    while at < len(png):
        size, kind = int.from_bytes(png[at : at + 4]), png[at + 4 : at + 8]
        content = png[at + 8 : at + 8 + size]
        if kind == b"IHDR":
            width, height, depth, colours = int.from_bytes(content[:4]), int.from_bytes(content[4:8]), content[8], content[9]
            if (depth, colours) not in ((8, 2), (8, 6)):
                raise ValueError(f"a picture of {depth} bits and colour type {colours}")
        if kind == b"IDAT":
            packed += content
        at += size + 12
    step = 3 if colours == 2 else 4
    raw, stride = zlib.decompress(packed), width * step
    above, lines = bytearray(stride), []
    for row in range(height):
        start = row * (stride + 1)
        line = unfiltered(raw[start], bytearray(raw[start + 1 : start + 1 + stride]), above, step)
        lines.append(line)
        above = line
    pixels = b"".join(lines)
    if step == 4:
        opaque = bytearray(width * height * 3)
        for channel in range(3):
            opaque[channel::3] = pixels[channel::4]
        pixels = bytes(opaque)
    return width, height, pixels


def unfiltered(kind, line, above, step):
    """A line of a PNG without its filter (PNG, section 9.2)."""
    for at in range(len(line)) if kind else ():
        left = line[at - step] if at >= step else 0
        up, corner = above[at], above[at - step] if at >= step else 0
        if kind == 1:
            guess = left
        elif kind == 2:
            guess = up
        elif kind == 3:
            guess = (left + up) // 2
        else:
            near = left + up - corner
            guess = min((left, up, corner), key=lambda one: abs(near - one))
        line[at] = (line[at] + guess) & 255
    return line


# Measures of the charts: name, label, and about how many a day.
ACTIVITY = [
    ("sign_in", "passkey", 180),
    ("sign_in", "email_code", 120),
    ("sign_in", "provider", 90),
    ("sign_in", "password", 60),
    ("sign_in", "wallet", 30),
    ("sign_in_failed", "code", 14),
    ("sign_in_failed", "password", 9),
    ("user_created", "email_otp", 12),
    ("user_created", "oauth", 7),
    ("webhook", "delivered", 400),
    ("webhook", "failed", 6),
    ("webhook_ms", "50", 120),
    ("webhook_ms", "100", 220),
    ("webhook_ms", "250", 60),
    ("wallet_created", "ethereum", 15),
    ("wallet_created", "solana", 6),
    ("signature", "ethereum", 140),
    ("signature", "solana", 50),
]


def month_before(service, app):
    """Writes the counters of a month, which no call can create."""
    today = int(time.time()) // DAY * DAY
    rows = []
    for day in range(30):
        start = today - day * DAY
        weekend = 0.6 if (start // DAY + 3) % 7 >= 5 else 1
        for number, (name, label, usual) in enumerate(ACTIVITY):
            swing = 1 + 0.2 * math.sin(day * 0.7 + number) - 0.01 * day
            rows.append((app, "test", "day", start, name, label, round(usual * weekend * swing)))
    with contextlib.closing(sqlite3.connect(service.database(), timeout=30)) as database, database:
        database.executemany("INSERT INTO activity VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING", rows)


def main():
    shop = Shop(Service())
    month_before(shop.service, shop["app"])
    folder = pathlib.Path(os.environ["VESTRY_PICTURES"])
    folder.mkdir(parents=True, exist_ok=True)
    total = 0
    with console() as browser:
        browser.sign_in()
        browser.driver.execute_cdp_cmd("Emulation.setScrollbarsHidden", {"hidden": True})
        for name, path in PICTURES.items():
            for theme in ("light", "dark") if name == "overview" else ("light",):
                browser.looks_like(WIDE, theme, motion=False)
                status = browser.open("/console/" + path.format_map(shop))
                if status != 200:
                    raise ValueError(f"{path} responds with {status}")
                taken = browser.driver.execute_cdp_cmd("Page.captureScreenshot", {"format": "png"})
                picture = smaller(base64.b64decode(taken["data"]))
                (folder / f"{name}{'-dark' if theme == 'dark' else ''}.png").write_bytes(picture)
                total += len(picture)
    print(f"{total / 1e6:.2f} MB of pictures in {folder}")


main()
