// Completes forms marked with `data-passkey`: gets options from the server, asks the browser for a passkey, and sends what it
// answers as the field `credential`. Without this script the forms stay hidden.

const problems = {
  NotAllowedError: "This was cancelled or took too long. Try again.",
  InvalidStateError: "This device already has a passkey for you.",
  SecurityError: "This page is not at the address in console.base_url.",
};

async function credentialFor(form) {
  const response = await fetch(form.dataset.options, {
    method: "POST",
    headers: { "Content-Type": "application/x-www-form-urlencoded" },
    body: new URLSearchParams(new FormData(form)).toString(),
  });
  if (!response.ok) throw new Error(`the server answered ${response.status}`);
  const { publicKey } = await response.json();
  if (form.dataset.passkey === "create") {
    return navigator.credentials.create({ publicKey: PublicKeyCredential.parseCreationOptionsFromJSON(publicKey) });
  }
  return navigator.credentials.get({ publicKey: PublicKeyCredential.parseRequestOptionsFromJSON(publicKey) });
}

async function send(event) {
  event.preventDefault();
  const form = event.currentTarget;
  const button = form.querySelector("button");
  const report = form.querySelector("[role=alert]");
  button.disabled = true;
  report.hidden = true;
  try {
    const credential = await credentialFor(form);
    form.elements.credential.value = JSON.stringify(credential);
    form.submit();
  } catch (error) {
    report.textContent = problems[error.name] ?? "This did not work. Reload the page and try again.";
    report.hidden = false;
    button.disabled = false;
  }
}

if (typeof globalThis.PublicKeyCredential?.parseRequestOptionsFromJSON === "function") {
  for (const form of document.querySelectorAll("form[data-passkey]")) {
    form.addEventListener("submit", send);
    form.hidden = false;
  }
}
