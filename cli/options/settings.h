#pragma once
// Every option's value after the merge, with its origin: command line over environment over file
// over Option::fallback over default. Pure but for reading the file of --config through
// Surroundings::machine.

#include <array>
#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/core/clock.h"
#include "base/core/result.h"
#include "cli/options/options_table.h"
#include "cli/options/parser.h"
#include "cli/options/surroundings.h"

namespace robustrun::cli {

enum class Origin : std::uint8_t { kDefault, kFallback, kFile, kEnvironment, kCommandLine };

// "default", "environment" (also for kFallback), "file", "command line"
[[nodiscard]] const char* to_string(Origin origin);

struct Setting {
  std::optional<std::string> text;  // nullopt: not set, and no default
  Origin origin = Origin::kDefault;
  std::string where;                // "--tee=3", "PET_TEE=3", "job.toml:4: tee"; default: empty
};

class Settings {
 public:
  [[nodiscard]] const Setting& get(OptionId id) const;
  [[nodiscard]] bool given(OptionId id) const { return get(id).origin != Origin::kDefault; }
  [[nodiscard]] bool has(OptionId id) const { return get(id).text.has_value(); }
  [[nodiscard]] bool flag(OptionId id) const;
  [[nodiscard]] std::string text(OptionId id) const;  // "" when not set
  [[nodiscard]] std::optional<std::int64_t> integer(OptionId id) const;
  [[nodiscard]] std::optional<base::Nanos> duration(OptionId id) const;
  [[nodiscard]] bool compat() const { return text(OptionId::kCompat) == "torchrun"; }
  // The option as the user wrote it, for messages.
  [[nodiscard]] std::string written(OptionId id) const;
  // Sets the option, with Origin::kFile, unless it is given. `where`: file and key.
  void set_default(OptionId id, std::string text, std::string where);

  std::optional<std::string> script;
  Origin script_origin = Origin::kDefault;
  std::vector<std::string> arguments;

 private:
  friend base::Result<Settings> merge_settings(const RunLine& line, const Surroundings& around);
  std::array<Setting, kOptionCount> settings_;
};

// "cannot use HOW IT WAS WRITTEN: WHY"
[[nodiscard]] std::unexpected<base::Error> cannot_use(const Settings& settings, OptionId id,
                                                      base::Errc code, std::string_view why);
[[nodiscard]] std::unexpected<base::Error> cannot_use(const Settings& settings, OptionId id,
                                                      std::string_view why);  // kInvalidArgument

// Merges `line` with the environment and the file of --config, read through around.machine. Errors
// are whole sentences, "cannot …" or "FILE:LINE:COLUMN: …" (kInvalidArgument, or what prevented
// the reading: kNotFound, kPermission …).
[[nodiscard]] base::Result<Settings> merge_settings(const RunLine& line,
                                                    const Surroundings& around);

}  // namespace robustrun::cli
