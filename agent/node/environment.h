#pragma once
// An environment under construction: NAME=VALUE strings in order, names unique where we set them.
//
// Pure. Entries of the caller without '=' or named twice pass through untouched.

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
  void set(std::string_view name, std::string_view value);
  void unset(std::string_view name);
  [[nodiscard]] std::vector<std::string> take() && { return std::move(entries_); }

 private:
  std::vector<std::string> entries_;
};

// Entries of `own` (NAME=VALUE) replace those of the same names.
void overlay_environment(std::vector<std::string>& entries, const std::vector<std::string>& own);

}  // namespace robustrun::agent
