#pragma once
// An environment under construction: NAME=VALUE strings in order. Pure.
//
// Entries without '=' are never changed. A name that occurs twice keeps both entries until set() or
// unset() is called for it.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace robustrun::agent {

class Environment {
 public:
  explicit Environment(std::vector<std::string> entries) : entries_(std::move(entries)) {}

  // The first entry of that name, as getenv() finds it.
  [[nodiscard]] std::optional<std::string> get(std::string_view name) const;
  // Removes the entries of that name and appends the new one. `name`: not empty, without '='.
  void set(std::string_view name, std::string_view value);
  // Removes the entries of that name.
  void unset(std::string_view name);
  [[nodiscard]] std::vector<std::string> take() && { return std::move(entries_); }

 private:
  std::vector<std::string> entries_;
};

// Calls Environment::set() on `entries` for each variable of `own` (NAME=VALUE). Ignores entries of
// `own` without a name or without '='.
void overlay_environment(std::vector<std::string>& entries, const std::vector<std::string>& own);

}  // namespace robustrun::agent
