#pragma once
// Help, usage line and docs/cli.md, all made from the options table. Pure.

#include <string>
#include <string_view>

namespace robustrun::cli {

// "usage: robustrun [options] SCRIPT [ARGS...]", one line without its end.
[[nodiscard]] std::string usage_line(std::string_view program_name);

// For a terminal of `columns` (kHelpColumnsMin to kHelpColumnsMax are used).
[[nodiscard]] std::string help_text(std::string_view program_name, int columns);

// docs/cli.md
[[nodiscard]] std::string help_markdown();

[[nodiscard]] std::string report_help();
[[nodiscard]] std::string resume_help();
[[nodiscard]] std::string status_help();
[[nodiscard]] std::string stop_help();
[[nodiscard]] std::string attach_help();
[[nodiscard]] std::string ckpt_help();
[[nodiscard]] std::string cache_help();
[[nodiscard]] std::string diagnose_help();
[[nodiscard]] std::string nodes_help();
[[nodiscard]] std::string policy_help();
[[nodiscard]] std::string update_help();
[[nodiscard]] std::string sim_help();
[[nodiscard]] std::string replay_help();
[[nodiscard]] std::string demo_help();
[[nodiscard]] std::string ls_help();
[[nodiscard]] std::string logs_help();
[[nodiscard]] std::string rm_help();
[[nodiscard]] std::string submit_help(int columns);
[[nodiscard]] std::string check_help();
[[nodiscard]] std::string plan_help(int columns);

}  // namespace robustrun::cli
