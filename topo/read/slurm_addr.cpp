#include "topo/read/slurm_addr.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "base/core/text.h"
#include "topo/limits.h"
#include "topo/network/complaint.h"

namespace robustrun::topo {
namespace {

// The two words of a line; the second is empty unless there are exactly two.
std::pair<std::string_view, std::string_view> two_words(std::string_view line) {
  line = base::trim(line);
  const auto blank = std::min(line.find_first_of(" \t"), line.size());
  const std::string_view rest = base::trim(line.substr(blank));
  if (rest.find_first_of(" \t") != std::string_view::npos) return {};
  return {line.substr(0, blank), rest};
}

bool is_pattern(std::string_view word) {
  const auto pieces = base::split(word, '.');
  return pieces.back() == "node" &&
         std::all_of(pieces.begin(), pieces.end() - 1,
                     [](std::string_view piece) { return piece == "switch" || piece == "block"; });
}

class AddressReader {
 public:
  explicit AddressReader(const std::string& source) { result_.source = source; }

  base::Result<Description> read(std::string_view text) {
    std::uint32_t line = 0;
    for (const std::string_view each : base::split(text, '\n')) {
      ++line;
      if (base::trim(each).empty()) continue;
      const auto [address, pattern] = two_words(each);
      if (!is_pattern(pattern)) {
        return cannot_use(result_.source, line,
                          "expected SLURM_TOPOLOGY_ADDR, a blank, and "
                          "SLURM_TOPOLOGY_ADDR_PATTERN, such as \"s8.s0.tux1 switch.switch.node\"");
      }
      RR_TRY(take(base::split(address, '.'), base::split(pattern, '.').size(), line));
    }
    return std::move(result_);
  }

 private:
  base::Status take(const std::vector<std::string_view>& names, std::size_t wanted,
                    std::uint32_t line) {
    if (names.size() != wanted) {
      return cannot_use(result_.source, line,
                        fmt::format("the address has {} parts and its pattern {}: names with dots "
                                    "are ambiguous; use the output of `scontrol show topology` "
                                    "instead",
                                    names.size(), wanted));
    }
    // An empty part between two dots: the branch lacks a level.
    std::vector<std::string_view> path;
    std::ranges::copy_if(names, std::back_inserter(path),
                         [](std::string_view name) { return !name.empty(); });
    if (path.size() < 2 || names.back().empty()) {
      return cannot_use(result_.source, line,
                        "the node is below no switch: the cluster has no topology plugin; leave "
                        "the topology out");
    }
    for (std::size_t at = 0; at + 1 < path.size(); ++at) {
      SwitchEntry& entry = switch_called(path[at], line);
      const bool is_node = at + 2 == path.size();
      // Tasks of one node repeat its line.
      if (!known_.emplace(path[at], path[at + 1], is_node).second) continue;
      (is_node ? entry.nodes : entry.switches).emplace_back(path[at + 1]);
    }
    return {};
  }

  SwitchEntry& switch_called(std::string_view name, std::uint32_t line) {
    const auto [place, fresh] = index_.emplace(name, result_.switches.size());
    if (fresh) {
      SwitchEntry& entry = result_.switches.emplace_back();
      entry.name = name;
      entry.line = line;
    }
    return result_.switches[place->second];
  }

  Description result_;
  std::map<std::string_view, std::size_t> index_;
  std::set<std::tuple<std::string_view, std::string_view, bool>> known_;
};

}  // namespace

base::Result<Description> read_slurm_addr(std::string_view text, const std::string& source) {
  if (text.size() > kTextBytesMax) {
    return cannot_use(source, 0, fmt::format("longer than {} bytes", kTextBytesMax),
                      base::Errc::kLimit);
  }
  return AddressReader(source).read(text);
}

bool is_slurm_addr(std::string_view line) { return is_pattern(two_words(line).second); }

}  // namespace robustrun::topo
