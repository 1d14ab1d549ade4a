"""Chromium opens every page of the console: axe-core finds nothing, no page is too wide, nothing moves, and the browser reports nothing
(CON-1, CON-9, CON-22, CON-23). Then the ways around scripts, mice and waiting; see console_ways.py."""

import os
import pathlib
import re
import threading
import traceback

import console_ways
from console_browser import NARROW, WIDE, console
from console_pages import AGAIN, ERRORS, FILES, OUTSIDE, PAGES, Objects, routes
from javascript import JavaScript, home
from service import Check, Service

# Those of each change; the nightly command opens all four.
USUAL = [(WIDE, "light"), (NARROW, "dark")]
ALL = [*USUAL, (WIDE, "dark"), (NARROW, "light")]

AXE = """
const done = arguments[0];
for (const details of document.querySelectorAll("details")) details.open = true;
const why = ({target, any, all, none}) => target.join(" ") + ": " + [...any, ...all, ...none].map(({message}) => message).join("; ").slice(0, 200);
const told = ({id, nodes}) => `${id} at ${nodes.slice(0, 3).map(why).join(", ")}`;
// Without `preload`, which would load stylesheets again for rules that are not asked for.
const asked = {preload: false, resultTypes: ["violations"], runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22a", "wcag22aa"]};
axe.run(document, asked).then(
  ({violations, passes}) => done({findings: violations.map(told), rules: passes.map(({id}) => id)}),
  (error) => done({findings: [String(error)], rules: []}),
);
"""
SHAPE = """
const moves = (style) => style.animationName !== "none" || style.transitionDuration.split(",").some((time) => parseFloat(time) > 0);
const elements = [...document.querySelectorAll("body, body *")];
const moving = (element) => [null, "::before", "::after"].some((part) => moves(getComputedStyle(element, part)));
return {
  content: document.documentElement.scrollWidth,
  window: innerWidth,
  headings: document.querySelectorAll("h1").length,
  silent: [...document.querySelectorAll(".pill")].filter((pill) => pill.checkVisibility() && !pill.textContent.trim()).length,
  moving: matchMedia("(prefers-reduced-motion: reduce)").matches ? elements.filter(moving).length + document.getAnimations().length : 0,
};
"""
# Violated on purpose, so that a suite that notices nothing fails.
VIOLATION = "document.body.setAttribute('style', 'color: red')"
# Forms and what they lead to: path, what is filled in, the button, and the status.
FORMS = [
    ("/{app}/test/keys/new", {"Name": "Orders"}, "Create key", 200),
    ("/{app}/live/keys/new", {"Name": "Orders", "IP allow list": "10.20.0.0/33"}, "Create key", 400),
    ("/{app}/test/webhooks/new", {"URL": "https://hooks.example.com/{look}"}, "Add endpoint", 200),
    ("/{app}/test/webhooks/new", {"URL": "ftp://hooks.example.com"}, "Add endpoint", 400),
    ("/{app}/test/webhooks/{hook}/test", {}, "Send test event", 200),
    ("/{app}/test/settings", {"session_idle_minutes": "{width}"}, "Review changes", 200),
    ("/{app}/test/settings", {"session_idle_minutes": "soon"}, "Review changes", 400),
    ("/{app}/test/users/{user}/delete", {"Type the user’s id": "user_"}, "Delete user", 400),
    ("/{app}/test/redirect-urls", {}, "Add redirect URL", 400),
    ("/operators/invite", {"Email": "{look}@example.com", "Viewer": True, "All Apps": True}, "Create invitation", 200),
    ("/me", {}, "Add authenticator app", 200),
    ("/apps/new", {"Name": ""}, "Create App", 400),
]
# Buttons and what they open, by the narrowest window in which they are shown.
MENUS = [("#me", WIDE), ("#apps", WIDE), ("#nav", NARROW)]


class Walk:
    """Opens pages in one look and checks each."""

    def __init__(self, check, browser, look, every):
        """With `every`, axe-core checks each page. Without it, every other one: of two looks, one has the even and one the odd ones."""
        self.check, self.browser, self.look = check, browser, look
        self.every, self.seen = every, look[0] == NARROW
        self.rules = set()
        width, theme = look
        # Half of the looks ask for less motion.
        browser.looks_like(width, theme, motion=width == WIDE)
        with open(f"{home()}/node_modules/axe-core/axe.min.js", encoding="utf-8") as file:
            # The debugger's scripts are outside the policy of the page.
            browser.before_each_page(file.read())

    def all(self, objects):
        for page, path in paths(objects, PAGES):
            self.open(path, ERRORS.get(page, 200))
        width, theme = self.look
        words = {**objects, "look": f"{width}-{theme}", "width": str(2 * width + len(theme))}
        for path, fields, button, status in FORMS:
            self.send(path.format_map(words), {label: fill(text, words) for label, text in fields.items()}, button, status)
        self.menus(objects)
        self.trials(objects)
        self.browser.driver.delete_all_cookies()
        for page, path in paths(objects, OUTSIDE):
            self.open(path, ERRORS.get(page, 200))
        self.browser.script(VIOLATION)
        self.check.that(self.browser.reports(), f"{self.look}: a violation of the policy is reported")

    def open(self, path, status=200):
        found = self.browser.open(path)
        self.check.that(found == status, f"{path} responds with {status}, not {found}")
        self.here(path, status)

    def send(self, path, fields, button, status):
        self.browser.open(f"/console{path}")
        for label, text in fields.items():
            if text is True:
                self.browser.check(label)
            else:
                self.browser.fill(label, text)
        self.browser.press(button)
        found = self.browser.status()
        self.check.that(found == status, f"{button} at {path} responds with {status}, not {found}")
        self.here(f"{path} after {button}", status)
        if status == 400:
            focused = self.browser.script("return document.activeElement.id")
            self.check.that(focused == "errors", f"{path}: the focus is on the summary of errors, not {focused!r}")

    def menus(self, objects):
        self.browser.open(f"/console/{objects['app']}/test/users")
        for menu, widest in MENUS:
            if self.look[0] > widest:
                continue
            self.browser.find(f"[popovertarget={menu[1:]}]:not([data-shortcuts])").click()
            self.check.that(self.browser.find(menu).is_displayed(), f"{menu} opens at {self.look}")
            self.here(f"the open menu {menu}")
            self.browser.press_keys("Escape")
            self.check.that(not self.browser.find(menu).is_displayed(), f"Escape closes {menu} at {self.look}")
        self.browser.find("[popovertarget=me]").click()
        self.browser.find("[data-shortcuts]").click()
        self.here("the list of shortcuts")

    def trials(self, objects):
        """What "Try it" shows, for a provider that fails and for one that signs in."""
        methods = f"/console/{objects['app']}/test/methods"
        for provider in ("kestrel", "test"):
            self.browser.open(methods)
            # In this tab, which has the look.
            self.browser.script("for (const form of document.forms) form.removeAttribute('target')")
            self.browser.follow(self.browser.find(f"form[action$='/{provider}/trial'] button").click)
            if provider == "test":
                self.browser.until(lambda: self.browser.find("button[value=verified]")).click()
                self.browser.until(lambda: "/test/trial" in self.browser.here() and self.browser.heading())
            self.here(f"the trial of {provider}")

    def here(self, name, status=200):
        """Checks the page that is open."""
        case = f"{name} at {self.look[0]} px, {self.look[1]}"
        # A page with an error status is reported like a file that is missing.
        reports = [one for one in self.browser.reports() if status == 200 or f"status of {status}" not in one]
        self.check.that(not reports, f"{case}: the browser reports nothing: {reports}")
        self.seen += 1
        if self.every or self.seen % 2:
            found = self.browser.driver.execute_async_script(AXE)
            self.rules |= set(found["rules"])
            self.check.that(not found["findings"], f"{case}: axe-core finds nothing: {found['findings']}")
        shape = self.browser.script(SHAPE)
        self.check.that(shape["content"] <= shape["window"], f"{case}: no wider than its window: {shape['content']} px")
        self.check.that(shape["headings"] == 1, f"{case}: one heading, not {shape['headings']}")
        self.check.that(not shape["silent"], f"{case}: every state has a word")
        self.check.that(not shape["moving"], f"{case}: nothing moves")
        # Those of axe-core itself.
        self.browser.reports()


def paths(objects, told):
    """The pages of a table and their addresses."""
    for pages in told.values():
        for page in pages:
            path = page.format_map(objects)
            yield page, path if path.startswith("http") else f"/console{path}"


def fill(text, words):
    return text if text is True else text.format_map(words)


def covers_every_route(check):
    listed, told = set(routes()), PAGES.keys() | AGAIN.keys() | OUTSIDE.keys() | FILES
    for route in sorted(listed - told):
        check.that(False, f"console_pages.py has a page of {route}")
    for route in sorted(told - listed):
        check.that(False, f"the console has the route {route}")
    check.that(len(listed) > 50, f"{len(listed)} routes are found")


def every_picture_exists(check):
    root = pathlib.Path(__file__).parents[2]
    for page in ("README.md", "docs/console.md"):
        for picture in re.findall(r'[("](\S+\.png)[)"]', (root / page).read_text(encoding="utf-8")):
            check.that((root / page).parent.joinpath(picture).exists(), f"{page}: there is a picture {picture}")


def beside(check, *works):
    """Runs functions in threads: half of the time, a browser waits for the service."""

    def run(work):
        try:
            work()
        except Exception:
            check.that(False, f"nothing fails: {traceback.format_exc()}")

    threads = [threading.Thread(target=run, args=(work,)) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def main():
    check = Check("console", "selenium")
    check.also(JavaScript.version("axe-core"))
    covers_every_route(check)
    every_picture_exists(check)
    objects = Objects(Service())
    looks = ALL if os.environ.get("VESTRY_CONSOLE_LOOKS") == "all" else USUAL
    with console() as browser:
        objects.join(browser)

    def walk(look):
        with console() as browser:
            browser.sign_in()
            walk = Walk(check, browser, look, every=looks == ALL)
            walk.all(objects)
            check.that({"color-contrast", "target-size"} <= walk.rules, f"axe-core applies its rules: {sorted(walk.rules)}")

    def ways():
        with console() as browser:
            browser.sign_in()
            console_ways.walk(check, browser, objects)

    beside(check, ways, *(lambda look=look: walk(look) for look in looks[:2]))
    beside(check, *(lambda look=look: walk(look) for look in looks[2:]))
    check.end()


main()
