//! The tables as both backends define them. Ids and enums are text, times are Unix seconds, JSON documents are text.

diesel::table! {
    apps (id) {
        id -> Text,
        name -> Text,
        settings -> Text,
        created_at -> BigInt,
        updated_at -> BigInt,
        test_clock -> Text,
        named_events -> Text,
        disabled_at -> Nullable<BigInt>,
    }
}

diesel::table! {
    api_keys (app_id, environment, id) {
        app_id -> Text,
        environment -> Text,
        id -> Text,
        kind -> Text,
        hash -> Binary,
        last_four -> Text,
        name -> Text,
        scopes -> Text,
        restrictions -> Text,
        created_by -> Text,
        created_at -> BigInt,
        revoked_at -> Nullable<BigInt>,
    }
}

diesel::table! {
    api_key_uses (app_id, environment, key_id, operation) {
        app_id -> Text,
        environment -> Text,
        key_id -> Text,
        operation -> Text,
        last_used_at -> BigInt,
    }
}

diesel::table! {
    management_keys (app_id, id) {
        app_id -> Text,
        id -> Text,
        hash -> Binary,
        last_four -> Text,
        name -> Text,
        rights -> Text,
        expires_at -> BigInt,
        created_by -> Text,
        created_at -> BigInt,
        revoked_at -> Nullable<BigInt>,
    }
}

diesel::table! {
    operators (app_id, user_id) {
        app_id -> Text,
        user_id -> Text,
        grants -> Text,
        created_by -> Text,
        created_at -> BigInt,
        updated_at -> BigInt,
    }
}

diesel::table! {
    operator_links (app_id, id) {
        app_id -> Text,
        id -> Text,
        hash -> Binary,
        address -> Text,
        identity -> Text,
        grants -> Nullable<Text>,
        created_by -> Text,
        created_at -> BigInt,
        expires_at -> BigInt,
        used_at -> Nullable<BigInt>,
    }
}

diesel::table! {
    redirect_urls (app_id, environment, id) {
        app_id -> Text,
        environment -> Text,
        id -> Text,
        kind -> Text,
        target -> Text,
        is_default -> Bool,
        created_at -> BigInt,
    }
}

diesel::table! {
    app_keys (app_id, environment, purpose, version) {
        app_id -> Text,
        environment -> Text,
        purpose -> Text,
        version -> BigInt,
        root_version -> BigInt,
        wrapped -> Binary,
        created_at -> BigInt,
    }
}

diesel::table! {
    signing_keys (app_id, environment, id) {
        app_id -> Text,
        environment -> Text,
        id -> Text,
        algorithm -> Text,
        public_jwk -> Text,
        private_key_version -> BigInt,
        private -> Binary,
        created_at -> BigInt,
        active_from -> BigInt,
    }
}

diesel::table! {
    users (app_id, environment, id) {
        app_id -> Text,
        environment -> Text,
        id -> Text,
        first_name -> Text,
        middle_name -> Text,
        last_name -> Text,
        status -> Text,
        metadata -> Text,
        created_at -> BigInt,
        updated_at -> BigInt,
        folded_name -> Text,
        is_owned -> Bool,
        disabled_at -> Nullable<BigInt>,
        disabled_reason -> Nullable<Text>,
        last_sign_in_at -> Nullable<BigInt>,
    }
}

diesel::table! {
    user_emails (app_id, environment, id) {
        app_id -> Text,
        environment -> Text,
        id -> Text,
        user_id -> Text,
        address -> Text,
        identity -> Text,
        verified -> Bool,
        created_at -> BigInt,
        updated_at -> BigInt,
        pending_owner -> Nullable<Text>,
        of_owned -> Bool,
        folded -> Text,
    }
}

diesel::table! {
    user_phones (app_id, environment, id) {
        app_id -> Text,
        environment -> Text,
        id -> Text,
        user_id -> Text,
        number -> Text,
        verified -> Bool,
        created_at -> BigInt,
        updated_at -> BigInt,
        pending_owner -> Nullable<Text>,
        of_owned -> Bool,
    }
}

diesel::table! {
    user_metadata (app_id, environment, user_id, digest) {
        app_id -> Text,
        environment -> Text,
        user_id -> Text,
        digest -> Binary,
    }
}

diesel::table! {
    user_counts (app_id, environment, status, shard) {
        app_id -> Text,
        environment -> Text,
        status -> Text,
        shard -> BigInt,
        users -> BigInt,
    }
}

diesel::table! {
    wallets (app_id, environment, id) {
        app_id -> Text,
        environment -> Text,
        id -> Text,
        user_id -> Text,
        key_id -> Nullable<Text>,
        wallet_type -> Text,
        public_address -> Text,
        verified -> Bool,
        is_default -> Bool,
        is_read_only -> Bool,
        is_imported -> Bool,
        account_index -> Nullable<BigInt>,
        disabled_at -> Nullable<BigInt>,
        disabled_reason -> Nullable<Text>,
        created_at -> BigInt,
        updated_at -> BigInt,
        mac_key_version -> BigInt,
        mac -> Binary,
    }
}

diesel::table! {
    wallet_keys (app_id, environment, id) {
        app_id -> Text,
        environment -> Text,
        id -> Text,
        wallet_id -> Text,
        public_key -> Binary,
        format -> BigInt,
        key_version -> BigInt,
        wrapped_data_key -> Binary,
        ciphertext -> Binary,
    }
}

diesel::table! {
    passwords (app_id, environment, user_id) {
        app_id -> Text,
        environment -> Text,
        user_id -> Text,
        key_version -> BigInt,
        sealed -> Binary,
        created_at -> BigInt,
        updated_at -> BigInt,
    }
}

diesel::table! {
    imported_users (app_id, environment, external_key) {
        app_id -> Text,
        environment -> Text,
        external_key -> Text,
        user_id -> Text,
        created_at -> BigInt,
    }
}

diesel::table! {
    codes (app_id, environment, method_id, purpose) {
        app_id -> Text,
        environment -> Text,
        method_id -> Text,
        purpose -> Text,
        user_id -> Text,
        mac_key_version -> BigInt,
        mac -> Binary,
        fingerprint -> Nullable<Text>,
        tries -> BigInt,
        used_at -> Nullable<BigInt>,
        created_at -> BigInt,
        expires_at -> BigInt,
        for_anybody -> Bool,
        user_created -> Bool,
        asked_as -> Nullable<Text>,
        sent_as_asked -> Bool,
    }
}

diesel::table! {
    magic_links (app_id, environment, email_id, purpose) {
        app_id -> Text,
        environment -> Text,
        email_id -> Text,
        purpose -> Text,
        user_id -> Text,
        token_hash -> Binary,
        redirect -> Nullable<Text>,
        fingerprint -> Nullable<Text>,
        origin_hash -> Nullable<Binary>,
        created_at -> BigInt,
        expires_at -> BigInt,
        used_at -> Nullable<BigInt>,
        session_id -> Nullable<Text>,
        handed_at -> Nullable<BigInt>,
        landing -> Nullable<Text>,
        user_created -> Bool,
        code_challenge -> Nullable<Binary>,
        tries -> BigInt,
        asked_as -> Nullable<Text>,
        sent_as_asked -> Bool,
    }
}

diesel::table! {
    lockouts (app_id, environment, subject) {
        app_id -> Text,
        environment -> Text,
        subject -> Text,
        failures -> BigInt,
        failed_at -> Nullable<BigInt>,
        blocked_until -> Nullable<BigInt>,
    }
}

diesel::table! {
    quotas (app_id, environment, name, subject) {
        app_id -> Text,
        environment -> Text,
        name -> Text,
        subject -> Text,
        opened_at -> BigInt,
        closes_at -> BigInt,
        used -> BigInt,
    }
}

diesel::table! {
    totps (app_id, environment, id) {
        app_id -> Text,
        environment -> Text,
        id -> Text,
        user_id -> Text,
        verified -> Bool,
        last_step -> BigInt,
        seed_key_version -> BigInt,
        seed -> Binary,
        expires_at -> BigInt,
        created_at -> BigInt,
        updated_at -> BigInt,
    }
}

diesel::table! {
    totp_recovery_codes (app_id, environment, totp_id, number) {
        app_id -> Text,
        environment -> Text,
        totp_id -> Text,
        number -> BigInt,
        mac_key_version -> BigInt,
        mac -> Binary,
        code_key_version -> BigInt,
        code -> Binary,
        used_at -> Nullable<BigInt>,
    }
}

diesel::table! {
    wallet_challenges (app_id, environment, id) {
        app_id -> Text,
        environment -> Text,
        id -> Text,
        wallet_type -> Text,
        public_address -> Text,
        user_id -> Text,
        is_new_user -> Bool,
        nonce -> Text,
        text -> Text,
        created_at -> BigInt,
        expires_at -> BigInt,
        used_at -> Nullable<BigInt>,
    }
}

diesel::table! {
    audit_entries (app_id, environment, chain, sequence) {
        app_id -> Text,
        environment -> Text,
        chain -> Text,
        sequence -> BigInt,
        id -> Text,
        wallet_id -> Text,
        action -> Text,
        detail -> Text,
        actor -> Text,
        result -> Nullable<Binary>,
        happened_at -> BigInt,
        previous -> Binary,
        hash -> Binary,
        mac_key_version -> BigInt,
        mac -> Binary,
        format -> BigInt,
        payload -> Nullable<Binary>,
        request_id -> Nullable<Text>,
    }
}

diesel::table! {
    audit_chains (app_id, environment, chain) {
        app_id -> Text,
        environment -> Text,
        chain -> Text,
        sequence -> BigInt,
        hash -> Binary,
        mac_key_version -> BigInt,
        mac -> Binary,
    }
}

diesel::table! {
    audit_markers (app_id, environment, chain) {
        app_id -> Text,
        environment -> Text,
        chain -> Text,
        sequence -> BigInt,
        hash -> Binary,
        mac_key_version -> BigInt,
        mac -> Binary,
    }
}

diesel::table! {
    checkpoints (app_id, environment, number) {
        app_id -> Text,
        environment -> Text,
        number -> BigInt,
        made_at -> BigInt,
        note -> Text,
    }
}

diesel::table! {
    checkpoint_sinks (app_id, environment, sink) {
        app_id -> Text,
        environment -> Text,
        sink -> Text,
        number -> BigInt,
        taken_at -> BigInt,
        mac_key_version -> BigInt,
        mac -> Binary,
    }
}

diesel::table! {
    control_chains (app_id, environment, number) {
        app_id -> Text,
        environment -> Text,
        number -> BigInt,
        chain -> Text,
        sequence -> BigInt,
        hash -> Binary,
        mac_key_version -> BigInt,
        mac -> Binary,
    }
}

diesel::table! {
    control_entries (app_id, environment, chain, sequence) {
        app_id -> Text,
        environment -> Text,
        chain -> Text,
        sequence -> BigInt,
        id -> Text,
        actor_kind -> Text,
        actor_id -> Nullable<Text>,
        action -> Text,
        subject_kind -> Text,
        subject_id -> Text,
        detail -> Text,
        outcome -> Text,
        request_id -> Nullable<Text>,
        happened_at -> BigInt,
        previous -> Binary,
        hash -> Binary,
        mac_key_version -> BigInt,
        mac -> Binary,
    }
}

diesel::table! {
    idempotency_keys (app_id, environment, digest) {
        app_id -> Text,
        environment -> Text,
        digest -> Binary,
        request_key_version -> BigInt,
        request -> Binary,
        holder -> Text,
        lease_until -> BigInt,
        expires_at -> BigInt,
        answer_key_version -> Nullable<BigInt>,
        answer -> Nullable<Binary>,
        user_id -> Nullable<Text>,
        erased -> Bool,
    }
}

diesel::table! {
    leases (work) {
        work -> Text,
        holder -> Text,
        until -> BigInt,
    }
}

diesel::table! {
    wallet_imports (app_id, environment, id) {
        app_id -> Text,
        environment -> Text,
        id -> Text,
        wallet_type -> Text,
        public_address -> Text,
        entropy_type -> Text,
        account_index -> Nullable<BigInt>,
        user_id -> Nullable<Text>,
        kem -> Text,
        public_key -> Binary,
        private_key_version -> BigInt,
        private -> Binary,
        created_at -> BigInt,
        expires_at -> BigInt,
    }
}

diesel::table! {
    sessions (app_id, environment, id) {
        app_id -> Text,
        environment -> Text,
        id -> Text,
        user_id -> Text,
        token_hash -> Binary,
        started_at -> BigInt,
        expires_at -> BigInt,
        last_active_at -> BigInt,
        created_at -> BigInt,
        updated_at -> BigInt,
        factors -> Text,
        device_fingerprint -> Text,
        permissions -> Text,
        deleted_at -> Nullable<BigInt>,
    }
}

diesel::table! {
    outbox (app_id, environment, id) {
        app_id -> Text,
        environment -> Text,
        id -> Text,
        channel -> Text,
        priority -> BigInt,
        lane -> BigInt,
        payload_key_version -> BigInt,
        payload -> Binary,
        not_before -> BigInt,
        deliver_before -> BigInt,
        attempts -> BigInt,
        failures -> BigInt,
        due_at -> BigInt,
        lease_owner -> Nullable<Text>,
        ended_at -> Nullable<BigInt>,
        ended_as -> Nullable<Text>,
        fault -> Nullable<Text>,
        cause -> Nullable<Text>,
        created_at -> BigInt,
    }
}

diesel::table! {
    captured_messages (app_id, environment, id) {
        app_id -> Text,
        environment -> Text,
        id -> Text,
        position -> BigInt,
        recipient -> Text,
        kind -> Text,
        message -> Text,
        created_at -> BigInt,
    }
}

diesel::table! {
    passkeys (app_id, environment, id) {
        app_id -> Text,
        environment -> Text,
        id -> Text,
        user_id -> Text,
        credential_id -> Binary,
        public_key -> Binary,
        sign_count -> BigInt,
        backup_eligible -> Bool,
        backed_up -> Bool,
        domain -> Text,
        authenticator_type -> Text,
        transports -> Text,
        user_agent -> Text,
        created_at -> BigInt,
        updated_at -> BigInt,
        last_used_at -> Nullable<BigInt>,
    }
}

diesel::table! {
    passkey_handles (app_id, environment, user_id) {
        app_id -> Text,
        environment -> Text,
        user_id -> Text,
        handle -> Binary,
    }
}

diesel::table! {
    passkey_challenges (app_id, environment, hash) {
        app_id -> Text,
        environment -> Text,
        hash -> Binary,
        ceremony -> Text,
        user_id -> Nullable<Text>,
        domain -> Text,
        authenticator_type -> Text,
        created_at -> BigInt,
        expires_at -> BigInt,
    }
}

diesel::table! {
    provider_connections (app_id, environment, name) {
        app_id -> Text,
        environment -> Text,
        name -> Text,
        callback_id -> Text,
        client_id -> Text,
        settings -> Text,
        secret_key_version -> BigInt,
        secret -> Binary,
        secret_last_four -> Nullable<Text>,
        secret_updated_at -> Nullable<BigInt>,
        created_at -> BigInt,
        updated_at -> BigInt,
    }
}

diesel::table! {
    oauth_flows (app_id, environment, state_hash) {
        app_id -> Text,
        environment -> Text,
        state_hash -> Binary,
        provider -> Text,
        secrets_key_version -> BigInt,
        secrets -> Binary,
        redirect_uri -> Nullable<Text>,
        browser_hash -> Nullable<Binary>,
        login_url -> Nullable<Text>,
        registration_url -> Nullable<Text>,
        test_code_hash -> Nullable<Binary>,
        test_identity -> Nullable<Text>,
        expires_at -> BigInt,
        code_challenge -> Nullable<Binary>,
        caller_state -> Nullable<Text>,
        begun_from -> Nullable<Text>,
        trial_session_id -> Nullable<Text>,
    }
}

diesel::table! {
    oauth_tokens (app_id, environment, token_hash) {
        app_id -> Text,
        environment -> Text,
        token_hash -> Binary,
        provider -> Text,
        state_hash -> Binary,
        identity_key_version -> BigInt,
        identity -> Binary,
        expires_at -> BigInt,
        code_challenge -> Nullable<Binary>,
        begun_from -> Nullable<Text>,
        tries -> BigInt,
    }
}

diesel::table! {
    provider_links (app_id, environment, id) {
        app_id -> Text,
        environment -> Text,
        id -> Text,
        user_id -> Text,
        provider -> Text,
        issuer -> Text,
        subject -> Text,
        email_id -> Nullable<Text>,
        created_at -> BigInt,
        updated_at -> BigInt,
    }
}

diesel::table! {
    rate_windows (app_id, environment) {
        app_id -> Text,
        environment -> Text,
        opened_at -> BigInt,
        used -> BigInt,
    }
}

diesel::table! {
    /// Diesel's record of the applied migrations.
    __diesel_schema_migrations (version) {
        version -> Text,
    }
}

diesel::table! {
    unsequenced_events (app_id, environment, appended, id) {
        app_id -> Text,
        environment -> Text,
        appended -> BigInt,
        ordinal -> BigInt,
        id -> Text,
        kind -> Text,
        user_id -> Nullable<Text>,
        wallet_id -> Nullable<Text>,
        actor_kind -> Text,
        actor_id -> Nullable<Text>,
        request_id -> Nullable<Text>,
        data -> Text,
        created_at -> BigInt,
    }
}

diesel::table! {
    event_heads (app_id, environment) {
        app_id -> Text,
        environment -> Text,
        log -> BigInt,
        position -> BigInt,
        newest_id -> Nullable<Text>,
        oldest_position -> Nullable<BigInt>,
        oldest_id -> Nullable<Text>,
        pruned_id -> Nullable<Text>,
    }
}

diesel::table! {
    events (app_id, environment, position) {
        app_id -> Text,
        environment -> Text,
        position -> BigInt,
        id -> Text,
        log -> BigInt,
        kind -> Text,
        user_id -> Nullable<Text>,
        wallet_id -> Nullable<Text>,
        actor_kind -> Text,
        actor_id -> Nullable<Text>,
        request_id -> Nullable<Text>,
        data -> Text,
        created_at -> BigInt,
    }
}

diesel::table! {
    webhook_endpoints (app_id, environment, id) {
        app_id -> Text,
        environment -> Text,
        id -> Text,
        url -> Text,
        name -> Nullable<Text>,
        types -> Text,
        fingerprint -> Text,
        disabled_reason -> Nullable<Text>,
        failed_attempts -> BigInt,
        failed_deliveries -> BigInt,
        failures_since -> Nullable<BigInt>,
        failing_since -> Nullable<BigInt>,
        failing_emitted -> Bool,
        last_success_at -> Nullable<BigInt>,
        created_at -> BigInt,
        updated_at -> BigInt,
    }
}

diesel::table! {
    webhook_secrets (app_id, environment, id) {
        app_id -> Text,
        environment -> Text,
        id -> Text,
        endpoint_id -> Text,
        key_version -> BigInt,
        secret -> Binary,
        last_four -> Text,
        created_at -> BigInt,
        expires_at -> Nullable<BigInt>,
    }
}

diesel::table! {
    webhook_deliveries (app_id, environment, id) {
        app_id -> Text,
        environment -> Text,
        id -> Text,
        endpoint_id -> Text,
        event_id -> Text,
        position -> BigInt,
        kind -> Text,
        is_replay -> Bool,
        rank -> BigInt,
        attempts -> BigInt,
        due_at -> BigInt,
        created_at -> BigInt,
        ended_at -> Nullable<BigInt>,
        ended_as -> Nullable<Text>,
    }
}

diesel::table! {
    webhook_replays (app_id, environment, id) {
        app_id -> Text,
        environment -> Text,
        id -> Text,
        endpoint_id -> Text,
        failed_since -> Nullable<BigInt>,
        after_delivery -> Nullable<Text>,
        after_position -> Nullable<BigInt>,
        until_position -> Nullable<BigInt>,
        expected -> BigInt,
        done -> BigInt,
        next_at -> BigInt,
        created_at -> BigInt,
        ended_at -> Nullable<BigInt>,
    }
}

diesel::table! {
    webhook_attempts (app_id, environment, delivery_id, number) {
        app_id -> Text,
        environment -> Text,
        delivery_id -> Text,
        number -> BigInt,
        endpoint_id -> Text,
        at -> BigInt,
        duration_ms -> BigInt,
        status -> Nullable<BigInt>,
        error -> Nullable<Text>,
        response_excerpt -> Nullable<Text>,
    }
}

diesel::table! {
    activity (app_id, environment, period, starts_at, name, label) {
        app_id -> Text,
        environment -> Text,
        period -> Text,
        starts_at -> BigInt,
        name -> Text,
        label -> Text,
        count -> BigInt,
    }
}

diesel::allow_tables_to_appear_in_same_query!(apps, api_keys);
diesel::allow_tables_to_appear_in_same_query!(audit_entries, audit_chains);
diesel::allow_tables_to_appear_in_same_query!(control_entries, control_chains);
diesel::allow_tables_to_appear_in_same_query!(sessions, signing_keys);
diesel::allow_tables_to_appear_in_same_query!(users, user_emails, user_phones);
diesel::allow_tables_to_appear_in_same_query!(users, passwords);
diesel::allow_tables_to_appear_in_same_query!(wallets, wallet_keys);
diesel::allow_tables_to_appear_in_same_query!(totps, totp_recovery_codes);
