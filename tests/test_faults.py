"""Where each known fault of voice benchmarks is tested here: every test named exists, and no entry is forgotten."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

HERE = Path(__file__).parent

ENTRIES = {  # the numbers of the list's entries, by section
    "A": (1, 3, 4, 5, 7, 8, 9, 11, 12, 13),
    "B": (1, 3, 4, 5, 7, 8, 9, 11, 12, 13, 15, 16, 17, 19),
    "C": (1, 3, 4, 5, 7, 8, 9, 11, 12, 13),
    "D": (1, 3, 4, 5, 7, 8, 9),
    "E": (1, 3, 4, 5, 7, 8, 9, 11, 12, 13, 15, 16, 17, 19, 20, 21, 23),
    "F": (1, 3, 4, 5, 7, 8, 9, 11, 12),
    "G": (1, 3, 4, 5, 7, 8, 9, 11),
    "H": (1, 3, 4, 5, 7, 8, 9, 11),
    "K": (1, 3, 4, 5, 7, 8, 9),
    "L": (1, 3, 4, 5, 7),
    "M": (1, 3, 4, 5, 7, 8, 9, 11, 12, 13, 15),
    "N": (1, 3, 4, 5, 7, 8, 9, 11),
    "O": (1, 3, 4),
}
IDS = [f"{section}{number}" for section, numbers in ENTRIES.items() for number in numbers]

CALLS = "fault_scores::calls_get_the_right_score_end_to_end"

TESTED: dict[str, str] = {  # entry -> file::test, without `test_`; several, one a word
    "A1": f"{CALLS} pairing::two_calls_of_one_tool_in_the_other_order_are_both_right",
    "A3": f"{CALLS} pairing::one_call_satisfies_one_expectation",
    "A4": f"{CALLS} pairing::equal_calls_are_told_apart_by_their_place",
    "A5": f"{CALLS} pairing::scores_lie_between_zero_and_one_and_stricter_ones_are_no_higher",
    "A7": f"{CALLS} fault_files::a_misspelled_expectation_is_no_silent_pass",
    "A8": f"{CALLS} summarizing::surplus_calls_are_listed_by_domain_of_scenario_and_tool",
    "A9": f"{CALLS} pairing::a_call_that_needs_a_result_must_come_after_it",
    "A11": "summarizing::the_headline_is_over_all_valid_items_and_the_conditional_figure_has_its_own_n",
    "A12": "fault_scores::an_agent_that_sends_zeros_and_an_empty_text_did_not_speak",
    "A13": "summarizing::means_keep_full_precision",
    "B1": f"{CALLS} matchers::a_text_field_of_figures_is_not_a_number",
    "B3": f"{CALLS} matchers::an_identifier_never_matches_another_with_one_character_changed",
    "B4": f"{CALLS} matchers::an_ambiguous_date_is_noted_as_such",
    "B5": f"{CALLS} references::other_dollar_texts_are_literals references::a_path_that_leads_nowhere_is_an_error",
    "B7": f"{CALLS} matchers::tolerance_holds_only_where_it_was_asked_for",
    "B8": f"{CALLS} matchers::a_shared_currency_name_means_what_the_scenario_says",
    "B9": f"{CALLS} pairing::an_extra_argument_is_listed_and_fails_the_strict_comparison_only",
    "B11": f"{CALLS} matchers::a_value_gets_the_verdict_of_its_table",
    "B12": f"{CALLS} matchers::fractions_match_within_a_billionth",
    "B13": f"{CALLS} matchers::lists_are_ordered_unless_declared_sets_and_rules_hold_inside",
    "B15": f"{CALLS} matchers::case_counts_where_the_scenario_says_exact",
    "B16": f"{CALLS} matchers::aliases_are_further_right_values",
    "B17": f"{CALLS} matchers::a_value_outside_the_enum_is_noted",
    "B19": f"{CALLS} fault_scores::a_side_effect_before_the_correction_stays_and_a_call_taken_back_in_time_does_not "
    "rollback::each_retraction_has_one_story",
    "C1": "fault_runs::a_run_in_one_process_that_dies_keeps_what_was_done_and_can_be_reported "
    "report_faults::missing_results_stay_in_the_count_of_what_was_planned "
    "import_results::a_missing_file_is_an_error_and_the_denominator_stays",
    "C3": "summarizing::success_is_a_predicate_of_an_item_not_a_sum_of_parts",
    "C4": "report_faults::two_speakers_of_one_scenario_are_two_items_and_one_scenario "
    "import_fdb3::two_speakers_of_a_scenario_are_two_items_of_it",
    "C5": "loading_mistakes::a_bad_file_is_refused_with_all_its_mistakes_each_on_its_line "
    "import_fdb3::what_is_not_understood_is_named_and_counted import_results::scenarios_nobody_has_spoken_are_skipped",
    "C7": "merging::results_that_must_not_stand_in_one_table_are_refused "
    "plugin_rescore::a_scenario_whose_stimulus_changed_is_refused_with_what_changed "
    "loading::whatever_shapes_the_conversation_changes_its_hash "
    "export_fdb3::a_changed_scenario_makes_an_exported_result_stale "
    "import_results::a_result_of_something_else_is_stale",
    "C8": "report_faults::one_item_written_twice_counts_once "
    "import_results::two_results_of_one_item_are_an_error_naming_both",
    "C9": "report_faults::every_output_is_written_when_nobody_spoke "
    "fault_runs::a_run_without_a_latency_has_null_in_its_json_and_never_nan",
    "C11": "scoring::a_failing_check_that_does_not_gate_is_a_diagnostic",
    "C12": "mentions::a_fact_was_said mentions::a_fact_was_not_said",
    "C13": "stats::the_wilson_interval_of_known_rates summarizing::every_rate_has_its_wilson_interval "
    "trials::pass_hat_k_and_pass_at_k_by_hand trials::it_covers_the_truth_where_wilsons_of_all_trials_does_not",
    "D1": "plugin_judge::an_endpoint_that_fails_every_second_time_leaves_no_judged_figure "
    "plugin_judge::a_judge_that_fails_on_an_argument_does_not_hand_over_to_the_matchers "
    "judged::above_two_percent_unjudged_the_figure_is_withheld_and_its_bounds_are_not",
    "D3": "judging_client::what_is_no_verdict_is_unjudged_with_its_cause "
    "plugin_judge::what_a_judge_fails_to_say_is_counted_withheld_and_changes_no_outcome",
    "D4": "judging_client::an_answer_that_was_cut_is_asked_for_once_more_with_more_room "
    "judging_client::an_answer_that_is_cut_twice_is_unjudged_also_where_it_looks_whole",
    "D5": "judging_client::one_object_in_fences_or_talk_is_the_verdict "
    "judging_client::what_is_no_verdict_is_unjudged_with_its_cause "
    "plugin_judge::what_a_judge_fails_to_say_is_counted_withheld_and_changes_no_outcome",
    "D7": "plugin_judge::two_judges_stand_side_by_side_and_the_same_one_costs_nothing_the_second_time "
    "judging_client::the_cache_is_not_used_for_another_judge_other_content_or_another_endpoint "
    "judged::two_judges_are_two_sections_also_where_only_the_prompts_differ "
    "judged::the_table_of_a_judge_looks_as_it_did",
    "D8": "judging::a_judge_of_a_response_sees_the_calls_and_their_results "
    "judging::a_claim_without_a_call_is_judged_beside_the_calls_that_were_not_made",
    "D9": "judging::a_hostile_transcript_stays_inside_the_data_and_changes_no_word_around_it "
    "judging::only_true_and_false_are_verdicts "
    "plugin_judge::what_agents_say_reaches_the_judge_as_data_only",
    "E1": "fault_scores::an_answer_into_a_long_pause_of_the_request_is_an_interruption",
    "E3": "import_results::an_unknown_end_stays_unknown turns::a_conversation_without_a_user_is_scored_without_times",
    "E4": "fault_scores::an_agent_that_sends_zeros_and_an_empty_text_did_not_speak "
    "report_faults::silence_is_not_a_number "
    "import_results::silence_never_becomes_a_latency_and_its_words_are_dropped",
    "E5": "summarizing::latencies_are_over_clean_responses_and_interruptions_beside_them "
    "summarizing::latencies_that_rest_on_less_than_half_of_the_items_are_warned_about",
    "E7": "fault_scores::a_greeting_is_neither_answer_nor_interruption",
    "E8": "fault_scores::a_call_before_the_users_end_is_counted_and_its_time_is_signed "
    "summarizing::signed_tool_latency_and_the_non_negative_one_both_have_their_n "
    "published_lines::table_8_comes_back_line_by_line",
    "E9": "turns::the_first_call_is_the_earliest_not_the_first_logged "
    "import_results::the_first_call_is_the_earliest_and_calls_without_a_time_are_listed",
    "E11": "import_results::a_short_recording_of_the_agent_alone_is_refused_as_unaligned "
    "import_results::without_the_users_recording_its_words_say_how_long_the_session_was_at_least",
    "E12": "validity::calls_outside_the_conversation_were_timed_by_another_clock "
    "import_results::a_call_on_another_clock_is_flagged",
    "E13": "turns::late_blocks_make_latencies_unmeasured_but_not_the_rest "
    "validity::blocks_are_late_above_twenty_milliseconds",
    "E15": "fault_scores::a_silent_agent_is_waited_for_before_silence_counts "
    "turns::an_unanswered_turn_counts_unless_the_recording_ends_too_soon",
    "E16": "fault_scores::two_replies_to_one_turn_are_an_interruption_and_a_reply",
    "E17": "fault_scores::an_agents_backchannel_is_not_the_answer",
    "E19": "fault_scores::a_users_backchannel_is_no_turn_and_asks_for_no_answer "
    "fault_wires::what_an_agent_does_when_the_user_only_hums_is_on_the_timeline",
    "E20": "fault_sound::times_are_finer_than_the_blocks_of_audio_and_are_saved_as_seconds "
    "conversation_files::tracks_of_different_lengths_are_refused",
    "E21": "stats::the_median_of_four_is_between_the_middle_two_and_the_deviation_of_one_is_unknown",
    "E23": "sound_commands::speech_prints_json_with_spans_pauses_and_levels speech::one_utterance_in_noise_is_one_span",
    "F1": "fault_sound::a_reply_that_goes_on_after_the_users_recording_is_heard_to_its_end "
    "duplex::an_agent_that_never_stops_is_cut_thirty_seconds_later_and_marked "
    "import_results::a_reply_that_runs_into_the_end_is_truncated "
    "fault_wires::what_was_sent_before_the_server_hangs_up_is_heard_to_its_end "
    "openai_realtime::a_server_that_says_nothing_and_one_that_never_stops_end_with_the_conversation",
    "F3": "fault_sound::a_stall_and_the_burst_after_it_are_heard_once "
    "fault_wires::a_stall_and_the_burst_after_it_are_heard_once",
    "F4": "fault_sound::both_voices_stay_in_their_places_over_any_length "
    "bad_servers::a_fault_of_a_server_is_told_and_the_next_item_runs",
    "F5": "import_results::a_recording_of_both_needs_to_know_which_side_is_the_agents",
    "F7": "fault_runs::what_was_scored_before_a_crash_or_an_error_in_teardown_is_kept "
    "report_faults::scores_are_on_disk_before_anything_else_can_fail "
    "bad_servers_run::a_fault_costs_its_item_alone_and_no_file_or_line_shows_a_secret",
    "F8": "fault_sound::a_text_of_twenty_words_in_little_more_than_a_second_of_sound_is_noted "
    "duplex::audio_sent_before_the_line_closes_is_still_heard "
    "fault_wires::what_was_sent_before_the_server_hangs_up_is_heard_to_its_end",
    "F9": "fault_sound::an_agent_that_only_says_that_it_speaks_is_waited_for_and_was_silent "
    "duplex::a_providers_turn_end_ends_nothing fault_wires::a_text_without_sound_was_not_said "
    "bad_servers::a_fault_of_a_server_is_told_and_the_next_item_runs",
    "F11": "fault_sound::a_recording_is_brought_to_the_agents_rate_once_and_without_aliases "
    "report_faults::the_rate_to_which_the_users_audio_was_brought_is_in_the_report "
    "openai_realtime::every_block_of_the_user_arrives "
    "gemini_live::every_block_of_the_user_arrives_once "
    "twilio::every_block_of_the_user_arrives_as_160_bytes",
    "F12": "fault_sound::a_tools_delay_is_the_declared_one_every_time_and_stops_no_audio "
    "import_fdb3::an_imported_suite_runs_and_its_known_issues_are_left_out_on_request "
    "openai_realtime::while_a_slow_tool_works_the_users_silence_goes_on_and_the_answer_waits_for_it "
    "ultravox::while_a_slow_tool_works_the_users_silence_goes_on",
    "G1": "plugin_words::a_silent_agent_stays_silent "
    "recognised::a_silent_track_stays_silent_whatever_the_recogniser_says "
    "import_results::silence_never_becomes_a_latency_and_its_words_are_dropped "
    "fault_wires::a_text_without_sound_was_not_said",
    "G3": "fault_sound::of_an_interrupted_reply_only_what_was_played_was_said "
    "placed_words::what_nobody_heard_is_not_mentioned "
    "openai_realtime::barge_in_stops_the_sound_and_the_server_learns_how_much_was_heard "
    "cascaded::barge_in_stops_the_sound_and_the_model_is_told_what_was_played",
    "G4": "fault_sound::a_reply_whose_text_was_lost_was_spoken_and_nobody_claims_to_know_what_it_said "
    "recognised::an_interrupted_reply_without_text_falls_back_to_what_was_heard_of_it "
    "plugin_words::recognised_words_are_in_every_file_and_named_as_that "
    "fault_wires::sound_without_a_text_was_said_and_nobody_claims_to_know_what",
    "G5": "fault_sound::a_users_text_that_comes_late_or_never_moves_nothing "
    "fault_sound::a_late_text_of_the_user_still_tells_why_a_value_is_wrong "
    "fault_wires::a_text_that_is_never_called_finished_counts_and_one_of_the_user_may_come_late "
    "gemini_live::a_transcript_that_comes_late_keeps_its_own_text",
    "G7": "fault_sound::a_text_that_was_never_called_finished_counts "
    "fault_wires::a_text_that_is_never_called_finished_counts_and_one_of_the_user_may_come_late",
    "G8": "fault_sound::what_a_user_said_is_the_script_however_little_of_it_the_agent_writes_down "
    "fault_wires::a_text_that_is_never_called_finished_counts_and_one_of_the_user_may_come_late",
    "G9": "fault_sound::marks_that_nobody_hears_are_no_words_and_thinking_aloud_is "
    "fault_sound::marks_do_not_count_as_words_where_a_cut_text_is_estimated "
    "judging::text_becomes_sentences_without_control_tokens "
    "fault_wires::marks_that_nobody_hears_are_kept_and_are_no_words",
    "G11": "fault_sound::text_put_into_the_context_is_nothing_that_the_user_said "
    "ultravox::text_reaches_the_context_silently_and_is_not_taken_for_speech "
    "gemini_live::text_reaches_the_context_silently_where_the_model_has_a_way",
    "H1": "fault_runs::two_workers_that_use_one_tool_at_the_same_time_share_nothing "
    "tool_host_conversation::conversations_side_by_side_shared_one_server "
    "admission_run::a_limit_keeps_workers_below_what_the_server_takes",
    "H3": f"{CALLS} toolbox::arguments_that_are_no_json_object_are_rejected_and_the_raw_text_is_kept "
    "import_results::calls_have_the_status_that_our_tools_would_give_them "
    "bad_servers::a_fault_of_a_server_is_told_and_the_next_item_runs",
    "H4": f"{CALLS} toolbox::an_unknown_tool_is_rejected_and_its_arguments_are_kept "
    "bad_servers::a_fault_of_a_server_is_told_and_the_next_item_runs",
    "H5": "fault_scores::a_side_effect_before_the_correction_stays_and_a_call_taken_back_in_time_does_not "
    "fault_scores::a_call_taken_back_before_it_ran_is_shown_and_does_not_count "
    "duplex::a_call_taken_back_after_it_ran_stays_executed "
    "rollback::a_write_with_the_old_value_stays_unless_the_state_shows_that_it_went "
    "rollback::a_commit_that_was_repaired_is_still_a_call_that_nobody_asked_for "
    "openai_realtime::a_cancelled_call_is_recorded_as_cancelled_never_run_and_never_answered "
    "gemini_live::a_call_that_is_taken_back_is_recorded_as_cancelled_and_never_answered",
    "H7": "duplex::calls_of_one_response_are_answered_together_when_it_ends "
    "fault_sound::two_calls_in_one_message_are_two_calls "
    "fault_wires::two_calls_of_one_message_are_two_and_each_result_is_timed "
    "cascaded::two_calls_of_one_response_are_answered_together",
    "H8": "fault_scores::a_result_that_takes_long_to_reach_the_agent_is_recorded_and_noted "
    "fault_wires::two_calls_of_one_message_are_two_and_each_result_is_timed "
    "ultravox::a_tool_past_its_limit_is_told_and_its_late_result_ignored_by_the_server",
    "H9": f"{CALLS} fault_scores::a_call_told_twice_runs_once_and_is_answered_once "
    "bad_servers::a_fault_of_a_server_is_told_and_the_next_item_runs",
    "H11": "loading::whatever_shapes_the_conversation_changes_its_hash "
    "duplex::the_agent_is_told_tools_and_date_and_never_the_scenario "
    "fault_wires::a_session_that_is_told_more_than_we_said_is_remarked_on "
    "fault_wires::a_call_that_is_told_other_instructions_than_ours_is_remarked_on",
    "K1": "fault_files::plain_scalars_keep_their_text_and_numbers_are_numbers loading::plain_scalars_follow_yaml_1_2",
    "K3": "fault_files::comment_and_colon_traps_are_told",
    "K4": "fault_files::a_key_that_looks_like_false_stays_text "
    "fault_files::an_id_that_is_no_name_is_refused_before_it_is_a_path_or_a_node",
    "K5": "fault_files::documents_marks_tabs_and_tags_are_refused "
    "fault_runs::a_file_that_cannot_be_read_costs_only_its_own_scenarios",
    "K7": "fault_files::a_misspelled_expectation_is_no_silent_pass",
    "K8": "fault_files::numbers_that_json_cannot_hold_are_refused",
    "K9": "plugin_collection::only_files_that_match_and_say_so_are_suites",
    "L1": "fault_runs::a_run_without_a_latency_has_null_in_its_json_and_never_nan "
    "codec::numbers_that_json_lacks_are_refused_with_their_place",
    "L3": "fault_files::true_is_no_whole_number_and_a_whole_float_is_one "
    "toolbox::null_is_an_argument_left_out_and_a_whole_float_is_an_integer",
    "L4": "tools::every_shape_gives_the_same_tool "
    "import_results::a_call_in_a_known_shape_is_read "
    "import_results::a_call_in_another_shape_is_an_error_and_not_a_call_less",
    "L5": "fault_runs::what_an_agent_says_breaks_neither_a_file_nor_a_narrow_console "
    "saved_run::report_prints_what_the_console_can_show",
    "L7": "import_results::a_status_other_than_completed_is_an_error_and_no_score "
    "import_results::a_completed_result_without_a_call_log_is_an_error",
    "M1": "fault_runs::odd_values_in_properties_do_not_end_a_run_of_workers",
    "M3": "plugin_processes::a_worker_that_dies_is_an_error_of_its_item_alone "
    "fault_runs::an_adapter_that_ends_its_process_costs_no_count_under_any_distribution",
    "M4": "plugin_collection::one_id_in_two_files_is_refused_naming_both "
    "loading_mistakes::a_bad_file_is_refused_with_all_its_mistakes_each_on_its_line",
    "M5": "fault_files::an_id_that_is_no_name_is_refused_before_it_is_a_path_or_a_node "
    "result_files::whatever_the_id_its_folder_is_a_direct_child_of_items",
    "M7": "plugin_processes::every_run_has_a_junit_file_that_keeps_to_the_strict_schema",
    "M8": "fault_runs::what_was_scored_before_a_crash_or_an_error_in_teardown_is_kept",
    "M9": "page::hostile_text_in_every_field_is_never_markup "
    "fault_runs::what_an_agent_says_breaks_neither_a_file_nor_a_narrow_console "
    "junit::whatever_the_text_the_file_is_valid",
    "M11": "fault_runs::scenarios_run_beside_other_plugins_and_async_tests "
    "plugin_run::a_rerun_replaces_an_error_and_never_a_failure",
    "M12": "fault_runs::an_agent_that_hangs_is_an_error_of_its_item_with_a_partial_recording "
    "fault_runs::an_agent_that_never_answers_ends_at_the_scenarios_own_limit "
    "duplex::an_agent_that_takes_no_more_audio_or_results_is_given_up",
    "M13": "fault_runs::an_adapter_that_calls_sys_exit_anywhere_is_an_error_with_its_text "
    "plugin_processes::ctrl_c_leaves_a_summary_of_what_was_done",
    "M15": "plugin_collection::items_have_ids_and_can_be_selected_by_every_name_without_an_agent_or_a_file "
    "plugin_run::last_failed_runs_what_failed",
    "N1": "fault_files::a_recording_with_a_fault_is_played_whole_and_the_item_says_so",
    "N3": "fault_files::a_recording_with_a_fault_is_played_whole_and_the_item_says_so",
    "N4": "fault_files::a_recording_with_a_fault_is_played_whole_and_the_item_says_so",
    "N5": "fault_files::an_empty_recording_is_told_at_collection",
    "N7": "fault_files::a_recording_that_cannot_be_played_is_the_suites_fault_and_no_agent_is_contacted "
    "fault_files::a_recording_with_a_fault_is_played_whole_and_the_item_says_so",
    "N8": "fault_files::opposite_phases_are_refused_where_one_voice_is_needed",
    "N9": "fault_files::ten_seconds_at_44100_hz_are_160000_samples_at_16000_hz_and_end_where_they_ended",
    "N11": "fault_files::a_recording_with_a_fault_is_played_whole_and_the_item_says_so "
    "fault_runs::a_recording_that_an_agent_can_hardly_hear_is_told_with_the_failure",
    "O1": "page::the_header_says_what_was_measured_and_hides_secrets "
    "page::a_summary_with_suites_versions_and_rules_shows_them "
    "manifest::a_run_tells_how_it_was_made_whatever_the_workers",
    "O3": "page::hostile_text_in_every_field_is_never_markup page::recordings_and_logs_are_linked_by_relative_path "
    "page_browser::nothing_that_agents_or_scenarios_say_is_executed",
    "O4": "manifest::the_mode_follows_from_how_the_results_came_about page::the_mode_is_named "
    "joining::a_rescored_rerun_is_not_laid_over_a_live_run joining::shards_of_other_kinds_are_refused",
}

WAITS = {  # entry, or the part of it that no test here covers -> what it needs
    "E20": "an importer of times in ticks: the official files and ours hold seconds",
}

OTHERWISE = {  # what the design decides otherwise than the list
    "B9": "an extra argument fails the strict comparison, not Pass",
    "C5": "in a suite, a scenario without its recording is a mistake of the file; imported, it is skipped",
    "C11": "expected calls always gate Pass; pass_requires only adds",
    "E8": "tool call latency is signed, with the mean of the non-negative ones beside it",
    "E15": "what we cut too short to demand an answer is invalid_measurement besides",
    "E16": "an interruption, and no latency",
    "E17": "thresholds belong to the score set's version: printed in the header, not configurable",
    "E19": "yielding has no score for tool use (design section 9): when an agent stopped is on the timeline",
    "F3": "a frame is heard when it comes, as from a loudspeaker: the stall stays, no sample is heard twice or lost",
    "F4": "nothing is flushed in pieces: both tracks are as long as the conversation",
    "F5": "of files alone: what comes over a wire is one voice, the agent's",
    "F7": "no process for each item: results are on disk before teardown, and stand whatever comes after them",
    "F9": "a connected agent without sound is a failure after 30 s, not an error; events do not hold the line",
    "F12": "a tool's delay is declared and always the same; a latency_profile is told as not simulated",
    "G4": "recognised where that is asked for (--voicebench-words=recognise); else what was said is unknown",
    "G8": "a provider's text of the user says why a value is wrong, and nothing else",
    "G9": "marks are known by their shape, <|...|> and <$...$>, not declared",
    "H5": "four states: executed, failed, rejected, cancelled; all but the last count",
    "H8": "a result counts as taken when all of it has left; what a provider answers to it is in the events",
    "H9": "a used id with another name or other arguments is another call; so is one beside it in one answer over HTTP",
    "H11": "a difference is a remark on the item, not an error; Gemini, Moshi and phone agents say nothing to compare",
    "K5": "one document a file; a second one is a mistake",
    "K7": "a key far from every known one is answered with the list of known keys",
    "L3": "1.0 is an integer, as in JSON Schema 2020-12",
    "M3": "no process for each item: a worker's death is merged as that item's error",
    "M12": "max_duration_s; what it cuts before an answer could be demanded is invalid_measurement",
    "N11": "remarked when the recording is first read, not at collection, which decodes nothing",
}


OF_FILES = {"F5"}  # entries of the sections on transport, texts and calls that no wire can have
WIRES = {
    *("admission_run", "bad_servers", "bad_servers_run", "cascaded", "fault_wires", "gemini_live", "openai_realtime"),
    *("tool_host_conversation", "twilio", "ultravox"),
}
"""Files whose conversations go over sockets."""


@cache
def defined_in(name: str) -> frozenset[str]:
    """The tests that a file defines."""
    tree = ast.parse((HERE / f"test_{name}.py").read_text(encoding="utf-8"))
    functions = (n for n in tree.body if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef))
    return frozenset(f.name for f in functions if f.name.startswith("test_"))


@pytest.mark.parametrize("entry", IDS)
def test_an_entry_is_tested_or_waits_with_a_reason(entry: str) -> None:
    assert entry in TESTED or (entry in WAITS and entry[0] > "H")  # to H all are tested, at least in part
    for place in TESTED.get(entry, "").split():
        file, _, name = place.partition("::")
        assert f"test_{name}" in defined_in(file), place


@pytest.mark.parametrize("entry", [entry for entry in IDS if entry[0] in "FGH"])
def test_what_can_happen_on_a_wire_is_tested_over_one(entry: str) -> None:
    files = {place.partition("::")[0] for place in TESTED[entry].split()}
    assert entry in OF_FILES or files & WIRES


def test_the_tables_hold_no_other_entries() -> None:
    assert len(IDS) == len(set(IDS)) == 117
    assert (TESTED.keys() | WAITS.keys() | OTHERWISE.keys()) <= set(IDS)


def test_a_test_that_names_an_entry_of_these_sections_names_one_that_exists() -> None:
    """In the first words of its docstring."""
    named = set()
    for path in HERE.glob("test_*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            text = ast.get_docstring(node) if isinstance(node, ast.FunctionDef) else None
            if text and node.name.startswith("test_"):
                start = re.match(r"(?:[A-Z]\d{1,2}, )*[A-Z]\d{1,2}(?=[.:;, ])", text)
                named |= set(start.group().split(", ")) if start else set()
    assert {name for name in named if name[0] in ENTRIES} <= set(IDS)
    assert len(named) > 60
