"""The console without scripts (CON-10), without a mouse (CON-21), and while things happen: journeys through its forms and lists."""

from console_browser import WIDE
from console_pages import AGAIN, ERRORS, PAGES

FOCUSED = """
const element = document.activeElement;
const words = element.cloneNode(true);
for (const hidden of words.querySelectorAll("[aria-hidden]")) hidden.remove();
const label = element.labels?.[0]?.textContent ?? element.getAttribute("aria-label") ?? words.textContent;
// A choice shows the focus around its label.
const shows = [element, element.closest("label"), element.nextElementSibling].some((part) => {
  const style = part && getComputedStyle(part);
  return style && ((style.outlineStyle !== "none" && parseFloat(style.outlineWidth) > 0) || style.boxShadow !== "none");
});
return {
  name: element === document.body ? null : label.replace(/\\s+/g, " ").trim().slice(0, 60),
  id: element.id,
  shows: element.matches(":focus-visible") && shows && element.checkVisibility(),
};
"""
# More than any page has.
STOPS = 150
# The timer of live.js, run by hand.
BY_HAND = "window.setInterval = (tick) => { window.tick = tick; return 0; };"
TICK = "const done = arguments[0]; window.tick().then(done, (error) => done(String(error)));"


def walk(check, browser, objects):
    without_scripts(check, browser, objects)
    with_keys(check, browser, objects)
    live(check, browser, objects)
    # The form that is refused on purpose.
    reports = [one for one in browser.reports() if "status of 400" not in one]
    check.that(not reports, f"the journeys: the browser reports nothing: {reports}")


def without_scripts(check, browser, objects):
    browser.scripts(False)
    for pages in (PAGES | AGAIN).values():
        for page in pages:
            if page in ERRORS:
                continue
            path = "/console" + page.format_map(objects)
            status = browser.open(path)
            check.that(status == 200, f"{path} responds with 200, not {status}")
            check.that(browser.heading() and len(browser.text()) > 40, f"{path} reads without scripts")
            idle = [part.text for part in browser.all(".needs-script, .copy") if part.is_displayed()]
            check.that(not idle, f"{path} shows nothing that needs scripts: {idle}")
    forms(check, browser)
    browser.scripts(True)


def forms(check, browser):
    """Everything that a new App needs, without scripts."""
    browser.open("/console/apps/new")
    browser.fill("Name", "Without scripts")
    browser.press("Create App")
    app = browser.here().split("/")[2]
    check.that(browser.heading() == "Without scripts", f"an App is created: {browser.heading()}")

    browser.open(browser.path("keys/new", app=app))
    browser.fill("Name", "Backend")
    browser.press("Create key")
    check.that(browser.secret().startswith("sk_test_"), "a key is shown")
    browser.check("I have stored this key")
    browser.press("Done")
    check.that("Backend" in browser.text(), "the key is listed")

    browser.open(browser.path("redirect-urls", app=app))
    # The box above the form has a field with the same name.
    browser.find("#url").send_keys("https://app.example.com/in")
    browser.press("Add redirect URL")
    check.that("https://app.example.com/in" in browser.text("table"), "the redirect URL is listed")

    browser.open(browser.path("settings", app=app))
    browser.fill("session_idle_minutes", "90")
    browser.press("Review changes")
    check.that("session_idle_minutes" in browser.text() and "90" in browser.text(), "the change is shown before it is saved")
    browser.press("Save 1 change")
    check.that(browser.field("session_idle_minutes").get_attribute("value") == "90", "the setting is saved")

    browser.open(browser.path("webhooks/new", app=app))
    browser.fill("URL", "https://hooks.example.com/vestry")
    browser.press("Add endpoint")
    check.that(browser.secret().startswith("whsec_"), "the signing secret is shown")
    browser.check("I have stored this secret")
    browser.press("Done")
    check.that("https://hooks.example.com/vestry" in browser.text(), "the endpoint is shown")
    browser.open("/console/")


class Keyboard:
    """Goes through pages with the keyboard, and checks that the focus is visible at each stop."""

    def __init__(self, check, browser):
        self.check, self.browser = check, browser

    def press(self, *keys):
        self.browser.press_keys(*keys)

    def to(self, name):
        """Presses Tab until an element with a name that starts like that has the focus."""
        for _ in range(STOPS):
            self.press("Tab")
            focused = self.browser.script(FOCUSED)
            # After the last element and before the first, it is on the page.
            if focused["name"] is None:
                continue
            self.check.that(focused["shows"], f"the focus on {focused['name']!r} is visible at {self.browser.here()}")
            if focused["name"].startswith(name):
                return focused
        raise AssertionError(f"Tab does not lead to {name} at {self.browser.here()}")

    def enter(self, key="Enter"):
        """Presses the key that follows a link or sends a form."""
        self.browser.follow(lambda: self.press(key))


def with_keys(check, browser, objects):
    keyboard = Keyboard(check, browser)
    focus = lambda: browser.script("return document.activeElement.id")
    browser.looks_like(WIDE)
    browser.open(browser.path())
    keyboard.to("Skip to content")
    keyboard.press("Enter")
    check.that(focus() == "main", f"the first stop leads to the content: {focus()}")

    browser.open(browser.path())
    keyboard.to("API keys")
    keyboard.enter()
    keyboard.to("Create key")
    keyboard.enter()
    keyboard.to("Name")
    keyboard.press("By keyboard")
    keyboard.to("IP allow list")
    keyboard.press("10.20.0.0/33")
    keyboard.to("Create key")
    keyboard.enter()
    check.that(browser.status() == 400 and focus() == "errors", f"the focus moves to what was refused: {focus()}")
    keyboard.press("Tab", "Enter")
    check.that(focus() == "ip_allow", f"the summary leads to the field: {focus()}")
    browser.script("document.activeElement.select()")
    keyboard.press("Delete")
    keyboard.to("Create key")
    keyboard.enter("Space")
    check.that(browser.secret().startswith("sk_test_"), "a key is created")
    keyboard.to("I have stored this key")
    keyboard.press("Space")
    keyboard.to("Done")
    keyboard.enter()
    check.that("By keyboard" in browser.text(), "the key is listed")

    keyboard.to("Account menu")
    keyboard.press("Enter")
    check.that(browser.find("#me").is_displayed(), "Enter opens the menu")
    keyboard.to("Your account")
    keyboard.press("Escape")
    check.that(not browser.find("#me").is_displayed(), "Escape closes the menu")
    check.that(browser.script(FOCUSED)["name"].startswith("Account menu"), "the focus is back on its button")
    shortcuts(check, browser, keyboard)


def shortcuts(check, browser, keyboard):
    keyboard.press("g")
    browser.follow(lambda: keyboard.press("u"))
    check.that(browser.heading() == "Users", "g and u lead to the users")
    keyboard.press("/")
    keyboard.press("guge?/")
    typed = browser.script("return document.activeElement.value")
    check.that(typed == "guge?/" and browser.heading() == "Users", f"shortcuts are off in a field: {typed}")
    browser.open(browser.path("events"))
    keyboard.press("?")
    check.that("Redirect URLs" in browser.text("dialog"), "? lists the shortcuts")
    keyboard.to("Use shortcuts in this browser")
    keyboard.press("Space")
    keyboard.press("Escape")
    check.that(not browser.all("dialog[open]"), "Escape closes the list")
    keyboard.press("g", "u", "?")
    check.that(browser.heading() == "Events" and not browser.all("dialog[open]"), "shortcuts can be turned off")
    browser.script("localStorage.clear()")


class Live:
    """A list that refreshes itself, with the timer in our hands."""

    def __init__(self, check, browser, path):
        self.check, self.browser = check, browser
        browser.open(path)
        self.what = browser.heading()

    def tick(self):
        failed = self.browser.driver.execute_async_script(TICK)
        self.check.that(failed is None, f"{self.what} are loaded again: {failed}")

    def rows(self):
        return self.browser.script("return [...document.querySelectorAll('#live .log > li')].map((row) => row.id)")

    def button(self):
        return self.browser.find("#live-button")

    def state(self):
        return self.browser.text("#live-state")

    def shows(self, known, description):
        self.check.that(self.rows() != known, f"{self.what}: {description}")

    def holds(self, known, description):
        self.check.that(self.rows() == known, f"{self.what}: {description}")


def live(check, browser, objects):
    browser.before_each_page(BY_HAND)
    # Path, something new there, and how a row is called.
    for path, happens, one in (
        ("events", lambda: objects.new_user(objects.newest_event), "event"),
        (f"webhooks/{objects['hook']}", lambda: objects.new_user(objects.last_position), "deliver"),
        ("messages", objects.new_message, "message"),
    ):
        happens()
        shown = Live(check, browser, browser.path(path))
        check.that(shown.state() == "Following", f"{shown.what} follow: {shown.state()}")
        known = shown.rows()
        happens()
        shown.tick()
        shown.shows(known, "what happens appears")

        # Someone reads a row.
        known = shown.rows()
        browser.find("#live summary").click()
        happens()
        shown.tick()
        shown.holds(known, "nothing moves while someone reads")
        label = shown.button().text
        check.that(label.startswith("Show ") and one in label, f"{shown.what}: the button counts the new rows: {label}")
        shown.button().click()
        shown.shows(known, "the button shows them")

        shown.button().click()
        check.that(shown.state() == "Paused", f"{shown.what} pause: {shown.state()}")
        known = shown.rows()
        happens()
        shown.tick()
        shown.holds(known, "a pause holds them")
        shown.button().click()
        browser.until(lambda: shown.rows() != known)
        check.that(shown.state() == "Following", f"{shown.what} follow again: {shown.state()}")
    expired(check, browser, objects)


def expired(check, browser, objects):
    """A list whose session has ended says that it is no longer current."""
    shown = Live(check, browser, browser.path("events"))
    browser.driver.delete_all_cookies()
    shown.tick()
    check.that(shown.state() == "Disconnected", f"without a session, the list is disconnected: {shown.state()}")
