#pragma once
// The text of the help pages: one per subcommand, one per group of options. Data only; help_text.h
// renders them.

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "cli/options/options_table.h"

namespace robustrun::cli {

inline constexpr std::string_view kIntroduction =
    "Runs a distributed PyTorch job on one machine or many, restarts it on failures, reports what "
    "happened. A drop-in for torchrun: same options, same environment.";

inline constexpr std::string_view kShadowed =
    "A script named like a subcommand, in this directory, is started instead, unless another user "
    "put it there.";

// Where values of options come from.
inline constexpr std::string_view kValues =
    "The value of an option comes from the command line, else from the environment "
    "(PET_<NAME> for torchrun's options, marked *, and ROBUSTRUN_<NAME> for the others), else from "
    "the file of --config (the key is the option's name with underscores), else it is the "
    "default. --print-config shows each value and its origin. torchrun's options may be spelt "
    "with underscores and abbreviated. Times are seconds, or 200ms, 90s, 15m, 2h.";

// `text` is in blocks with an empty line between them. A block that begins with "usage:" is printed
// as it is. Elsewhere, a line that begins with two blanks is a row: a name, two blanks or more, and
// its meaning, which may continue in lines with more indentation. All other lines are prose. A
// block "@TOPIC" stands for the options of a group, "@faults" for the kinds of faults of `inject`.
struct CommandPage {
  std::string_view name;
  std::string_view summary;  // one line in the list of subcommands
  std::string_view text;
};

// In the order of the list of subcommands.
[[nodiscard]] std::span<const CommandPage> command_pages();
[[nodiscard]] const CommandPage* find_command_page(std::string_view name);

// A group of options, which `robustrun help TOPIC` shows.
struct GroupPage {
  Group group;
  std::string_view topic;
  // In the list of groups; empty: not listed, because the group belongs to one subcommand.
  std::string_view summary;
  std::string_view example;
};

[[nodiscard]] std::span<const GroupPage> group_pages();

}  // namespace robustrun::cli
