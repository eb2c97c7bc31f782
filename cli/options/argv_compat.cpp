#include "cli/options/argv_compat.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/core/text.h"
#include "cli/options/options_table.h"
#include "cli/options/values.h"

namespace robustrun::cli {
namespace {

using base::Errc;
using base::fail;
using base::Result;

// All long spellings of an option, without the leading dashes.
std::vector<std::string> spellings(const Option& row) {
  std::vector<std::string> names{row.name};
  if (row.torchrun && underscored(row.name) != row.name) names.push_back(underscored(row.name));
  if (row.alias != nullptr) names.emplace_back(row.alias);
  return names;
}

// Finds an option by its exact spelling, or by an abbreviation that only one option of torchrun's
// matches. nullptr: unknown.
Result<const Option*> find_long(const std::string& name, const std::string& as_written) {
  const Option* match = nullptr;
  std::vector<std::string> matches;
  bool ambiguous = false;
  for (const Option& row : options()) {
    for (const std::string& spelling : spellings(row)) {
      if (spelling == name) return &row;
      if (!row.torchrun || name.empty() || !spelling.starts_with(name)) continue;
      ambiguous = ambiguous || (match != nullptr && match != &row);
      match = &row;
      matches.push_back("--" + spelling);
    }
  }
  if (ambiguous) {
    return fail(Errc::kInvalidArgument, fmt::format("ambiguous option: {} could match {}",
                                                    as_written, base::join(matches, ", ")));
  }
  return match;
}

const Option* find_short(char letter) {
  for (const Option& row : options()) {
    if (row.short_name == letter) return &row;
  }
  return nullptr;
}

bool is_option(const std::string& token) {
  if (token.size() < 2 || token[0] != '-') return false;
  if (token[1] == '-') return true;
  // As in argparse, "-1" is a value, and so is a word with a blank in it.
  if (parse_number(token)) return false;
  return token.find(' ') == std::string::npos;
}

class Splitter {
 public:
  explicit Splitter(std::span<const std::string> argv) : argv_(argv) {}

  Result<SplitArgv> run() {
    while (next_ < argv_.size()) {
      const std::string& token = argv_[next_++];
      if (token == "--") {
        if (next_ < argv_.size()) take_script(argv_[next_++]);
        break;
      }
      if (!is_option(token)) {
        take_script(token);
        break;
      }
      RR_TRY(token[1] == '-' ? long_option(token) : short_options(token));
    }
    if (!unknown_.empty()) return unrecognised();
    return std::move(split_);
  }

 private:
  void take_script(const std::string& script) {
    split_.script = script;
    split_.arguments.assign(argv_.begin() + static_cast<std::ptrdiff_t>(next_), argv_.end());
    next_ = argv_.size();
  }

  base::Status long_option(const std::string& token) {
    const auto equals = token.find('=');
    const std::string name = token.substr(2, equals == std::string::npos ? equals : equals - 2);
    std::optional<std::string> value;
    if (equals != std::string::npos) value = token.substr(equals + 1);
    const Option* row = RR_TRY(find_long(name, token));
    if (row == nullptr) {
      unknown_.push_back(token);
      return {};
    }
    if (row->type == Type::kFlag && value) {
      return fail(Errc::kInvalidArgument, fmt::format("argument {}: ignored explicit argument '{}'",
                                                      display_name(*row), *value));
    }
    return add(*row, std::move(value));
  }

  // -m, -r 3, -r3, -r=3, -mr3
  base::Status short_options(const std::string& token) {
    const Option* previous = nullptr;
    for (std::size_t i = 1; i < token.size(); ++i) {
      const Option* row = find_short(token[i]);
      if (row == nullptr && previous == nullptr) {
        unknown_.push_back(token);
        return {};
      }
      if (row == nullptr) {
        return fail(Errc::kInvalidArgument,
                    fmt::format("argument {}: ignored explicit argument '{}'",
                                display_name(*previous), token.substr(i)));
      }
      if (row->type == Type::kFlag) {
        RR_TRY(add(*row, std::nullopt));
        previous = row;
        continue;
      }
      std::string rest = token.substr(i + 1);
      if (rest.empty()) return add(*row, std::nullopt);
      if (i == 1 && rest[0] == '=') rest.erase(0, 1);
      return add(*row, std::move(rest));
    }
    return {};
  }

  base::Status add(const Option& row, std::optional<std::string> value) {
    if (row.type != Type::kFlag && !value) {
      if (next_ == argv_.size() || argv_[next_] == "--" || is_option(argv_[next_])) {
        return fail(Errc::kInvalidArgument,
                    fmt::format("argument {}: expected one argument", display_name(row)));
      }
      value = argv_[next_++];
    }
    split_.options.push_back(std::string("--") + row.name);
    if (value) split_.options.push_back(*std::move(value));
    return {};
  }

  std::unexpected<base::Error> unrecognised() const {
    std::vector<std::string> names;
    for (const Option& row : options()) {
      for (const std::string& spelling : spellings(row)) names.push_back("--" + spelling);
    }
    const std::string& first = unknown_.front();
    return fail(Errc::kInvalidArgument,
                fmt::format("unrecognized arguments: {}{}", base::join(unknown_, " "),
                            did_you_mean(first.substr(0, first.find('=')), names)));
  }

  std::span<const std::string> argv_;
  std::size_t next_ = 0;
  SplitArgv split_;
  std::vector<std::string> unknown_;
};

}  // namespace

Result<SplitArgv> split_argv(std::span<const std::string> argv) { return Splitter(argv).run(); }

}  // namespace robustrun::cli
