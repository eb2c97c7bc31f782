#include "launcher/hosts/host_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "base/core/text.h"
#include "launcher/hosts/host_list.h"
#include "launcher/hosts/limits.h"

namespace robustrun::launcher {
namespace {

using base::Errc;
using base::fail;
using base::Result;

constexpr std::string_view kBlanks = " \t\r";
constexpr std::uint16_t kSshPort = 22;

struct Line {
  std::string_view hosts;
  std::string_view attributes;
};

struct Attributes {
  std::optional<std::uint32_t> slots;
  std::optional<std::uint32_t> max_slots;
};

Line split_line(std::string_view text) {
  text = base::trim(text.substr(0, text.find('#')));
  const auto space = text.find_first_of(kBlanks);
  if (space == std::string_view::npos) return {text, {}};
  return {text.substr(0, space), base::trim(text.substr(space))};
}

Result<std::uint32_t> parse_count(std::string_view key, std::string_view value) {
  const auto count = base::parse_int<std::uint32_t>(value);
  if (count && *count >= 1 && *count <= kSlotsMax) return *count;
  return fail(Errc::kInvalidArgument,
              fmt::format("'{}={}': expected a number from 1 to {}", base::printable(key),
                          base::printable(value), kSlotsMax));
}

// Takes the next word of "key = value key=value"; "=" is a word of its own.
std::string_view take_word(std::string_view& rest) {
  const auto start = rest.find_first_not_of(kBlanks);
  rest.remove_prefix(std::min(start, rest.size()));
  const std::size_t size =
      rest.starts_with('=') ? 1 : std::min(rest.find_first_of(" \t\r="), rest.size());
  const std::string_view word = rest.substr(0, size);
  rest.remove_prefix(size);
  return word;
}

Result<Attributes> parse_attributes(std::string_view rest) {
  Attributes attributes;
  while (true) {
    const std::string_view key = take_word(rest);
    if (key.empty()) break;
    if (take_word(rest) != "=") {
      return fail(Errc::kInvalidArgument,
                  fmt::format("'{}' is not KEY=VALUE; write one host, or one list with commas, on "
                              "each line",
                              base::printable(key)));
    }
    const std::string_view value = take_word(rest);
    const bool is_slots = key == "slots";
    if (!is_slots && key != "max_slots" && key != "max-slots") {
      return fail(
          Errc::kInvalidArgument,
          fmt::format("'{}=' is not known; slots= and max_slots= are", base::printable(key)));
    }
    auto& target = is_slots ? attributes.slots : attributes.max_slots;
    if (target) {
      return fail(Errc::kInvalidArgument, fmt::format("'{}=' is given twice", key));
    }
    target = RR_TRY(parse_count(key, value));
  }
  if (attributes.max_slots && attributes.slots.value_or(1) > *attributes.max_slots) {
    return fail(Errc::kInvalidArgument,
                fmt::format("slots={} is more than max_slots={}", attributes.slots.value_or(1),
                            *attributes.max_slots));
  }
  return attributes;
}

// Interprets "host:N" without slots=.
base::Status read_colon(Host& host) {
  if (host.port == 0 || host.port >= kColonPortMin) return {};
  if (host.port > kColonSlotsMax || host.port == kSshPort) {
    return fail(Errc::kInvalidArgument,
                fmt::format("'{}' may mean {} workers or ssh's port {}; write slots=N after the "
                            "host: the number after the colon is a port then",
                            to_text(host), host.port, host.port));
  }
  host.slots = std::exchange(host.port, std::uint16_t{0});
  return {};
}

Result<std::vector<Host>> parse_line(const Line& line) {
  auto hosts = RR_TRY(expand_host_list(line.hosts));
  const Attributes attributes = RR_TRY(parse_attributes(line.attributes));
  for (Host& host : hosts) {
    if (attributes.slots)
      host.slots = *attributes.slots;
    else
      RR_TRY(read_colon(host));
  }
  return hosts;
}

}  // namespace

Result<std::vector<Host>> parse_host_file(std::string_view text, const std::string& name) {
  if (text.size() > kHostFileBytesMax) {
    return fail(Errc::kLimit, fmt::format("{}: longer than {} bytes", name, kHostFileBytesMax));
  }
  std::vector<Host> hosts;
  // by host: the line that named it
  std::map<std::pair<std::string, std::uint16_t>, std::size_t> lines;
  std::size_t number = 0;
  for (const std::string_view each : base::split(text, '\n')) {
    ++number;
    const auto at_line = [&](Errc code, std::string_view what) {
      return fail(code, fmt::format("{}:{}: {}", name, number, what));
    };
    const Line line = split_line(each);
    if (line.hosts.empty()) continue;
    auto more = parse_line(line);
    if (!more) return at_line(more.error().code, more.error().what);
    if (more->size() > kHostsMax - hosts.size()) {
      return at_line(Errc::kLimit, fmt::format("more than {} hosts", kHostsMax));
    }
    for (Host& host : *more) {
      const auto [known, is_new] = lines.emplace(std::pair(host.name, host.port), number);
      if (!is_new) {
        return at_line(Errc::kConflict,
                       fmt::format("{} is in line {} already; name each host once, and say how "
                                   "many workers it gets with slots=N",
                                   to_text(host), known->second));
      }
      hosts.push_back(std::move(host));
    }
  }
  if (hosts.empty()) {
    return fail(Errc::kInvalidArgument, fmt::format("{}:{}: no host is named", name, number));
  }
  return hosts;
}

}  // namespace robustrun::launcher
