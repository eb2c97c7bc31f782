#include "launcher/ssh/config_scope.h"

#include <arpa/inet.h>

#include <algorithm>
#include <array>

#include "base/core/text.h"
#include "launcher/hosts/host_pattern.h"
#include "launcher/hosts/limits.h"

namespace robustrun::launcher {
namespace {

constexpr std::string_view kBlank = " \t";
// Tokens in these are not used here (ControlPath), or not expanded before connecting.
constexpr std::array<std::string_view, 2> kHarmlessTokens = {"controlpath", "proxycommand"};

bool is_lower(char c) { return c >= 'a' && c <= 'z'; }
bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

std::string_view strip(std::string_view text, std::string_view front, std::string_view back) {
  text.remove_prefix(std::min(text.find_first_not_of(front), text.size()));
  return text.substr(0, text.find_last_not_of(back) + 1);
}

// The value after a keyword: skips blanks and one "=".
std::string_view value_in(std::string_view rest) {
  rest = strip(rest, kBlank, kBlank);
  if (rest.starts_with('=')) rest.remove_prefix(1);
  return strip(rest, kBlank, kBlank);
}

// Whether every version of ssh reads `text` as one and the same pattern.
bool is_pattern(std::string_view text) {
  const bool negated = text.starts_with('!');
  if (negated) text.remove_prefix(1);
  return !text.empty() && std::ranges::all_of(text, [negated](char c) {
    return is_lower(c) || (is_upper(c) && !negated) || is_digit(c) ||
           std::string_view("._-*?/:@").find(c) != std::string_view::npos;
  });
}

bool takes(const std::vector<std::string>& patterns, std::string_view name) {
  bool taken = false;
  for (const std::string_view one : patterns) {
    const bool negated = one.starts_with('!');
    if (!glob_matches(one.substr(negated ? 1 : 0), name)) continue;
    if (negated) return false;
    taken = true;
  }
  return taken;
}

}  // namespace

bool is_plain_host_name(std::string_view name) {
  if (name.empty() || name.size() > kHostNameBytesMax) return false;
  if (is_lower(name.front())) {
    return std::ranges::all_of(name, [](char c) {
      return is_lower(c) || is_digit(c) || c == '.' || c == '-' || c == '_';
    });
  }
  in_addr address{};
  const std::string text(name);
  char plain[INET_ADDRSTRLEN];
  return ::inet_pton(AF_INET, text.c_str(), &address) == 1 &&
         ::inet_ntop(AF_INET, &address, plain, sizeof plain) != nullptr && text == plain;
}

std::optional<SshConfigScope> SshConfigScope::of(std::span<const std::string> texts) {
  SshConfigScope scope;
  for (const std::string& text : texts) {
    if (!scope.take_file(text)) return std::nullopt;
  }
  return scope;
}

bool SshConfigScope::take_file(std::string_view text) {
  // An included file begins in a block of the including file, which is unknown here. Treating that
  // as a block for all hosts is safe: it can only restrict the scope.
  std::size_t block = 0;
  const auto lines = base::split(text, '\n');
  return std::ranges::all_of(lines, [&](std::string_view line) {
    return line.size() <= kSshConfigLineBytesMax &&
           take_line(strip(line, kBlank, " \t\r\f"), block);
  });
}

bool SshConfigScope::take_line(std::string_view line, std::size_t& block) {
  if (line.empty() || line.starts_with('#')) return true;
  const auto end = std::ranges::find_if_not(
      line, [](char c) { return is_lower(c) || is_upper(c) || is_digit(c); });
  const std::string keyword = lower(line.substr(0, static_cast<std::size_t>(end - line.begin())));
  line.remove_prefix(keyword.size());
  if (keyword.empty() || (!line.empty() && kBlank.find(line.front()) == std::string_view::npos &&
                          line.front() != '=')) {
    return false;
  }
  const std::string_view value = value_in(line);
  if (keyword == "host") {
    block = blocks_.size();
    return begin_block(value);
  }
  if (keyword == "match") {
    block = 0;
    return value == "all" || value == "final all";
  }
  const bool has_token = value.find('%') != std::string_view::npos &&
                         std::ranges::find(kHarmlessTokens, keyword) == kHarmlessTokens.end();
  if (keyword == "hostname" || has_token) blocks_[block].personal = true;
  return true;
}

bool SshConfigScope::begin_block(std::string_view patterns) {
  Block block;
  for (std::size_t at = 0; at < patterns.size();) {
    const std::size_t end = std::min(patterns.find_first_of(kBlank, at), patterns.size());
    const std::string_view one = patterns.substr(at, end - at);
    if (!is_pattern(one) || ++patterns_ > kSshConfigPatternsMax) return false;
    // Only ssh decides whether capitals match small letters.
    block.personal |= std::ranges::any_of(one, is_upper);
    block.patterns.push_back(lower(one));
    at = std::min(patterns.find_first_not_of(kBlank, end), patterns.size());
  }
  blocks_.push_back(std::move(block));
  return !blocks_.back().patterns.empty();
}

bool SshConfigScope::alike(std::string_view one, std::string_view other) const {
  if (!is_plain_host_name(one) || !is_plain_host_name(other)) return false;
  return std::ranges::all_of(blocks_, [&](const Block& block) {
    const bool taken = takes(block.patterns, one);
    return taken == takes(block.patterns, other) && !(taken && block.personal);
  });
}

}  // namespace robustrun::launcher
