#pragma once
// Renders help for a terminal, and docs/cli.md, from the options table and the help pages. Pure.
// `columns`: the terminal's; values outside of kHelpColumnsMin to kHelpColumnsMax are clamped.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/options/options_table.h"

namespace robustrun::cli {

// "usage: robustrun [options] SCRIPT [ARGS...]", without a newline.
[[nodiscard]] std::string usage_line(std::string_view program_name);

// The first page: usage, the options used most, all groups and subcommands; at most
// kFirstHelpLinesMax lines in 80 columns.
[[nodiscard]] std::string first_help(int columns);

// A default as help shows it: " [30; as torchrun: 0]"; empty without a default.
[[nodiscard]] std::string default_note(const Option& row);

// All options of a run, by group.
[[nodiscard]] std::string options_help(std::string_view program_name, int columns);

// What `robustrun help TOPIC` prints: for a subcommand, a group, "values", "torchrun" or "all".
// nullopt: there is no such topic.
[[nodiscard]] std::optional<std::string> topic_help(std::string_view topic, int columns);
[[nodiscard]] std::vector<std::string> help_topics();

// The page of a subcommand, which must exist.
[[nodiscard]] std::string command_help(std::string_view subcommand, int columns);
// The lines "usage: ..." of a subcommand, which must exist, with a newline at the end.
[[nodiscard]] std::string command_usage(std::string_view subcommand);
[[nodiscard]] std::vector<std::string> command_names();

// The text of docs/cli.md.
[[nodiscard]] std::string help_markdown();

}  // namespace robustrun::cli
