//! Runs the documentation: every command in a code block runs, every command in a sentence is valid, and every path exists with its method.
//! A page with anything that does not work fails here.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;

use serde_json::{Value, json};
use tokio::task::block_in_place;

use crate::support::client::Answer;
use crate::support::installation::{CommandOutput, Installation, binary, text};

/// Commands that are parsed but not run.
const READ: [(&str, &str); 20] = [
    (
        "vestry restore",
        "needs an empty database; `backup` has one",
    ),
    ("vestry dev", "serves until it is stopped"),
    ("vestry serve", "serves until it is stopped"),
    ("vestry worker", "delivers until it is stopped"),
    ("vestry listen", "forwards until it is stopped"),
    (
        "vestry events resend",
        "needs a service that runs; `listen` runs it on one",
    ),
    (
        "vestry webhook test",
        "needs a receiver; `webhooks` has one",
    ),
    (
        "vestry webhook replay",
        "needs an event; the use case has tests of its own",
    ),
    (
        "vestry webhook deliveries APP ENDPOINT DELIVERY",
        "needs a delivery; the use case has tests of its own",
    ),
    (
        "vestry outbox dead show",
        "needs a message that failed; `outbox` has one",
    ),
    (
        "vestry outbox dead retry",
        "needs a message that failed; `outbox` has one",
    ),
    (
        "vestry outbox dead drop",
        "needs a message that failed; `outbox` has one",
    ),
    (
        "vestry audit acknowledge",
        "needs a finding; `checkpoints` has some",
    ),
    (
        "vestry migrate --distribute",
        "needs a cluster; `spread` runs it on one",
    ),
    (
        "vestry operator set",
        "needs an operator who joined; `operators` has some",
    ),
    (
        "vestry operator disable",
        "needs an operator who joined; `operators` has some",
    ),
    (
        "vestry operator enable",
        "needs an operator who joined; `operators` has some",
    ),
    (
        "vestry operator reset",
        "needs an operator who joined; `operators` has some",
    ),
    (
        "vestry operator unlock",
        "needs an operator who joined; `operators` has some",
    ),
    (
        "vestry operator remove",
        "needs an operator who joined; `operators` has some",
    ),
];

/// Commands that can run only once in the installation and have run already.
const ONCE: [&str; 1] = ["vestry vault init"];

/// Endpoints that exist already: each URL can be used once.
static ENDPOINTS: AtomicUsize = AtomicUsize::new(0);

/// A path prefix, where the text refers to all calls below it.
const PREFIXES: [&str; 3] = ["/v1/test", "/v1/test/…", "/v1/manage"];

const METHODS: [&str; 5] = ["GET", "POST", "PUT", "PATCH", "DELETE"];

/// A user to import, for commands that read a file of users.
const PEOPLE: &str = "{\"emails\":[{\"email\":\"ada@example.com\",\"verified\":true}]}\n";

/// A page and its path.
struct Page {
    name: String,
    text: String,
}

/// A passage of a page, and its first line.
#[derive(Debug, Clone)]
struct Passage {
    place: String,
    text: String,
}

/// The README and everything below `docs/`, except the requirements, which describe goals.
fn pages() -> Vec<Page> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut found = vec![root.join("README.md")];
    let mut directories = vec![root.join("docs")];
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() && !path.ends_with("docs/requirements") {
                directories.push(path);
            } else if path.extension().is_some_and(|extension| extension == "md") {
                found.push(path);
            }
        }
    }
    found.sort();
    let page = |path: PathBuf| Page {
        name: path.strip_prefix(&root).unwrap().display().to_string(),
        text: fs::read_to_string(&path).unwrap(),
    };
    found.into_iter().map(page).collect()
}

impl Page {
    /// Logical lines of code blocks, and the paragraphs between the blocks.
    fn passages(&self) -> (Vec<Passage>, Vec<Passage>) {
        let (mut code, mut prose) = (Vec::new(), Vec::new());
        let mut is_code = false;
        let mut open: Option<Passage> = None;
        for (index, line) in self.text.lines().enumerate() {
            let is_fence = line.trim_start().starts_with("```");
            let goes_on = is_code && line.ends_with('\\');
            let line = line.strip_suffix('\\').unwrap_or(line);
            if !is_fence && !line.trim().is_empty() {
                let begun = open.get_or_insert_with(|| Passage {
                    place: format!("{}:{}", self.name, index + 1),
                    text: String::new(),
                });
                begun.text.push_str(line);
                begun.text.push('\n');
            }
            let is_over = is_fence || line.trim().is_empty() || (is_code && !goes_on);
            if let Some(passage) = open.take_if(|_| is_over) {
                let kind = if is_code { &mut code } else { &mut prose };
                kind.push(passage);
            }
            is_code ^= is_fence;
        }
        prose.extend(open);
        (code, prose)
    }
}

/// The spans between single backticks, with runs of white space as one space.
fn spans(paragraph: &Passage) -> Vec<Passage> {
    let spans = paragraph.text.split('`').skip(1).step_by(2);
    let passage = |span: &str| Passage {
        place: paragraph.place.clone(),
        text: span.split_whitespace().collect::<Vec<_>>().join(" "),
    };
    spans.map(passage).collect()
}

/// Commands in code blocks, without shell comments.
fn commands_of_blocks(pages: &[Page]) -> Vec<Passage> {
    let lines = pages.iter().flat_map(|page| page.passages().0);
    let commands = lines.filter(|line| line.text.trim_start().starts_with("vestry "));
    commands
        .map(|line| {
            let text = line.text.replace('\n', " ");
            let text = text.split(" #").next().unwrap_or_default().trim();
            Passage {
                text: text.to_owned(),
                ..line
            }
        })
        .collect()
}

/// Commands in sentences and tables; `list|show` counts as two.
fn commands_of_sentences(pages: &[Page]) -> Vec<Passage> {
    let paragraphs = pages.iter().flat_map(|page| page.passages().1);
    let spans: Vec<_> = paragraphs.flat_map(|paragraph| spans(&paragraph)).collect();
    let commands = spans
        .into_iter()
        .filter(|span| span.text.starts_with("vestry "));
    commands
        .flat_map(|command| alternatives(&command))
        .collect()
}

fn alternatives(command: &Passage) -> Vec<Passage> {
    let text = command.text.replace("\\|", "|");
    let Some(word) = text.split(' ').find(|word| word.contains('|')) else {
        return vec![Passage {
            text,
            ..command.clone()
        }];
    };
    let one = |choice: &str| Passage {
        text: text.replacen(word, choice, 1),
        ..command.clone()
    };
    word.split('|').map(one).collect()
}

/// A command name without its arguments.
fn is_a_name(command: &str) -> bool {
    let is_lower = |byte: u8| byte.is_ascii_lowercase() || byte == b'-';
    let mut words = command.split(' ');
    words.all(|word| !word.starts_with('-') && word.bytes().all(is_lower))
}

/// An installation that contains everything that documented commands refer to.
struct Harness {
    installation: Installation,
    app: String,
    user: String,
}

impl Harness {
    fn set_up() -> Self {
        let mut installation = Installation::sqlite();
        installation.set("http.base_url", "https://id.example.com");
        installation.set("console.base_url", "https://console.example.com");
        // A new key of checkpoints signs after one period.
        installation.set("audit.checkpoint_seconds", "1");
        let app = installation.set_up().app;
        fs::write(installation.file("users.jsonl"), PEOPLE).unwrap();
        installation.admin(&["users", "import", &app, "live", "users.jsonl"]);
        let exported = installation
            .run(&["users", "export", &app, "live"])
            .done()
            .stdout;
        let user: Value = serde_json::from_str(exported.trim()).unwrap();
        let user = text(&user, "id");
        Self {
            installation,
            app,
            user,
        }
    }

    /// The value for a placeholder that readers fill in themselves.
    fn word(&self, word: &str) -> String {
        match word {
            "APP" | "APP_ID" | "app_…" => self.app.clone(),
            "KEY" | "key_…" => {
                let made = self
                    .installation
                    .admin(&["key", "create", &self.app, "live"]);
                text(&made, "id")
            }
            "MANAGEMENT_KEY" => text(&management_key(&self.installation), "id"),
            "jwk_…" => {
                let made = self
                    .installation
                    .admin(&["signing-key", "rotate", &self.app, "live"]);
                text(&made, "id")
            }
            "user_…" => self.user.clone(),
            "ENDPOINT" => {
                let url = format!("https://{}.example.com/", ENDPOINTS.fetch_add(1, Relaxed));
                let made = self
                    .installation
                    .admin(&["webhook", "create", &self.app, "live", &url]);
                text(&made, "id")
            }
            "EVENT" | "event_…" => format!("event_{}", "0".repeat(27)),
            "evt_…" => format!("evt_{}", "0".repeat(27)),
            "DELIVERY" => format!("whdel_{}", "0".repeat(27)),
            "NAME=VALUE" | "name=value" => "name=Shop".to_owned(),
            // "And so on."
            "…" => String::new(),
            // The elided part of an ID.
            _ => word.replace('…', "0"),
        }
    }

    /// Runs a command through a shell, for its quotes and `>`.
    fn type_in(&self, command: &str) -> CommandOutput {
        let words: Vec<_> = command.split(' ').map(|word| self.word(word)).collect();
        for secret in words
            .windows(2)
            .filter(|pair| pair[0] == "--client-secret-file")
        {
            fs::write(self.installation.file(&secret[1]), "the-client-secret").unwrap();
        }
        in_shell(&self.installation, &words.join(" "))
    }

    /// Runs a command of a code block; some are only parsed.
    fn try_out(&self, command: &str) -> CommandOutput {
        let is_read = READ.iter().any(|(read, _)| {
            let rest = command.strip_prefix(read);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
        });
        if is_read {
            return self.read(command);
        }
        if ONCE.contains(&command) {
            let fresh = Installation::sqlite();
            fresh.admin(&["migrate"]);
            return in_shell(&fresh, command);
        }
        self.type_in(command)
    }

    /// Parses a command without running it.
    fn read(&self, command: &str) -> CommandOutput {
        self.type_in(&format!("{command} --help"))
    }

    /// Runs a command of a sentence; a bare name is only parsed.
    fn try_out_named(&self, command: &str) -> CommandOutput {
        if is_a_name(command) {
            self.read(command)
        } else {
            self.try_out(command)
        }
    }
}

fn in_shell(installation: &Installation, command: &str) -> CommandOutput {
    let directory = binary().parent().unwrap().display();
    let mut shell = installation.command_of(Path::new("/bin/sh"), &["-c", command]);
    let output = shell
        .env("PATH", format!("{directory}:/usr/bin:/bin"))
        .output()
        .unwrap();
    CommandOutput {
        code: output.status.code().unwrap_or(-1),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

#[test]
fn m_19_every_command_of_the_documentation_runs() {
    let pages = pages();
    let harness = Harness::set_up();
    let (typed, named) = (commands_of_blocks(&pages), commands_of_sentences(&pages));
    assert!(
        typed.len() >= 20 && named.len() >= 60,
        "{} {}",
        typed.len(),
        named.len()
    );
    let mut wrong = Vec::new();
    let of_blocks = typed
        .iter()
        .map(|command| (command, harness.try_out(&command.text)));
    let of_sentences = named
        .iter()
        .map(|command| (command, harness.try_out_named(&command.text)));
    for (Passage { place, text }, output) in of_blocks.chain(of_sentences) {
        if output.code != 0 {
            wrong.push(format!("{place}: {text}\n  {}", output.stderr.trim()));
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
    // Every exception above must be named by some page.
    let all: BTreeSet<_> = typed
        .iter()
        .chain(&named)
        .map(|command| command.text.as_str())
        .collect();
    for exception in READ.iter().map(|(command, _)| *command).chain(ONCE) {
        let is_named = all.iter().any(|command| command.starts_with(exception));
        assert!(is_named, "no page names {exception}");
    }
}

/// The test above detects invalid commands: those it was written for, and a typo in a sentence.
#[test]
fn m_19_a_command_that_does_not_run_is_found() {
    let page = Page {
        name: "page.md".to_owned(),
        text: "See `vestry\nkey list APP --jsno` and `vestry app show\\|hide`.\n\n```sh\nvestry signing-key rotate APP_ID \\\n  \
               --environment live   # makes one\nvestry app set APP siwe_domains='[\"a b\"]'\nvestry app show APP > app.txt\n```\n"
            .to_owned(),
    };
    let pages = [page];
    let harness = Harness::set_up();
    let (named, typed) = (commands_of_sentences(&pages), commands_of_blocks(&pages));
    let named = named
        .iter()
        .map(|command| (command, harness.try_out_named(&command.text)));
    let typed = typed
        .iter()
        .map(|command| (command, harness.try_out(&command.text)));
    let tried = named
        .chain(typed)
        .map(|(command, output)| (command.place.as_str(), command.text.as_str(), output.code));
    let expected = [
        ("page.md:1", "vestry key list APP --jsno", 2),
        ("page.md:1", "vestry app show", 0),
        ("page.md:1", "vestry app hide", 2),
        (
            "page.md:5",
            "vestry signing-key rotate APP_ID    --environment live",
            2,
        ),
        (
            "page.md:7",
            "vestry app set APP siwe_domains='[\"a b\"]'",
            2,
        ),
        ("page.md:8", "vestry app show APP > app.txt", 0),
    ];
    assert_eq!(tried.collect::<Vec<_>>(), expected);
    assert!(harness.installation.file("app.txt").exists());
}

/// An API path in a page.
#[derive(Debug, PartialEq, Eq)]
struct Call {
    method: Option<&'static str>,
    path: String,
}

/// The calls that a line or paragraph refers to. A line with `curl` gives the method as curl determines it.
fn calls(passage: &str) -> Vec<Call> {
    let mut calls = Vec::new();
    let of_curl = passage.contains("curl ").then(|| method_of_curl(passage));
    for (at, _) in passage.match_indices("/v1/") {
        let (before, path) = passage.split_at(at);
        let is_end = |c: char| c.is_whitespace() || "\"'`)<>?,;*".contains(c);
        let path = path.split(is_end).next().unwrap_or_default();
        let word = before
            .split([' ', '\n', '`'])
            .rfind(|word| !word.is_empty());
        let named = METHODS.into_iter().find(|method| word == Some(method));
        calls.push(Call {
            method: named.or(of_curl),
            path: path.trim_end_matches(['.', ':']).to_owned(),
        });
    }
    calls
}

fn method_of_curl(line: &str) -> &'static str {
    let named = line.split("-X ").nth(1);
    let named = named.and_then(|rest| METHODS.into_iter().find(|method| rest.starts_with(method)));
    let has_body = [" -d ", " --data "]
        .iter()
        .any(|option| line.contains(option));
    named.unwrap_or(if has_body { "POST" } else { "GET" })
}

/// Whether a documented path matches this path of the description. Placeholders match parameters only.
fn fits(template: &str, written: &str) -> bool {
    let (template, written) = (template.split('/'), written.split('/'));
    template.clone().count() == written.clone().count()
        && template.zip(written).all(|(ours, theirs)| {
            let is_open = theirs.contains(['…', '{', '$']);
            if ours.starts_with('{') {
                !theirs.is_empty()
            } else {
                !is_open && ours == theirs
            }
        })
}

/// Methods and paths of the API.
fn described() -> Vec<(String, String)> {
    let document: Value =
        serde_json::from_str(&Installation::sqlite().run(&["openapi"]).done().stdout).unwrap();
    let paths = document["paths"].as_object().unwrap();
    let operations = paths.iter().flat_map(|(path, item)| {
        let methods = item.as_object().unwrap().keys();
        methods.map(move |method| (method.to_uppercase(), path.clone()))
    });
    operations.collect()
}

/// Like the router, prefers a literal path of the description to one with parameters.
fn is_described(described: &[(String, String)], call: &Call) -> bool {
    let stands_there = described.iter().any(|(_, path)| *path == call.path);
    described.iter().any(|(method, path)| {
        let is_it = if stands_there {
            *path == call.path
        } else {
            fits(path, &call.path)
        };
        is_it && call.method.is_none_or(|wanted| wanted == method)
    })
}

#[test]
fn m_19_every_path_of_the_documentation_is_there() {
    let described = described();
    let (mut wrong, mut seen) = (Vec::new(), 0);
    for page in pages() {
        let (code, prose) = page.passages();
        for passage in code.iter().chain(&prose) {
            for call in calls(&passage.text) {
                seen += 1;
                let is_prefix = call.method.is_none() && PREFIXES.contains(&call.path.as_str());
                if !is_prefix && !is_described(&described, &call) {
                    wrong.push(format!("{}: {call:?}", passage.place));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
    assert!(seen >= 80, "{seen}");
}

/// Creates a management key that can call everything.
fn management_key(installation: &Installation) -> Value {
    let key = ["manage-key", "create", "docs", "--app", "all"];
    let rights = ["--environment", "test,live", "--expires-in", "1d"];
    let scopes = "apps:write,settings:write,keys:write,providers:write,redirect_urls:write,webhooks:write,sessions:write";
    installation.admin(&[&key[..], &rights, &["--scope", scopes]].concat())
}

/// Error codes of calls that are malformed, whatever their values.
const MISTAKES: [&str; 6] = [
    "missing_field",
    "unknown_field",
    "invalid_request",
    "invalid_api_key",
    "method_not_allowed",
    "unsupported_media_type",
];

/// The body that a `curl` sends. Placeholders are kept as written; `{…}` is an empty object.
fn body_of_curl(line: &str) -> Option<Value> {
    let (_, body) = line.split_once("-d '")?;
    let (body, _) = body.split_once('\'')?;
    let body = body.replace("{…}", "{}");
    Some(serde_json::from_str(&body).unwrap_or_else(|error| panic!("{error}: {body}")))
}

/// The problem with a response, if no values could have made the call valid.
fn mistake(answer: &Answer) -> Option<&str> {
    let code = answer.body["error"]["code"].as_str().unwrap_or_default();
    let is_no_route = answer.body["error"]["param"] == "route";
    let is_wrong = MISTAKES.contains(&code) || is_no_route || answer.status >= 500;
    is_wrong.then_some(answer.text.as_str())
}

/// Sends every `curl` of a code block. Its placeholders make most calls fail, but only because of their values.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn m_19_every_call_of_the_documentation_is_understood() {
    let installation = Installation::sqlite();
    let keys = block_in_place(|| installation.set_up());
    let public = ["key", "create", &keys.app, "test", "--public"];
    let public = text(&block_in_place(|| installation.admin(&public)), "key");
    let managing = text(&block_in_place(|| management_key(&installation)), "key");
    let server = installation.serve().await;
    let (calling, managing) = (server.api(&keys.test), server.api(&managing));
    let (mut wrong, mut sent) = (Vec::new(), 0);
    for line in pages().iter().flat_map(|page| page.passages().0) {
        // Multi-line bodies, and bodies that a shell assembles, are skipped.
        let is_whole = line.text.matches('\'').count() % 2 == 0 && !line.text.contains("${");
        if !line.text.trim_start().starts_with("curl ") || !is_whole {
            continue;
        }
        // Probes are no calls of the API.
        let Some(call) = calls(&line.text).into_iter().next() else {
            continue;
        };
        let body = body_of_curl(&line.text).unwrap_or_else(|| json!({}));
        let query = line.text.split_once(&call.path).map(|(_, rest)| rest);
        let query = query
            .filter(|rest| rest.starts_with('?'))
            .unwrap_or_default();
        let query = query
            .split(['"', '\'', ' ', '\n'])
            .next()
            .unwrap_or_default();
        let path = format!("{}{query}", call.path).replace("$TOKEN", &public);
        let api = match path.starts_with("/v1/manage") {
            true => &managing,
            false => &calling,
        };
        let answer = match call.method {
            Some("GET") => api.get(&path).await,
            Some("DELETE") => api.delete(&path, &body).await,
            Some("PUT") => api.put(&path, &body).await,
            _ => api.post(&path, &body).await,
        };
        sent += 1;
        if let Some(output) = mistake(&answer) {
            wrong.push(format!("{}: {} {output}", line.place, line.text.trim()));
        }
    }
    server.process.stop().await;
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
    assert!(sent >= 20, "{sent}");
}

/// The test above detects a path and a method that do not exist.
#[test]
fn m_19_a_path_that_is_not_there_is_found() {
    let described = described();
    for (passage, path, method, is_there) in [
        (
            "GET /v1/auth/users/user_…",
            "/v1/auth/users/user_…",
            Some("GET"),
            true,
        ),
        (
            "POST /v1/auth/users/user_…",
            "/v1/auth/users/user_…",
            Some("POST"),
            false,
        ),
        (
            "`DELETE /v1/auth/sessions/delete`",
            "/v1/auth/sessions/delete",
            Some("DELETE"),
            true,
        ),
        (
            "see /v1/auth/sessions/{id}.",
            "/v1/auth/sessions/{id}",
            None,
            false,
        ),
        (
            "curl $URL/v1/wallets/create -d '{}'",
            "/v1/wallets/create",
            Some("POST"),
            true,
        ),
        (
            "curl $URL/v1/wallets/create",
            "/v1/wallets/create",
            Some("GET"),
            false,
        ),
        (
            "curl -X PUT \"$URL/v1/wallets/$ID/disable\"",
            "/v1/wallets/$ID/disable",
            Some("PUT"),
            false,
        ),
        (
            "<a href=\"https://x.example/v1/auth/oauth/google/begin?a=b\">",
            "/v1/auth/oauth/google/begin",
            None,
            true,
        ),
        (
            "call GET /v1/test/messages?to=a",
            "/v1/test/messages",
            Some("GET"),
            true,
        ),
        (
            "GET /v1/test/massages",
            "/v1/test/massages",
            Some("GET"),
            false,
        ),
    ] {
        let found = calls(passage);
        let expected = Call {
            method,
            path: path.to_owned(),
        };
        assert_eq!(found, [expected], "{passage}");
        assert_eq!(is_described(&described, &found[0]), is_there, "{passage}");
    }
}
