#pragma once
// Hides secrets in texts that are stored or shown. Values become *** if their name contains TOKEN,
// KEY, SECRET or PASSW, or ends with NOTIFY, in capital or small letters; so do user and password
// in a URL. Pure.

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace robustrun::cli {

[[nodiscard]] bool is_secret_name(std::string_view name);

// Redacts the arguments of a command: `--api-key X`, `--token=X` and `NAME=VALUE`.
[[nodiscard]] std::vector<std::string> redacted(std::span<const std::string> arguments);
// Redacts one NAME=VALUE entry of an environment.
[[nodiscard]] std::string redacted_assignment(std::string_view entry);

}  // namespace robustrun::cli
