#include "launcher/hosts/host_list.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <set>
#include <utility>

#include "base/core/name_list.h"
#include "base/core/text.h"
#include "launcher/hosts/limits.h"

namespace robustrun::launcher {
namespace {

using base::Errc;
using base::fail;
using base::Result;

// Messages speak of hosts; the limits are those of one list.
constexpr base::NameListRules kRules{kHostsMax, "host name", "hosts"};

using Piece = base::ListPiece;

bool is_letter_or_digit(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

std::unexpected<base::Error> wrong(std::size_t at, const std::string& what) {
  return base::wrong_in_list(at, what);
}

base::Status check_user(const Piece& user) {
  const bool fine = std::ranges::all_of(user.text, [](char c) {
    return base::is_listed_name_character(c) || c == '+' || c == '\\' || c == '@';
  });
  if (user.text.empty()) return wrong(user.at, "there is no user name before the @");
  if (!fine || user.text.starts_with('-') || user.text.size() > kUserNameBytesMax) {
    return wrong(user.at, fmt::format("'{}' is not a user name", base::printable(user.text)));
  }
  return {};
}

Result<std::uint16_t> parse_port(const Piece& port) {
  const auto number = base::parse_int<std::uint16_t>(port.text);
  if (number && *number != 0) return *number;
  if (port.text.find(':') != std::string_view::npos) {
    return wrong(port.at, "an IPv6 address needs brackets: [fe80::1]:22");
  }
  return wrong(port.at, fmt::format("'{}' is not a port (1 to 65535)", base::printable(port.text)));
}

bool is_ipv6(std::string_view text) {
  const auto zone = text.find('%');
  const std::string_view address = text.substr(0, zone);
  const bool fine = std::ranges::all_of(address, [](char c) {
    return std::isxdigit(static_cast<unsigned char>(c)) != 0 || c == ':' || c == '.';
  });
  if (!fine || address.size() < 2) return false;
  if (zone == std::string_view::npos) return true;
  return zone + 1 < text.size() &&
         std::ranges::all_of(text.substr(zone + 1), base::is_listed_name_character);
}

base::Status check_name(std::string_view name, std::size_t at) {
  const std::string shown = base::printable(name);
  // An argument that begins with a dash would be an option of ssh.
  if (!is_letter_or_digit(name.front())) {
    return wrong(
        at, fmt::format("'{}' is not a host name: it must begin with a letter or a digit", shown));
  }
  if (std::ranges::all_of(name, is_digit)) {
    return wrong(at, fmt::format("'{}' is not a host name but a number", shown));
  }
  return {};
}

Result<std::vector<std::string>> expand_host_name(const Piece& item) {
  auto names = RR_TRY(base::expand_name(item, kRules));
  for (const std::string& name : names) RR_TRY(check_name(name, item.at));
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
    return wrong(item.at, fmt::format("'{}' is not an IPv6 address with an optional port; write "
                                      "[fe80::1]:22",
                                      base::printable(item.text)));
  }
  const Piece name = item.until(end);
  if (end < item.text.size()) host.port = RR_TRY(parse_port(item.from(end + 1)));
  std::vector<std::string> names = {std::string(name.text)};
  if (!literal) names = RR_TRY(expand_host_name(name));
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
    const std::size_t size = base::list_item_size(rest.text);
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
