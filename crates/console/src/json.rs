//! JSON for people: indented, with classes for names, texts and other values.

use askama::filters::Safe;

use crate::filters::escaped;

/// A valid JSON text as HTML. Its members keep their order.
pub(crate) fn pretty(json: &str) -> Safe<String> {
    let mut html = String::with_capacity(json.len().saturating_mul(2));
    let (mut rest, mut depth) = (json, 0_usize);
    while let Some(first) = rest.chars().next() {
        let length = match first {
            '"' => text_length(rest),
            '{' | '}' | '[' | ']' | ',' | ':' => 1,
            blank if blank.is_whitespace() => blank.len_utf8(),
            _ => rest
                .find(|end: char| matches!(end, ',' | '}' | ']') || end.is_whitespace())
                .unwrap_or(rest.len()),
        };
        let Some((token, after)) = rest.split_at_checked(length) else {
            break;
        };
        match first {
            '{' | '[' => {
                html.push(first);
                if !after.starts_with(['}', ']']) {
                    depth = depth.saturating_add(1);
                    new_line(&mut html, depth);
                }
            }
            '}' | ']' => {
                if !html.ends_with(['{', '[']) {
                    depth = depth.saturating_sub(1);
                    new_line(&mut html, depth);
                }
                html.push(first);
            }
            ',' => {
                html.push(',');
                new_line(&mut html, depth);
            }
            ':' => html.push_str(": "),
            '"' if after.starts_with(':') => span(&mut html, "tk", token),
            '"' => span(&mut html, "ts", token),
            blank if blank.is_whitespace() => {}
            _ => span(&mut html, "tn", token),
        }
        rest = after;
    }
    Safe(html)
}

/// The length of the text at the start, with its quotes.
fn text_length(json: &str) -> usize {
    let mut is_escaped = false;
    for (at, character) in json.char_indices().skip(1) {
        match character {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            '"' => return at + 1,
            _ => {}
        }
    }
    json.len()
}

fn new_line(html: &mut String, depth: usize) {
    html.push('\n');
    html.push_str(&"  ".repeat(depth));
}

fn span(html: &mut String, class: &str, token: &str) {
    html.push_str(&format!(
        r#"<span class="{class}">{}</span>"#,
        escaped(token)
    ));
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The text without its spans.
    fn plain(json: &str) -> String {
        let Safe(mut html) = pretty(json);
        for tag in [
            "<span class=\"tk\">",
            "<span class=\"ts\">",
            "<span class=\"tn\">",
            "</span>",
        ] {
            html = html.replace(tag, "");
        }
        html.replace("&#34;", "\"")
    }

    #[test]
    fn json_is_indented_in_its_order() {
        let json = r#"{"b":1,"a":[],"c":{"x":[true,-1.5e3,null],"y":{}},"d":"a,b:{\"}\\"}"#;
        let expected = r#"{
  "b": 1,
  "a": [],
  "c": {
    "x": [
      true,
      -1.5e3,
      null
    ],
    "y": {}
  },
  "d": "a,b:{\"}\\"
}"#;
        assert_eq!(plain(json), expected);
        assert_eq!(plain("{}"), "{}");
    }

    /// CON-5: values come from requests too.
    #[test]
    fn json_is_escaped() {
        let Safe(html) = pretty(r#"{"<b>":"</code><script>'&","c":"é…"}"#);
        for raw in ["<b>", "</code>", "<script>", "'", "\"<"] {
            assert!(!html.contains(raw), "{raw} in {html}");
        }
        assert!(html.contains("é…"), "{html}");
    }
}
