#pragma once
// Every option of a run, and of the subcommands check, plan, replay, submit and k8s, as one data
// row. The parser, the check of TOML keys, the help, docs/cli.md, --print-config and the
// environment variables are all made from this table and cannot disagree.
//
// torchrun's options (docs/compat.md) may be spelt with dashes or underscores and abbreviated;
// their variables are PET_<NAME>. Our own options are spelt with dashes and never abbreviated;
// their variables are ROBUSTRUN_<NAME>. No name of ours may be a prefix of one of torchrun's (a
// test checks).

#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>

#include "cli/options/option_id.h"

namespace robustrun::cli {

enum class Type : std::uint8_t {
  kFlag,  // no value on the command line; bool in TOML; an integer in the environment
  kInteger,  // between `min` and `max`
  kNumber,  // decimal fraction, at least `min`
  kText,  // any text; in TOML a string
  kWord,  // any text; in TOML a string or an integer (nproc_per_node = 8)
  kChoice,  // one of `values`, separated by '|'
  kDuration,  // 90, 200ms, 90s, 15m, 2h, 1d; in TOML a string or a number of seconds
  kList,  // a,b,c; in TOML a string or an array
  kFilters,  // a,b,c where ",," is a comma; in TOML an array of strings
};

enum class Group : std::uint8_t {
  kWhat,
  kRendezvous,
  kPlacement,
  kFailures,
  kOutput,
  kSelf,
  kCheck,
  kSubmit,
  kKubernetes,
  kPlan,
  kReplay
};

struct Option {
  OptionId id;
  const char* name;  // with dashes: "nproc-per-node"
  char short_name = '\0';
  const char* alias = nullptr;  // second spelling, for our own options: "color"
  Type type = Type::kText;
  const char* values = "";  // choices, or the placeholder for the value in the help
  const char* native = nullptr;  // default; nullptr: not set
  const char* compat = nullptr;  // default with --compat=torchrun; nullptr: the same
  Group group;
  bool torchrun = false;  // one of torchrun's options
  bool variable = true;  // has an environment variable
  bool file = true;  // has a TOML key
  bool secret = false;  // its value is never shown
  const char* fallback = nullptr;  // variable that is read if nothing else gives a value
  std::int64_t min = std::numeric_limits<std::int64_t>::min();
  std::int64_t max = std::numeric_limits<std::int64_t>::max();
  const char* help;
};

[[nodiscard]] std::span<const Option> options();
[[nodiscard]] const Option& option(OptionId id);
[[nodiscard]] const char* title(Group group);
// "nproc_per_node": TOML key, and the second spelling of torchrun's options.
[[nodiscard]] std::string underscored(std::string_view name);
// PET_NPROC_PER_NODE, ROBUSTRUN_TIME_LIMIT; empty if the option has no variable.
[[nodiscard]] std::string variable_name(const Option& row);
// "-r/--redirects", "--rdzv-id/--rdzv_id": the name in argparse's errors.
[[nodiscard]] std::string display_name(const Option& row);
// The row with this TOML key, in dashes or underscores; nullptr: no such key.
[[nodiscard]] const Option* find_by_key(std::string_view key);

}  // namespace robustrun::cli
