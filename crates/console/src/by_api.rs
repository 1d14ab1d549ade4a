//! "Do this by API": the same thing by `curl` and by `vestry`.

/// A text as one word of a shell.
pub(crate) fn quoted(text: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.,:/=@%+".contains(&byte);
    match !text.is_empty() && text.bytes().all(is_plain) {
        true => text.to_owned(),
        false => format!("'{}'", text.replace('\'', r"'\''")),
    }
}

/// The two ways.
pub(crate) struct ByApi {
    pub(crate) curl: String,
    pub(crate) cli: String,
}

impl ByApi {
    /// A call of the management API, with its JSON body if it has one, and the command.
    pub(crate) fn new(method: &str, path: &str, body: &str, cli: String) -> Self {
        let method = match method {
            "GET" => String::new(),
            "POST" if !body.is_empty() => String::new(),
            other => format!("-X {other} "),
        };
        let mut curl = format!(
            "curl -s {method}\"$VESTRY_URL{path}\" \\\n  -H \"Authorization: Bearer $VESTRY_MANAGE_KEY\""
        );
        if !body.is_empty() {
            curl.push_str(&format!(
                " \\\n  -H 'Content-Type: application/json' -d {}",
                quoted(body)
            ));
        }
        Self { curl, cli }
    }

    /// Only the command: no call does it.
    pub(crate) const fn command(cli: String) -> Self {
        Self {
            curl: String::new(),
            cli,
        }
    }

    /// A call with a key of the App.
    pub(crate) fn of_app(method: &str, path: &str, body: &str, cli: String) -> Self {
        let mut by_api = Self::new(method, path, body, cli);
        by_api.curl = by_api.curl.replace("$VESTRY_MANAGE_KEY", "$VESTRY_KEY");
        by_api
    }

    /// The same for a call that must name the state that it changes.
    pub(crate) fn with_etag(mut self) -> Self {
        self.curl.push_str(" \\\n  -H \"If-Match: $ETAG\"");
        self
    }
}
