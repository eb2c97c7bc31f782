#include "topo/read/topograph.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "base/core/text.h"
#include "topo/limits.h"
#include "topo/network/complaint.h"

namespace robustrun::topo {
namespace {

using base::Result;

// The newest first: of two labels for one tier, the newer kind counts.
constexpr std::array<std::string_view, 2> kTierPrefixes = {"fabric.topograph.run/tier-",
                                                           "network.topology.nvidia.com/tier-"};
constexpr std::array<std::string_view, 2> kOldPrefixes = {"network.topology.nvidia.com/",
                                                          "network.topology.kubernetes.io/"};
constexpr std::array<std::pair<std::string_view, std::uint32_t>, 5> kOldTiers = {
    {{"leaf", 0}, {"block", 0}, {"spine", 1}, {"core", 2}, {"datacenter", 2}}};
// The first of these labels that a node has.
constexpr std::array<std::string_view, 4> kDomains = {
    "accelerator.topograph.run/domain", "network.topology.nvidia.com/accelerator",
    "network.topology.kubernetes.io/accelerator", "nvidia.com/gpu.clique"};

struct Tier {
  std::uint32_t tier = 0;
  std::size_t age = 0;  // of the kind of label; 0: the newest
};

std::optional<Tier> tier_of(std::string_view key) {
  std::size_t age = 0;
  for (const std::string_view prefix : kTierPrefixes) {
    if (key.starts_with(prefix)) {
      const auto tier = base::parse_int<std::uint32_t>(key.substr(prefix.size()));
      if (tier && *tier < kLevelsMax) return Tier{*tier, age};
    }
    ++age;
  }
  for (const std::string_view prefix : kOldPrefixes) {
    for (const auto& [name, tier] : kOldTiers) {
      if (key.starts_with(prefix) && key.substr(prefix.size()) == name) return Tier{tier, age};
    }
    ++age;
  }
  return std::nullopt;
}

std::vector<std::string_view> words_of(std::string_view line) {
  std::vector<std::string_view> words;
  for (std::string_view word : base::split(line, ' ')) {
    word = base::trim(word);
    if (!word.empty()) words.push_back(word);
  }
  return words;
}

struct NodeLabels {
  std::string_view name;
  std::uint32_t line = 0;
  std::map<std::uint32_t, std::string_view> tiers;
  std::string_view domain;
};

class TopographReader {
 public:
  explicit TopographReader(const std::string& source) { result_.source = source; }

  Result<Description> read(std::string_view text) {
    std::uint32_t line = 0;
    for (const std::string_view each : base::split(text, '\n')) {
      ++line;
      const auto words = words_of(each);
      if (words.empty() || is_label_table(each)) continue;
      NodeLabels node;
      node.name = words.front();
      node.line = line;
      RR_TRY(take_labels(words.back(), node));
      if (!node.tiers.empty()) nodes_.push_back(std::move(node));
    }
    if (nodes_.empty()) {
      return cannot_use(result_.source, 0,
                        "no node has a label of a tier (fabric.topograph.run/tier-0 or "
                        "network.topology.nvidia.com/leaf); is topograph's engine k8s active?");
    }
    for (const NodeLabels& node : nodes_) {
      for (const auto& [tier, value] : node.tiers) {
        const auto lowest = lowest_.emplace(value, tier).first;
        lowest->second = std::min(lowest->second, tier);
      }
    }
    for (const NodeLabels& node : nodes_) hang_up(node);
    return std::move(result_);
  }

 private:
  base::Status take_labels(std::string_view labels, NodeLabels& node) const {
    std::map<std::string_view, std::string_view> all;
    for (const std::string_view label : base::split(labels, ',')) {
      const auto equals = label.find('=');
      if (equals == std::string_view::npos) {
        if (labels == "<none>") return {};
        return cannot_use(result_.source, node.line,
                          fmt::format("'{}' is not a label; expected the output of `kubectl get "
                                      "nodes --show-labels`",
                                      base::printable(label.substr(0, kNameBytesMax))));
      }
      all.emplace(label.substr(0, equals), label.substr(equals + 1));
    }
    std::map<std::uint32_t, std::size_t> ages;  // of the labels taken, by tier
    for (const auto& [key, value] : all) {
      const auto found = tier_of(key);
      if (!found || value.empty()) continue;
      const auto [taken, is_first] = ages.emplace(found->tier, found->age);
      if (!is_first && taken->second <= found->age) continue;
      taken->second = found->age;
      node.tiers[found->tier] = value;
    }
    for (const std::string_view key : kDomains) {
      const auto found = all.find(key);
      if (node.domain.empty() && found != all.end()) node.domain = found->second;
    }
    return {};
  }

  void hang_up(const NodeLabels& node) {
    std::string below(node.name);
    bool is_node = true;
    for (const auto& [tier, value] : node.tiers) {
      SwitchEntry& entry = switch_called(value, tier, node.line);
      if (known_.emplace(entry.name, below, is_node).second) {
        (is_node ? entry.nodes : entry.switches).push_back(below);
      }
      below = entry.name;
      is_node = false;
    }
    if (!node.domain.empty()) {
      result_.nodes.push_back(
          {std::string(node.name), 0, std::string(node.domain), {}, {}, node.line});
    }
  }

  SwitchEntry& switch_called(std::string_view value, std::uint32_t tier, std::uint32_t line) {
    const auto [place, fresh] = index_.emplace(std::pair(value, tier), result_.switches.size());
    if (fresh) {
      SwitchEntry& entry = result_.switches.emplace_back();
      entry.name = lowest_[value] < tier ? fmt::format("{}/{}", value, tier) : std::string(value);
      entry.line = line;
    }
    return result_.switches[place->second];
  }

  Description result_;
  std::vector<NodeLabels> nodes_;
  std::map<std::string_view, std::uint32_t> lowest_;  // by name: the lowest tier that uses it
  std::map<std::pair<std::string_view, std::uint32_t>, std::size_t> index_;
  std::set<std::tuple<std::string, std::string, bool>> known_;
};

}  // namespace

Result<Description> read_topograph(std::string_view text, const std::string& source) {
  if (text.size() > kTextBytesMax) {
    return cannot_use(source, 0, fmt::format("longer than {} bytes", kTextBytesMax),
                      base::Errc::kLimit);
  }
  return TopographReader(source).read(text);
}

bool is_label_table(std::string_view line) {
  const auto words = words_of(line);
  return words.size() >= 2 && words.front() == "NAME" && words.back() == "LABELS";
}

}  // namespace robustrun::topo
