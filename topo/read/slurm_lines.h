#pragma once
// Lines of "Key=value Key=value" as Slurm writes and reads them: keys are case-insensitive, values
// with blanks are in quotation marks, "#" begins a comment, and "\" at the end of a line continues
// it on the next one. Pure.

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
  std::uint32_t line = 0;        // number of its first line in the text, from 1
  std::vector<SlurmPair> pairs;  // at least one, each key once
  std::string comment;           // the comment directly above the line, without "#" and blanks

  // nullptr: the line has no such key. Case does not matter.
  [[nodiscard]] const std::string* value(std::string_view key) const;
  // Whether the line begins with this key. Case does not matter.
  [[nodiscard]] bool is_about(std::string_view key) const;
};

// Empty lines and comments are left out. Errors: a word that is not Key=value, a quotation mark
// that is not closed, or a key twice in one line; kLimit: a text of more than kTextBytesMax bytes.
base::Result<std::vector<SlurmLine>> read_slurm_lines(std::string_view text,
                                                      std::string_view source);

// Error: the line has a key that is not among `known`.
base::Status check_keys(const SlurmLine& line, std::span<const std::string> known,
                        std::string_view source);

// The names in the list that is the value of `key`; empty if the key is missing or has no value.
base::Result<std::vector<std::string>> names_in(const SlurmLine& line, std::string_view key,
                                                std::string_view source, NameBudget& budget);

// The number that is the value of `key`; 0 if the key is missing.
base::Result<std::uint32_t> number_in(const SlurmLine& line, std::string_view key,
                                      std::string_view source);

}  // namespace robustrun::topo
