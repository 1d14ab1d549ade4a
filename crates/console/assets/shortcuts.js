// Keyboard shortcuts: `/` goes to the search field, `g` and a letter to a page of the navigation, `?` lists them. They are single
// characters, so they can be turned off (WCAG 2.2, 2.1.4), and they do nothing while someone types.
const letters = {
  "": "o", "quick-start": "q", users: "u", wallets: "w", methods: "m", "redirect-urls": "r", keys: "k", webhooks: "h", events: "e",
  messages: "i", clock: "c", audit: "a", settings: "s", operators: "p", "management-keys": "k", deployment: "d", me: "y",
};
const OFF = "vestry-shortcuts-off";
const links = new Map();
for (const link of document.querySelectorAll("#nav a")) {
  const letter = letters[link.pathname.split("/").pop()];
  if (letter) links.set(letter, link);
}
const search = document.querySelector("[role=search] input[type=search]");
let dialog;
let goes = false;

function isOff() {
  try {
    return localStorage.getItem(OFF) === "1";
  } catch {
    return false;
  }
}

function make(name, properties, ...children) {
  const element = Object.assign(document.createElement(name), properties);
  element.append(...children);
  return element;
}

function keys(...names) {
  return make("dt", {}, ...names.flatMap((name, index) => (index ? [" then ", make("kbd", { textContent: name })] : [make("kbd", { textContent: name })])));
}

function help() {
  if (!dialog) {
    const rows = [...links].map(([letter, link]) => make("div", {}, keys("g", letter), make("dd", { textContent: link.textContent })));
    if (search) rows.unshift(make("div", {}, keys("/"), make("dd", { textContent: "Search field" })));
    rows.push(make("div", {}, keys("?"), make("dd", { textContent: "This list" })));
    const box = make("input", { type: "checkbox", checked: !isOff() });
    box.addEventListener("change", () => (box.checked ? localStorage.removeItem(OFF) : localStorage.setItem(OFF, "1")));
    const close = make("button", { type: "button", className: "btn", textContent: "Close", autofocus: true });
    close.addEventListener("click", () => dialog.close());
    const title = make("h2", { id: "shortcuts", textContent: "Keyboard shortcuts" });
    const facts = make("dl", { className: "facts narrow" }, ...rows);
    const use = make("label", { className: "check" }, box, make("span", { textContent: "Use shortcuts in this browser" }));
    dialog = make("dialog", {}, make("div", { className: "body" }, title, facts, use, make("div", { className: "acts" }, close)));
    dialog.setAttribute("aria-labelledby", "shortcuts");
    document.body.append(dialog);
  }
  dialog.showModal();
}

function isTyping(target) {
  return target.isContentEditable || target.closest?.("input:not([type=checkbox], [type=radio]), select, textarea");
}

document.addEventListener("click", (event) => {
  if (event.target.closest?.("[data-shortcuts]")) help();
});

document.addEventListener("keydown", (event) => {
  const wasGoing = goes;
  goes = false;
  if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing || isTyping(event.target) || dialog?.open || isOff()) return;
  if (wasGoing) {
    const link = links.get(event.key);
    if (link) event.preventDefault();
    return link?.click();
  }
  if (event.key === "g") goes = true;
  if (event.key === "?") help();
  if (event.key === "/" && search) {
    event.preventDefault();
    search.focus();
  }
});
