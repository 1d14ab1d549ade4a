// Live refresh of the card with `data-live`, the seconds between requests. The page is loaded again and replaces what is below the heading of
// the card, unless someone reads: then the button counts the new rows.
const card = document.querySelector("[data-live]");
const button = document.getElementById("live-button");
const state = document.getElementById("live-state");
// An unattended page stops, so that its requests do not keep the session alive.
const unattended = 10 * 60 * 1000;
let following = true;
let connected = true;
let newest;
let touched = Date.now();

function content(page) {
  return [...page.getElementById(card.id).children].slice(1);
}

function rows(page) {
  return [...page.querySelectorAll(`#${card.id} > .log > li`)];
}

function isReading() {
  const selection = getSelection();
  const selects = !selection.isCollapsed && selection.containsNode(card, true);
  const below = content(document);
  return scrollY > 80 || selects || below.some((part) => part.matches(":hover, :focus-within") || part.querySelector("details[open]"));
}

function waiting() {
  return newest ? rows(newest).filter((row) => !document.getElementById(row.id)).length : 0;
}

function update() {
  const count = waiting();
  const { one, many } = card.dataset;
  state.textContent = connected ? (following ? "Following" : "Paused") : "Disconnected";
  state.dataset.tone = connected ? (following ? "ok" : "") : "warn";
  button.textContent = count ? `Show ${count} new ${count === 1 ? one : many}` : following ? "Pause" : "Follow";
}

function show() {
  for (const id of ["live-count", "live-first"]) {
    const [shown, current] = [document, newest].map((page) => page.getElementById(id));
    if (shown && current) shown.textContent = current.textContent;
  }
  for (const part of content(document)) part.remove();
  card.append(...content(newest).map((part) => document.importNode(part, true)));
  newest = undefined;
  update();
}

// XMLHttpRequest parses the page, because the policy allows no HTML strings (require-trusted-types-for 'script').
function load() {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open("GET", location.href);
    request.responseType = "document";
    // Once the session has ended, the response is the sign-in page.
    request.onload = () => (request.response?.getElementById(card.id) ? resolve(request.response) : reject(new Error("no card")));
    request.onerror = () => reject(new Error("no response"));
    request.send();
  });
}

async function poll() {
  if (!following || document.hidden) return;
  following = Date.now() - touched < unattended;
  if (!following) return update();
  try {
    const page = await load();
    // Paused while it loaded.
    if (!following) return;
    connected = true;
    newest = page;
  } catch {
    connected = following = false;
    return update();
  }
  if (isReading()) update();
  else show();
}

if (card && button && state) {
  for (const kind of ["pointerdown", "keydown", "scroll"]) addEventListener(kind, () => (touched = Date.now()), { passive: true });
  button.addEventListener("click", () => {
    if (waiting()) return show();
    following = !following;
    connected = true;
    update();
    poll();
  });
  update();
  setInterval(poll, 1000 * Number(card.dataset.live));
}
