#include "cli/options/redact.h"

#include <algorithm>
#include <array>
#include <cctype>

namespace robustrun::cli {
namespace {

constexpr std::string_view kHidden = "***";

// Hides user and password in a URL.
std::string without_login(std::string_view text) {
  const auto scheme = text.find("://");
  if (scheme == std::string_view::npos) return std::string(text);
  const std::size_t host = scheme + 3;
  const auto at = text.substr(0, text.find_first_of("/?#", host)).rfind('@');
  if (at == std::string_view::npos || at < host) return std::string(text);
  return std::string(text.substr(0, host)).append(kHidden).append(text.substr(at));
}

}  // namespace

bool is_secret_name(std::string_view name) {
  constexpr std::array<std::string_view, 4> kWords = {"TOKEN", "KEY", "SECRET", "PASSW"};
  std::string upper(name);
  std::ranges::transform(upper, upper.begin(),
                         [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  if (upper.ends_with("NOTIFY")) return true;  // URLs of webhooks
  return std::ranges::any_of(
      kWords, [&](std::string_view word) { return upper.find(word) != std::string::npos; });
}

std::string redacted_assignment(std::string_view entry) {
  const auto equals = entry.find('=');
  if (equals == std::string_view::npos || !is_secret_name(entry.substr(0, equals))) {
    return without_login(entry);
  }
  return std::string(entry.substr(0, equals + 1)).append(kHidden);
}

std::vector<std::string> redacted(std::span<const std::string> arguments) {
  std::vector<std::string> shown;
  bool hide_next = false;
  for (const std::string& argument : arguments) {
    const bool is_option = argument.starts_with('-');
    if (hide_next && !is_option) {
      shown.emplace_back(kHidden);
      hide_next = false;
      continue;
    }
    shown.push_back(redacted_assignment(argument));
    hide_next = is_option && argument.find('=') == std::string::npos && is_secret_name(argument);
  }
  return shown;
}

}  // namespace robustrun::cli
