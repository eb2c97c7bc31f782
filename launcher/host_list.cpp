#include "launcher/host_list.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <set>
#include <utility>

#include "base/core/text.h"
#include "launcher/host_limits.h"

namespace robustrun::launcher {
namespace {

using base::Errc;
using base::fail;
using base::Result;

bool is_letter_or_digit(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }
bool is_name_character(char c) { return is_letter_or_digit(c) || c == '.' || c == '_' || c == '-'; }

// A piece of the user's text that knows where it stands.
struct Piece {
  std::string_view text;
  std::size_t at = 0;  // of its first character, from 0

  [[nodiscard]] Piece from(std::size_t offset) const { return {text.substr(offset), at + offset}; }
  [[nodiscard]] Piece until(std::size_t offset) const { return {text.substr(0, offset), at}; }
};

std::unexpected<base::Error> wrong(std::size_t at, std::string what) {
  return fail(Errc::kInvalidArgument, fmt::format("at character {}: {}", at + 1, std::move(what)));
}

base::Status check_user(const Piece& user) {
  const bool fine = std::ranges::all_of(
      user.text, [](char c) { return is_name_character(c) || c == '+' || c == '\\' || c == '@'; });
  if (user.text.empty()) return wrong(user.at, "there is no user name before the @");
  if (!fine || user.text.starts_with('-') || user.text.size() > kUserNameBytesMax) {
    return wrong(user.at, fmt::format("'{}' is no user name", base::printable(user.text)));
  }
  return {};
}

Result<std::uint16_t> parse_port(const Piece& port) {
  const auto number = base::parse_int<std::uint16_t>(port.text);
  if (number && *number != 0) return *number;
  if (port.text.find(':') != std::string_view::npos) {
    return wrong(port.at, "an IPv6 address needs brackets: [fe80::1]:22");
  }
  return wrong(port.at, fmt::format("'{}' is no port (1 to 65535)", base::printable(port.text)));
}

bool is_ipv6(std::string_view text) {
  const auto zone = text.find('%');
  const std::string_view address = text.substr(0, zone);
  const bool fine = std::ranges::all_of(address, [](char c) {
    return std::isxdigit(static_cast<unsigned char>(c)) != 0 || c == ':' || c == '.';
  });
  if (!fine || address.size() < 2) return false;
  if (zone == std::string_view::npos) return true;
  return zone + 1 < text.size() && std::ranges::all_of(text.substr(zone + 1), is_name_character);
}

// "01-16" to 01, 02 … 16.
base::Status add_range(const Piece& choice, std::size_t dash, std::vector<std::string>& words) {
  const std::string_view first = choice.text.substr(0, dash);
  const std::string_view last = choice.text.substr(dash + 1);
  const bool numbers = !first.empty() && !last.empty() && std::ranges::all_of(first, is_digit) &&
                       std::ranges::all_of(last, is_digit);
  if (!numbers) {
    return wrong(choice.at, fmt::format("'{}' is no range of numbers; write [1-8] or [a,b]",
                                        base::printable(choice.text)));
  }
  if (std::max(first.size(), last.size()) > kRangeDigitsMax) {
    return wrong(choice.at, fmt::format("a number has more than {} digits", kRangeDigitsMax));
  }
  if (last.starts_with('0') && last.size() > 1 && last.size() != first.size()) {
    return wrong(choice.at,
                 fmt::format("the ends of the range {} have different widths", choice.text));
  }
  const std::uint64_t low = *base::parse_int<std::uint64_t>(first);
  const std::uint64_t high = *base::parse_int<std::uint64_t>(last);
  if (low > high) {
    return wrong(choice.at, fmt::format("the range {} runs backwards", choice.text));
  }
  if (high - low + 1 > kHostsMax - words.size()) {
    return fail(Errc::kLimit,
                fmt::format("at character {}: more than {} hosts", choice.at + 1, kHostsMax));
  }
  const std::size_t width = first.starts_with('0') ? first.size() : 0;
  for (std::uint64_t number = low; number <= high; ++number) {
    words.push_back(fmt::format("{:0{}}", number, width));
  }
  return {};
}

Result<std::vector<std::string>> parse_group(const Piece& group) {
  std::vector<std::string> words;
  std::size_t at = 0;
  for (const std::string_view text : base::split(group.text, ',')) {
    const Piece choice{text, group.at + at};
    at += text.size() + 1;
    const auto dash = text.find('-');
    if (dash != std::string_view::npos) {
      RR_TRY(add_range(choice, dash, words));
      continue;
    }
    if (text.empty()) return wrong(choice.at, "there is nothing between the brackets or commas");
    if (!std::ranges::all_of(text, is_name_character)) {
      return wrong(choice.at,
                   fmt::format("'{}' cannot be part of a host name", base::printable(text)));
    }
    words.emplace_back(text);
    if (words.size() > kHostsMax) {
      return fail(Errc::kLimit,
                  fmt::format("at character {}: more than {} hosts", choice.at + 1, kHostsMax));
    }
  }
  return words;
}

// Each of `names` with each of `words` behind it.
base::Status multiply(std::vector<std::string>& names, const std::vector<std::string>& words,
                      std::size_t at) {
  if (words.size() > kHostsMax / names.size()) {
    return fail(Errc::kLimit,
                fmt::format("at character {}: more than {} hosts", at + 1, kHostsMax));
  }
  std::vector<std::string> products;
  products.reserve(names.size() * words.size());
  for (const std::string& name : names) {
    for (const std::string& word : words) {
      if (name.size() + word.size() > kHostNameBytesMax) {
        return wrong(at,
                     fmt::format("a host name is longer than {} characters", kHostNameBytesMax));
      }
      products.push_back(name + word);
    }
  }
  names = std::move(products);
  return {};
}

base::Status check_name(std::string_view name, std::size_t at) {
  const std::string shown = base::printable(name);
  // An argument that begins with a dash would be an option to ssh.
  if (!is_letter_or_digit(name.front())) {
    return wrong(
        at, fmt::format("'{}' is no host name: it must begin with a letter or a digit", shown));
  }
  if (std::ranges::all_of(name, is_digit)) {
    return wrong(at, fmt::format("'{}' is no host name but a number", shown));
  }
  return {};
}

Result<std::vector<std::string>> expand_name(Piece rest) {
  const std::size_t start = rest.at;
  std::vector<std::string> names = {""};
  for (std::size_t groups = 0; !rest.text.empty();) {
    if (rest.text.front() == '[') {
      if (++groups > kBracketGroupsMax) {
        return wrong(rest.at,
                     fmt::format("a name has more than {} pairs of brackets", kBracketGroupsMax));
      }
      const auto close = rest.text.find(']');
      if (close == std::string_view::npos) return wrong(rest.at, "the bracket is not closed");
      const auto words = RR_TRY(parse_group(rest.until(close).from(1)));
      RR_TRY(multiply(names, words, rest.at));
      rest = rest.from(close + 1);
      continue;
    }
    const std::size_t size = std::min(rest.text.find('['), rest.text.size());
    const std::string literal(rest.text.substr(0, size));
    const auto bad = std::ranges::find_if_not(literal, is_name_character);
    if (bad != literal.end()) {
      return wrong(rest.at + static_cast<std::size_t>(bad - literal.begin()),
                   fmt::format("no host name has the character '{}'",
                               base::printable(std::string(1, *bad))));
    }
    RR_TRY(multiply(names, {literal}, rest.at));
    rest = rest.from(size);
  }
  if (names.front().empty()) return wrong(start, "a host name is missing");
  for (const std::string& name : names) RR_TRY(check_name(name, start));
  return names;
}

base::Status add_item(Piece item, std::vector<Host>& hosts) {
  Host host;
  if (const auto at_sign = item.text.rfind('@'); at_sign != std::string_view::npos) {
    RR_TRY(check_user(item.until(at_sign)));
    host.user = item.text.substr(0, at_sign);
    item = item.from(at_sign + 1);
  }
  const auto close = item.text.find(']');
  const std::string_view bracketed = item.text.substr(0, close);
  const bool literal = item.text.starts_with('[') && close != std::string_view::npos &&
                       bracketed.find(':') != std::string_view::npos;
  std::size_t end = item.text.find(':', literal ? close : 0);
  end = std::min(end, item.text.size());
  if (literal && (!is_ipv6(bracketed.substr(1)) || close + 1 != end)) {
    return wrong(item.at, fmt::format("'{}' is no IPv6 address with an optional port; write "
                                      "[fe80::1]:22",
                                      base::printable(item.text)));
  }
  const Piece name = item.until(end);
  if (end < item.text.size()) host.port = RR_TRY(parse_port(item.from(end + 1)));
  std::vector<std::string> names = {std::string(name.text)};
  if (!literal) names = RR_TRY(expand_name(name));
  if (names.size() > kHostsMax - hosts.size()) {
    return fail(Errc::kLimit,
                fmt::format("at character {}: more than {} hosts", item.at + 1, kHostsMax));
  }
  for (std::string& each : names) {
    host.name = std::move(each);
    hosts.push_back(host);
  }
  return {};
}

// Where the item at the front of `text` ends: at a comma or blank outside brackets.
std::size_t item_size(std::string_view text) {
  bool inside = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '[') inside = true;
    if (text[i] == ']') inside = false;
    if (!inside && (text[i] == ',' || is_blank(text[i]))) return i;
  }
  return text.size();
}

}  // namespace

Result<std::vector<Host>> expand_host_list(std::string_view text) {
  if (text.size() > kHostListBytesMax) {
    return fail(Errc::kLimit, fmt::format("it is longer than {} bytes", kHostListBytesMax));
  }
  std::vector<Host> hosts;
  Piece rest{text};
  const auto skip_blanks = [&] {
    const auto found = std::ranges::find_if_not(rest.text, is_blank);
    rest = rest.from(static_cast<std::size_t>(found - rest.text.begin()));
  };
  for (bool wanted = true;;) {
    skip_blanks();
    if (rest.text.empty() && !wanted) return hosts;
    const std::size_t size = item_size(rest.text);
    if (size == 0) return wrong(rest.at, "a host name is missing");
    RR_TRY(add_item(rest.until(size), hosts));
    rest = rest.from(size);
    skip_blanks();
    wanted = rest.text.starts_with(',');
    if (wanted) rest = rest.from(1);
  }
}

base::Status check_distinct(const std::vector<Host>& hosts) {
  std::set<std::pair<std::string_view, std::uint16_t>> seen;
  for (const Host& host : hosts) {
    if (seen.emplace(host.name, host.port).second) continue;
    return fail(Errc::kConflict, fmt::format("{} is named twice; name each host once, and say how "
                                             "many workers it gets with slots=N or "
                                             "--nproc-per-node",
                                             to_text(host)));
  }
  return {};
}

Result<std::vector<Host>> parse_host_list(std::string_view text) {
  auto hosts = expand_host_list(text);
  if (hosts) RR_TRY(check_distinct(*hosts));
  return hosts;
}

void sort_naturally(std::vector<Host>& hosts) {
  std::ranges::sort(hosts, [](const Host& a, const Host& b) {
    if (a.name != b.name) return base::natural_less(a.name, b.name);
    return a.port < b.port;
  });
}

std::string to_text(const Host& host) {
  std::string text = host.user.empty() ? host.name : host.user + "@" + host.name;
  if (host.port != 0) text += fmt::format(":{}", host.port);
  return text;
}

}  // namespace robustrun::launcher
