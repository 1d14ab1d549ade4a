use super::*;

const APP_LINE: &str = "app = \"app_3Mn9PNR3LQoWYO7VKGiApjOImmI\"\n";

#[test]
fn a_file_is_read_strictly() {
    let parsed = parse(&format!("{APP_LINE}[settings]\nfreshness_minutes = 9\n"));
    let (app, document) = parsed.unwrap();
    assert_eq!(app.to_string(), "app_3Mn9PNR3LQoWYO7VKGiApjOImmI");
    assert_eq!(document.settings.unwrap()["freshness_minutes"], 9);
    assert_eq!(document.live, None);
    for (rest, words) in [
        ("[lvie]\n", "lvie"),
        ("[live]\nwebhooks = []\n", "live.webhooks"),
        (
            "[[live.webhook_endpoints]]\nurl = \"https://a.example/\"\nnaem = \"A\"\n",
            "live.webhook_endpoints[0].naem",
        ),
        (
            "[live.providers.google]\nclient_id = \"a\"\nclient_secret = \"b\"\n",
            "contains no secrets",
        ),
        (
            "[live.providers.google]\n",
            "live.providers.google.client_id",
        ),
        ("[live\n", ""),
    ] {
        let failure = parse(&format!("{APP_LINE}{rest}")).unwrap_err();
        assert_eq!(failure.exit_code(), Failure::WRONG_USAGE);
        assert!(failure.to_string().contains(words), "{failure}");
    }
    assert!(
        parse("[settings]\n")
            .unwrap_err()
            .to_string()
            .contains("app")
    );
}

#[test]
fn changes_are_lines() {
    let change = |from, to| ConfigChange {
        path: "live.providers.google".to_owned(),
        from,
        to,
    };
    assert_eq!(
        line(&change(Value::Null, json!({"client_id": "1"}))),
        "+ live.providers.google: {\"client_id\":\"1\"}"
    );
    assert_eq!(
        line(&change(json!(1), Value::Null)),
        "- live.providers.google: 1"
    );
    assert_eq!(
        line(&change(json!(1), json!(2))),
        "~ live.providers.google: 1 -> 2"
    );
}
