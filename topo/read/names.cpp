#include "topo/read/names.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string_view>
#include <vector>

#include "base/core/text.h"

namespace robustrun::topo {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

struct Number {
  std::string_view word;  // the letters directly before it
  std::size_t end = 0;
};

struct Parts {
  std::string pattern;  // with "#" for numbers
  std::vector<Number> numbers;
};

Parts take_apart(std::string_view name) {
  Parts parts;
  std::size_t word = 0;
  for (std::size_t at = 0; at < name.size();) {
    if (!is_digit(name[at])) {
      if (!is_letter(name[at])) word = at + 1;
      parts.pattern += name[at++];
      continue;
    }
    const std::size_t start = at;
    while (at < name.size() && is_digit(name[at])) ++at;
    parts.pattern += '#';
    parts.numbers.push_back({name.substr(word, start - word), at});
    word = at;
  }
  return parts;
}

bool means_rack(std::string_view word) {
  constexpr std::string_view kWords[] = {"rack", "Rack", "RACK", "rk", "r", "R"};
  return std::ranges::find(kWords, word) != std::end(kWords);
}

// The index of the rack's number.
std::optional<std::size_t> rack_number(const Parts& parts) {
  for (std::size_t at = 0; at + 1 < parts.numbers.size(); ++at) {
    if (means_rack(parts.numbers[at].word)) return at;
  }
  const bool has_letters = std::ranges::any_of(parts.pattern, is_letter);
  if (parts.numbers.size() == 2 && has_letters) return 0;
  return std::nullopt;
}

}  // namespace

std::optional<Description> read_names(std::span<const std::string> hosts) {
  if (hosts.empty()) return std::nullopt;
  const auto short_name = [](std::string_view host) { return host.substr(0, host.find('.')); };
  const Parts first = take_apart(short_name(hosts.front()));
  const auto number = rack_number(first);
  if (!number) return std::nullopt;
  Description result;
  std::map<std::string_view, std::size_t> switch_of;
  for (const std::string& host : hosts) {
    const Parts parts = take_apart(short_name(host));
    if (parts.pattern != first.pattern) return std::nullopt;
    const std::string_view rack = std::string_view(host).substr(0, parts.numbers[*number].end);
    const auto [place, fresh] = switch_of.emplace(rack, result.switches.size());
    if (fresh) {
      SwitchEntry& entry = result.switches.emplace_back();
      entry.name = rack;
      entry.level = "rack";
    }
    result.switches[place->second].nodes.push_back(host);
    NodeEntry& node = result.nodes.emplace_back();
    node.name = host;
    node.rack = rack;
  }
  if (result.switches.size() < 2 || result.switches.size() == hosts.size()) return std::nullopt;
  result.source = fmt::format("host names ({} seems to be in rack {})",
                              base::printable(hosts.front()), result.switches.front().name);
  return result;
}

}  // namespace robustrun::topo
