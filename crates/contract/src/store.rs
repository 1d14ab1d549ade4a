//! The contract of every database: suites over `Arc<dyn Store>`, grouped by repository.
//!
//! A function receives a store that is empty and ready. It retries its transactions on
//! [`StoreError::Retry`](vestry_ports::store::StoreError::Retry), as the service does.

/// Runs a transaction and commits it; the body is an expression of type `StoreResult`.
macro_rules! in_tx {
    ($store:expr, |$tx:ident| $body:expr) => {{
        let mut tries = 0;
        loop {
            let mut $tx = $crate::store::stage::works($store.begin().await);
            let outcome: ::vestry_ports::store::StoreResult<_> = async { $body }.await;
            let lost = match outcome {
                Ok(value) => match $tx.commit().await {
                    Ok(()) => break value,
                    Err(lost) => lost,
                },
                Err(lost) => lost,
            };
            tries += 1;
            $crate::store::stage::may_run_again(&lost, tries);
        }
    }};
}

/// Reads through a view; the body is an expression of type `StoreResult`.
macro_rules! in_view {
    ($store:expr, |$view:ident| $body:expr) => {{
        let mut $view = $crate::store::stage::works($store.read().await);
        let outcome: ::vestry_ports::store::StoreResult<_> = async { $body }.await;
        $crate::store::stage::works(outcome)
    }};
}

pub mod account_trust;
pub mod activity;
pub mod api_keys;
pub mod app_keys;
pub mod apps;
pub mod audit;
pub mod captured;
pub mod checkpoints;
pub mod codes;
pub mod control;
pub mod deliveries;
pub mod events;
pub mod idempotency;
pub mod leases;
pub mod links;
pub mod lockouts;
pub mod management_keys;
pub mod operators;
pub mod outbox;
pub mod passkeys;
pub mod passwords;
pub mod persistent_secrets;
pub mod providers;
pub mod quotas;
pub mod recovery;
pub mod redirect_urls;
pub mod sessions;
pub mod signing_keys;
pub mod totps;
pub mod transactions;
pub mod user_life;
pub mod user_search;
pub mod users;
pub mod wallet_challenges;
pub mod wallet_imports;
pub mod wallets;
pub mod webhook_endpoints;
pub mod webhook_replays;
pub mod whole_users;

mod stage;

/// Runs the whole store suite, with each function as a test of its own.
///
/// The builder is the name of an async function in scope that returns `(Arc<dyn Store>, Guard)`, or an `Option` of it.
#[macro_export]
macro_rules! store_suite {
    ($build:ident) => {
        $crate::suite_tests! { $build;
            store::transactions {
                the_store_is_ready
                a_commit_makes_everything_visible
                dropping_undoes_everything
                dropping_after_an_error_undoes_everything
                a_dropped_transaction_frees_the_store
                a_transaction_sees_its_own_writes
                a_view_sees_nothing_uncommitted
                a_view_cannot_write
                parallel_transactions_lose_nothing
            }
            store::apps {
                an_app_comes_back_as_it_was
                an_unknown_app_is_not_there
                an_app_is_added_once
                apps_are_listed_oldest_first
                the_built_in_app_is_not_listed
                an_update_writes_one_app
                an_update_of_an_unknown_app_does_nothing
                a_test_clock_is_swapped_once
                endpoint_addresses_are_kept
                parallel_swaps_of_a_test_clock_succeed_once
            }
            store::api_keys {
                a_key_comes_back_with_its_app
                an_unknown_hash_finds_nothing
                a_hash_belongs_to_one_key
                keys_of_an_app_are_listed_oldest_first
                a_key_is_revoked_once
                another_app_cannot_revoke
                a_key_can_be_changed_until_it_is_revoked
                the_last_use_of_a_key_is_kept
                parallel_revocations_count_once
            }
            store::management_keys {
                a_key_comes_back_as_it_was
                a_hash_belongs_to_one_key
                keys_are_listed_oldest_first
                a_key_is_revoked_once
                parallel_revocations_count_once
            }
            store::operators {
                an_operator_comes_back_as_it_was
                a_user_is_an_operator_once
                operators_are_listed_oldest_first
                roles_are_replaced_and_operators_removed
                locked_operators_change_one_after_the_other
                a_link_comes_back_as_it_was
                open_links_are_listed_oldest_first
                a_link_is_used_once
                parallel_uses_succeed_once
                an_unused_link_can_be_removed
                old_links_are_swept
            }
            store::redirect_urls {
                a_url_comes_back_as_it_was
                urls_of_an_app_are_listed_oldest_first
                a_url_is_registered_once_per_kind
                a_url_may_serve_other_kinds_and_worlds
                a_new_default_replaces_the_earlier_one
                a_url_is_removed_by_its_app
            }
            store::app_keys {
                a_key_comes_back_as_it_was
                a_version_is_added_once
                a_key_stays_in_its_place
                the_newest_key_has_the_highest_version
                all_keys_are_listed_in_a_stable_order
                a_key_is_rewrapped_from_the_version_seen
                an_unknown_key_is_not_rewrapped
                parallel_rewraps_count_once
                parallel_additions_of_a_version_count_once
                a_version_is_removed_alone
                a_key_is_not_removed_under_what_holds_it
                a_root_version_is_held_by_a_key_under_it
                a_root_version_does_not_go_under_what_holds_it
            }
            store::persistent_secrets {
                m_8_secrets_under_older_versions_are_found
                m_8_a_secret_is_resealed_from_the_seal_seen
                m_8_hashes_of_used_recovery_codes_are_forgotten
                m_8_references_to_a_key_are_counted
            }
            store::signing_keys {
                keys_come_back_oldest_first
                keys_stay_in_their_world
                a_kid_is_added_once
                a_key_is_removed_once
            }
            store::users {
                a_user_comes_back_as_it_was
                a_user_may_have_no_identifiers
                a_user_is_added_once
                a_user_is_disabled_and_enabled_once
                a_disabled_user_stays_disabled
                a_disabling_is_seen_by_later_sign_ins
                look_ups_stay_in_their_world
                the_same_ids_in_two_worlds_are_two_users
                a_profile_holds_no_others_identifiers
                a_user_is_founded_once
                writes_stay_in_their_world
                the_walk_meets_every_user_once
                an_address_is_attached_once_however_spelled
                addresses_that_look_alike_are_different
                a_number_is_attached_once
                a_taken_identifier_leaves_the_transaction_good
                an_address_is_verified_once
                a_number_is_verified_once
                a_claim_has_one_pending_owner
                an_unverified_identifier_moves
                a_detached_identifier_is_free
                parallel_sign_ups_make_one_user
                parallel_attachments_of_an_address_go_to_one
                parallel_attachments_of_a_number_go_to_one
                a_user_has_a_limit_of_addresses_and_numbers
                parallel_attachments_stay_within_the_limit
            }
            store::account_trust {
                planted_credentials_are_detected
                a_used_link_is_not_planted
                verified_identifiers_are_detected
                an_owner_is_locked_by_what_it_has
                an_owner_is_read_under_its_lock
            }
            store::user_life {
                an_update_writes_one_user
                a_user_is_locked_in_its_world
                reads_under_a_lock_stay_current
                a_deleted_user_leaves_nothing
                a_deletion_names_the_wallets_whose_keys_went
                parallel_deletions_count_once
                nothing_is_attached_to_a_deleted_user
            }
            store::user_search {
                exact_fields_find_their_users
                m_31_a_filter_has_its_time
                states_and_times_find_their_users
                parts_find_their_users
                metadata_finds_its_users
                conditions_work_together
                users_are_found_by_times_that_ids_cannot_carry
                authenticator_apps_find_their_users
                pages_show_every_user_once
                values_that_very_many_share_find_all_of_them
                totals_follow_every_change
                totals_are_exact_under_races
            }
            store::whole_users {
                many_whole_users_are_found_as_each_alone
            }
            store::wallets {
                a_wallet_is_deleted_with_its_key
                a_wallet_comes_back_as_it_was
                one_default_wallet_per_user_and_type
                a_default_wallet_leaves_room_for_others
                only_the_default_wallet_is_the_default
                one_wallet_per_address
                a_refused_wallet_leaves_the_transaction_good
                look_ups_stay_in_their_world
                many_wallets_are_found_as_each_alone
                the_same_ids_in_two_worlds_are_two_wallets
                wallets_of_a_user_are_listed_oldest_first
                pages_show_every_wallet_once
                pages_show_wallets_of_one_second_once
                a_page_may_begin_where_no_wallet_is
                the_walk_meets_every_key_once
                a_walk_finds_the_wallets_without_a_key
                a_wallet_is_added_once
                a_wallet_is_replaced_from_the_row_seen
                wallets_under_older_versions_are_found
                a_wallet_is_rewrapped_from_the_row_seen
                parallel_replacements_count_once
                parallel_default_wallets_are_one
                parallel_wallets_of_one_address_are_one
                a_wallet_without_a_key_comes_back_as_it_was
                a_wallet_that_is_held_elsewhere_is_found
                an_address_is_found_in_its_world
                wallets_without_a_key_are_removed
            }
            store::audit {
                uses_of_a_wallet_are_found
                old_entries_go_behind_a_marker
                entries_come_back_as_they_were
                a_head_moves_with_its_chain
                a_place_is_taken_once
                aud_4_a_chain_that_was_set_back_is_left
                pages_show_every_entry_of_a_wallet_once
                entries_stay_in_their_world
                a_chain_without_a_head_is_found
                worlds_are_found_by_any_row_of_theirs
                parallel_chains_are_all_whole
                heads_of_all_worlds_are_paged
            }
            store::control {
                entries_come_back_as_they_were
                old_control_entries_go_behind_a_marker
                another_chain_goes_on
                a_head_moves_from_where_it_was_seen
                a_place_is_taken_once
                parallel_beginnings_make_one_chain
                parallel_writers_make_one_whole_chain
                a_chain_begun_while_waiting_is_continued
                heads_of_all_worlds_are_paged
                pages_show_every_entry_once
                a_page_holds_what_fits
                entries_stay_in_their_world
                a_chain_without_a_head_is_found
            }
            store::checkpoints {
                checkpoints_come_back_as_they_were
                a_number_is_given_once
                the_last_progress_of_a_sink_counts
                a_sweep_deletes_the_oldest_checkpoints
            }
            store::wallet_challenges {
                a_challenge_comes_back_as_it_was
                living_challenges_are_those_that_can_be_used
                a_challenge_is_used_once
                challenges_stay_in_their_world
                parallel_uses_of_a_challenge_succeed_once
                challenges_of_a_user_are_forgotten
                a_sweep_deletes_expired_challenges
            }
            store::events {
                events_come_back_as_they_were
                e_1_rolled_back_events_are_not_emitted
                e_2_positions_have_no_gap_and_no_duplicate
                e_2_parallel_placers_give_each_place_once
                e_3_no_position_is_visible_before_a_lower_one
                e_4_the_later_change_is_later_in_the_log
                a_page_holds_what_fits
                events_are_found_by_their_time
                worlds_with_events_are_found
                another_log_begins_behind_the_last_event
                e_7_events_stay_in_their_world
                a_sweep_takes_the_oldest
                a_hook_reports_what_a_commit_made_visible
            }
            store::webhook_endpoints {
                an_endpoint_comes_back_as_it_was
                endpoints_of_an_app_are_listed
                failing_endpoints_are_found_in_every_app
                a_url_with_its_types_is_there_once
                parallel_additions_of_an_endpoint_go_to_one
                an_update_writes_only_the_configuration
                an_update_needs_the_endpoint_as_it_was_seen
                an_update_cannot_create_a_duplicate
                parallel_updates_of_an_endpoint_succeed_once
                parallel_endpoints_of_a_url_are_one
                an_endpoint_is_disabled_and_enabled_once
                parallel_switches_of_an_endpoint_succeed_once
                enabled_endpoints_are_found
                endpoints_are_locked_in_one_order
                wh_12_nothing_waits_for_an_endpoint_that_is_removed
                an_endpoint_is_locked_in_its_world
                a_removed_endpoint_takes_its_secrets_along
                successes_are_noted_once_a_minute
                failures_are_counted_since_the_first
                parallel_failures_are_exact
                wh_11_an_owner_is_notified_once
                secrets_come_back_newest_first
                wh_3_an_expired_secret_is_not_found
                wh_3_a_rotation_leaves_the_secret_before_it
                wh_3_parallel_rotations_leave_one_newest_secret
                a_sweep_deletes_expired_secrets
                endpoints_stay_in_their_world
            }
            store::deliveries {
                deliveries_come_back_as_they_were
                a_delivery_is_added_once
                a_list_holds_what_fits
                deliveries_of_an_event_are_found
                queues_are_met_in_one_order
                due_deliveries_are_leased
                a_lease_keeps_others_away_until_it_ends
                parallel_takers_share_the_deliveries
                wh_9_a_lost_lease_ends_nothing
                wh_9_a_late_result_counts_until_another_worker_starts
                an_ended_delivery_is_over
                a_delivery_is_given_back
                parallel_ends_count_once
                wh_12_pending_deliveries_are_discarded
                the_lowest_pending_position_is_found
                attempts_come_back_in_their_order
                deliveries_stay_in_their_world
                a_sweep_deletes_what_is_old
                exhausted_deliveries_are_found_once
                pending_deliveries_are_postponed
            }
            store::webhook_replays {
                a_replay_comes_back_as_it_was
                one_replay_of_an_endpoint_runs
                parallel_replays_of_an_endpoint_are_one
                a_replay_goes_on_in_time
                a_removed_endpoint_takes_its_replays_along
                replays_stay_in_their_world
                a_sweep_deletes_ended_replays
            }
            store::leases {
                a_lease_has_one_holder_at_a_time
                parallel_takers_are_one
                an_overlong_lease_blocks_nobody
            }
            store::recovery {
                what_lives_shortly_ends_in_every_app
            }
            store::wallet_imports {
                a_key_pair_comes_back_as_it_was
                living_key_pairs_are_those_that_can_be_used
                a_key_pair_is_used_once
                key_pairs_stay_in_their_world
                parallel_uses_of_a_key_pair_succeed_once
                key_pairs_of_a_user_are_forgotten
                key_pairs_of_a_deleted_user_are_gone
                a_sweep_deletes_expired_key_pairs
            }
            store::providers {
                a_connection_comes_back_as_it_was
                a_world_has_one_connection_of_a_name
                a_connection_is_updated
                connections_of_an_app_are_listed
                a_removed_connection_is_gone
                a_flow_comes_back_as_it_was
                a_flow_is_used_once
                the_built_in_provider_answers_once
                a_token_is_used_once
                sign_ins_stay_in_their_world
                parallel_uses_of_a_state_succeed_once
                parallel_uses_of_a_token_succeed_once
                tries_of_a_token_are_counted_while_it_lives
                parallel_tries_of_a_token_are_exact
                a_sweep_deletes_expired_sign_ins
                a_link_with_a_provider_comes_back_as_it_was
                a_person_of_a_provider_is_linked_once
                links_with_providers_are_removed
                links_with_providers_stay_in_their_world
                parallel_links_of_a_person_are_one
                users_are_found_by_their_providers
            }
            store::passwords {
                a_password_comes_back_as_it_was
                a_password_comes_with_its_holder
                a_password_needs_its_user
                a_put_replaces_the_password
                a_password_stays_in_its_world
                a_swap_needs_what_was_seen
                parallel_first_passwords_are_one
                parallel_swaps_succeed_once
                a_password_is_removed_once
                an_imported_key_becomes_one_user
                imported_keys_stay_in_their_world
                parallel_notes_of_a_key_go_to_one
            }
            store::codes {
                a_code_comes_back_as_it_was
                tries_are_counted_up_to_the_limit
                the_last_try_may_be_right
                a_code_is_used_once
                a_code_dies_at_its_end
                a_new_code_replaces_the_old
                codes_of_other_identifiers_stay
                a_young_code_is_found_again
                a_forgotten_identifier_has_no_code
                a_code_stays_in_its_place
                the_same_identifier_in_two_worlds_has_two_codes
                parallel_tries_are_exact
                parallel_uses_succeed_once
                parallel_bare_uses_succeed_once
                parallel_replacements_leave_one_code
                a_sweep_deletes_expired_codes
                a_sweep_of_some_apps_leaves_other_codes
            }
            store::links {
                a_link_comes_back_as_it_was
                a_link_is_used_once
                a_link_dies_at_its_end
                a_link_serves_its_purpose_only
                a_new_link_replaces_the_old
                a_link_stays_in_its_world
                a_link_needs_no_user
                tries_of_a_link_are_counted_while_it_lives
                parallel_tries_of_a_link_are_exact
                an_offer_is_handed_over_once
                a_forgotten_link_is_gone
                unused_links_of_a_user_are_forgotten
                parallel_uses_succeed_once
                parallel_hand_overs_succeed_once
                parallel_replacements_leave_one_link
                a_sweep_deletes_expired_links
            }
            store::lockouts {
                failures_are_counted
                a_wait_is_remembered
                a_wait_needs_no_failure
                a_reset_forgets_one_identifier
                guards_stay_in_their_world
                parallel_failures_are_exact
                a_sweep_deletes_what_is_long_over
            }
            store::idempotency {
                a_key_is_taken_once
                an_answer_comes_back_as_it_was
                an_answer_is_given_once_and_by_its_run
                a_released_key_is_as_good_as_new
                a_silent_run_is_replaced_when_its_lease_ends
                a_renewed_lease_keeps_others_away
                an_expired_key_is_free
                answers_about_a_user_are_erased
                keys_stay_in_their_world
                parallel_claims_of_a_key_succeed_once
                parallel_claims_of_an_expired_key_succeed_once
                parallel_takeovers_succeed_once
                a_sweep_deletes_expired_keys
            }
            store::quotas {
                a_window_admits_exactly_its_limit
                a_full_window_stays_full
                a_new_window_opens_at_the_reset
                unlimited_uses_are_counted
                a_dropped_use_is_given_back
                uses_are_given_back
                forgotten_windows_begin_anew
                open_windows_are_added_up
                a_limit_that_is_off_admits_everything
                counters_are_apart
                parallel_uses_are_exact
                a_sweep_deletes_closed_windows
                a_sweep_goes_in_steps
            }
            store::activity {
                counts_are_added
                parallel_additions_are_exact
                a_sweep_deletes_old_counts
                facts_are_reported_after_the_commit
            }
            store::sessions {
                a_session_comes_back_as_it_was
                an_unknown_token_finds_nothing
                a_session_is_found_as_long_as_its_key_is_there
                look_ups_stay_in_their_world
                writes_stay_in_their_world
                the_same_ids_in_two_worlds_are_two_sessions
                a_token_belongs_to_one_session
                sessions_of_a_user_are_listed_newest_first
                an_update_writes_one_session
                an_update_moves_no_session_to_another_user
                an_update_of_an_unknown_session_does_nothing
                a_new_token_replaces_the_old
                a_new_token_may_replace_any
                an_ended_session_stays_ended
                a_touch_writes_the_activity
                a_lock_changes_nothing
                a_session_ends_once
                an_unknown_session_does_not_end
                all_sessions_of_a_user_end
                ended_sessions_are_listed_when_they_are_asked_for
                pages_of_sessions_meet_each_that_is_alive_once
                all_sessions_of_a_world_end_in_steps
                many_sessions_are_found_as_each_alone
                all_other_sessions_of_a_user_end
                parallel_ends_count_once
                parallel_token_swaps_succeed_once
                an_end_wins_over_parallel_updates
                a_sweep_deletes_sessions_that_are_over
                a_sweep_of_some_apps_leaves_the_others
            }
            store::totps {
                a_totp_comes_back_as_it_was
                a_new_totp_replaces_the_one_that_waits
                a_first_code_is_taken_once
                a_step_is_taken_once
                a_recovery_code_is_used_once
                a_removed_totp_is_gone
                all_totps_of_a_user_are_removed
                totps_stay_in_their_world
                parallel_takings_of_a_step_succeed_once
                parallel_first_codes_succeed_once
                parallel_uses_of_a_recovery_code_succeed_once
                parallel_new_totps_leave_one_that_waits
                a_sweep_deletes_expired_totps
            }
            store::outbox {
                a_job_comes_back_as_it_was
                a_job_is_added_once
                jobs_are_claimed_oldest_first
                jobs_of_one_app_are_claimed
                pr_72_urgent_jobs_come_first
                pr_72_a_lane_gets_a_quarter_while_others_wait
                a_job_waits_for_its_time
                a_late_job_is_handed_out
                a_lease_keeps_others_away_until_it_ends
                a_lost_lease_ends_nothing
                an_unclaimed_job_cannot_be_ended
                a_finished_job_is_over
                a_job_is_given_back
                pr_71_a_job_that_was_not_begun_loses_no_attempt
                pr_73_a_dead_job_is_set_aside
                pr_142_waiting_jobs_are_counted
                jobs_stay_in_their_world
                parallel_workers_share_the_jobs
                parallel_ends_count_once
                a_sweep_deletes_old_ended_jobs
            }
            store::passkeys {
                a_passkey_comes_back_as_it_was
                a_credential_id_belongs_to_one_user
                passkeys_of_a_user_are_listed_oldest_first
                a_use_is_written
                a_count_does_not_go_back
                parallel_uses_of_one_count_are_written_once
                passkeys_stay_in_their_world
                a_passkey_is_removed_once
                all_passkeys_of_a_user_go
                a_user_keeps_its_handle
                a_challenge_comes_back_as_it_was
                a_challenge_is_used_once_for_its_ceremony_and_in_time
                parallel_uses_of_a_challenge_succeed_once
                a_sweep_deletes_dead_challenges
            }
            store::captured {
                messages_come_back_newest_first
                messages_of_one_second_keep_their_order
                a_job_is_captured_once
                the_recipient_is_compared_as_an_address
                the_kind_is_compared_exactly
                messages_after_one_are_listed
                all_parts_of_a_filter_count
                messages_stay_in_their_world
                a_sweep_deletes_old_messages
            }
        }
    };
}
