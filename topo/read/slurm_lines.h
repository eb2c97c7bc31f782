#pragma once
// Lines of "Key=value Key=value" as Slurm writes and reads them: keys without regard to case,
// values in quotation marks where they hold blanks, "#" before a comment, "\" at the end of a line
// that goes on in the next one. Pure.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/core/result.h"
#include "topo/read/name_budget.h"

namespace robustrun::topo {

struct SlurmPair {
  std::string key;  // as written
  std::string value;
};

struct SlurmLine {
  std::uint32_t line = 0;        // where it begins
  std::vector<SlurmPair> pairs;  // at least one, each key once
  std::string comment;           // the one right above it, without "#" and blanks

  // nullptr where it is not there. `key` as people write it: "SwitchName".
  [[nodiscard]] const std::string* value(std::string_view key) const;
  // Whether the line begins with this key: what it is about.
  [[nodiscard]] bool is_about(std::string_view key) const;
};

// Errors: what is no pair, a key twice in one line.
base::Result<std::vector<SlurmLine>> read_slurm_lines(std::string_view text,
                                                      std::string_view source);

// Error for a key that is not among `known`.
base::Status check_keys(const SlurmLine& line, std::span<const std::string> known,
                        std::string_view source);

// The names in the list under `key`: none when it is not there, or empty.
base::Result<std::vector<std::string>> names_in(const SlurmLine& line, std::string_view key,
                                                std::string_view source, NameBudget& budget);

// A number of the line; 0 when it is not there.
base::Result<std::uint32_t> number_in(const SlurmLine& line, std::string_view key,
                                      std::string_view source);

}  // namespace robustrun::topo
