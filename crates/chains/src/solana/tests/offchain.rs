use super::*;

fn refused(params: Value) -> String {
    let wallet = Wallet::of_seed(ABANDON);
    param(wallet.rpc("sol_signOffchainMessage", params))
}

#[test]
fn what_is_no_off_chain_message_is_refused_with_its_path() {
    let domain = "5".repeat(44);
    for (params, expected) in [
        (json!({"version": 0}), "params.message"),
        (json!({"message": "a"}), "params.version"),
        (json!({"message": "a", "version": null}), "params.version"),
        (json!({"message": "a", "version": "0"}), "params.version"),
        (json!({"message": "a", "version": 2}), "params.version"),
        (json!({"message": "a", "version": -1}), "params.version"),
        (json!({"message": "a", "version": 0.5}), "params.version"),
        (json!({"message": "a", "version": 256}), "params.version"),
        (json!({"message": "", "version": 0}), "params.message"),
        (json!({"message": "", "version": 1}), "params.message"),
        (json!({"message": ["a"], "version": 1}), "params.message"),
        (
            json!({"message": "a".repeat(65_516), "version": 0}),
            "params.message",
        ),
        (
            json!({"message": "a".repeat(65_516), "version": 1}),
            "params.message",
        ),
        (
            json!({"message": "a", "version": 1, "application_domain": "1".repeat(32)}),
            "params.application_domain",
        ),
        (
            json!({"message": "a", "version": 0, "application_domain": "1".repeat(31)}),
            "params.application_domain",
        ),
        (
            json!({"message": "a", "version": 0, "application_domain": "1".repeat(33)}),
            "params.application_domain",
        ),
        (
            json!({"message": "a", "version": 0, "application_domain": format!("{domain}5")}),
            "params.application_domain",
        ),
        (
            json!({"message": "a", "version": 0, "application_domain": "0".repeat(44)}),
            "params.application_domain",
        ),
        (
            json!({"message": "a", "version": 0, "application_domain": [1]}),
            "params.application_domain",
        ),
    ] {
        assert_eq!(refused(params.clone()), expected, "{params}");
    }
}

/// Its first byte is no message version and no count of signatures: it can never be sent as a transaction.
#[test]
fn an_off_chain_message_is_no_transaction() {
    let wallet = Wallet::of_seed(ABANDON);
    for version in [0, 1] {
        let params = json!({"message": "pay", "version": version});
        let fields = wallet.rpc("sol_signOffchainMessage", params).unwrap();
        let request = json!({"transaction": fields["offchain_message"], "encoding": "base64"});
        assert_eq!(
            param(wallet.sign_transaction(request)),
            "sol_transaction.transaction"
        );
    }
}
