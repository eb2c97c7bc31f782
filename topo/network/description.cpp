// Builds the tree in steps: parents; heights from the bottom up (a switch that gets none has a
// cycle below it); levels, with stand-ins where a branch lacks one.

#include "topo/network/description.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "base/core/text.h"
#include "topo/limits.h"
#include "topo/network/complaint.h"

namespace robustrun::topo {
namespace {

using base::Errc;
using base::printable;
using Index = std::uint32_t;

constexpr Index kNone = 0xffffffff;
constexpr std::array<std::string_view, 4> kLevelNames = {"leaf", "minipod", "core", "site"};
constexpr std::size_t kShownInCycle = 8;

// Printable and without blanks.
bool is_name(std::string_view name) {
  return !name.empty() && name.size() <= kNameBytesMax && printable(name) == name &&
         name.find(' ') == std::string_view::npos;
}

std::string in_line(std::uint32_t line) {
  return line == 0 ? std::string() : fmt::format(" (line {})", line);
}

std::string did_you_mean(std::string_view word, const std::vector<std::string>& names) {
  const std::string near = base::nearest(word, names);
  return near.empty() ? "" : fmt::format(" (did you mean '{}'?)", near);
}

class Builder {
 public:
  explicit Builder(const Description& description) : description_(description) {}

  base::Result<Cluster> build() {
    RR_TRY(check_sizes());
    RR_TRY(index_switches());
    RR_TRY(attach_all());
    RR_TRY(find_heights());
    RR_TRY(name_levels());
    RR_TRY(make_levels());
    RR_TRY(label_nodes());
    RR_TRY(label_levels());
    cluster_.source = description_.source;
    RR_ASSERT(is_consistent(cluster_));
    return std::move(cluster_);
  }

 private:
  [[nodiscard]] std::unexpected<base::Error> wrong(std::uint32_t line, const std::string& what,
                                                   Errc code = Errc::kInvalidArgument) const {
    return cannot_use(description_.source, line, what, code);
  }
  [[nodiscard]] const SwitchEntry& entry(Index index) const { return description_.switches[index]; }
  [[nodiscard]] bool is_top(std::size_t level) const { return level + 1 == cluster_.levels.size(); }

  base::Status check_sizes() const;
  base::Status index_switches();
  base::Status attach_all();
  base::Status attach_switch(Index parent, const std::string& name);
  base::Status attach_node(Index parent, const std::string& name);
  base::Status find_heights();
  [[nodiscard]] std::unexpected<base::Error> cycle_at(Index start) const;
  base::Status name_levels();
  base::Status name_level(std::size_t level);
  base::Status make_levels();
  Index stand_in(std::size_t level, Index of);
  base::Status label_nodes();
  base::Status label_levels();

  const Description& description_;
  Cluster cluster_;
  std::map<std::string_view, Index> switch_of_name_;
  std::map<std::string_view, NodeIndex> node_of_name_;
  std::vector<Index> parent_;       // by switch
  std::vector<std::size_t> height_;  // by switch
  std::vector<Index> switch_of_node_;     // by node
};

base::Status Builder::check_sizes() const {
  if (description_.switches.empty()) {
    return wrong(0, "there is no switch in it; name switches and their children");
  }
  if (description_.switches.size() > kSwitchesMax) {
    return wrong(description_.switches[kSwitchesMax].line,
                 fmt::format("more than {} switches", kSwitchesMax), Errc::kLimit);
  }
  return {};
}

base::Status Builder::index_switches() {
  for (Index at = 0; at < description_.switches.size(); ++at) {
    const SwitchEntry& one = entry(at);
    if (!is_name(one.name)) {
      return wrong(one.line, fmt::format("'{}' is not a name for a switch: expected 1 to {} "
                                         "characters without blanks",
                                         printable(one.name), kNameBytesMax));
    }
    const auto [place, fresh] = switch_of_name_.emplace(one.name, at);
    if (!fresh) {
      return wrong(one.line, fmt::format("switch '{}' is described twice{}; list all its children "
                                         "in one description",
                                         one.name, in_line(entry(place->second).line)));
    }
    if (one.switches.empty() && one.nodes.empty()) {
      return wrong(one.line, fmt::format("switch '{}' has no children; name its nodes or "
                                         "switches, or leave it out",
                                         one.name));
    }
  }
  return {};
}

base::Status Builder::attach_all() {
  parent_.assign(description_.switches.size(), kNone);
  for (Index at = 0; at < description_.switches.size(); ++at) {
    for (const std::string& name : entry(at).switches) RR_TRY(attach_switch(at, name));
    for (const std::string& name : entry(at).nodes) RR_TRY(attach_node(at, name));
  }
  return {};
}

base::Status Builder::attach_switch(Index parent, const std::string& name) {
  const SwitchEntry& above = entry(parent);
  const auto found = switch_of_name_.find(name);
  if (found == switch_of_name_.end()) {
    std::vector<std::string> known;
    for (const SwitchEntry& each : description_.switches) known.push_back(each.name);
    return wrong(above.line, fmt::format("switch '{}' is not described{}; describe it, or remove "
                                         "it from the children of '{}'",
                                         printable(name), did_you_mean(name, known), above.name));
  }
  Index& before = parent_[found->second];
  if (before == parent) {
    return wrong(above.line, fmt::format("switch '{}' is named twice below '{}'; name it once",
                                         name, above.name));
  }
  if (before != kNone) {
    return wrong(above.line,
                 fmt::format("switch '{}' is below '{}' and '{}'{}; a tree is required: leave "
                             "out all but one",
                             name, above.name, entry(before).name, in_line(entry(before).line)));
  }
  before = parent;
  return {};
}

base::Status Builder::attach_node(Index parent, const std::string& name) {
  const SwitchEntry& above = entry(parent);
  if (!is_name(name)) {
    return wrong(above.line, fmt::format("'{}' is not a name for a node: expected 1 to {} "
                                         "characters without blanks",
                                         printable(name), kNameBytesMax));
  }
  const auto [place, fresh] =
      node_of_name_.emplace(name, static_cast<NodeIndex>(cluster_.nodes.size()));
  if (!fresh) {
    const SwitchEntry& before = entry(switch_of_node_[place->second]);
    if (&before == &above) {
      return wrong(above.line,
                   fmt::format("node '{}' is named twice below switch '{}'; name it once", name,
                               above.name));
    }
    return wrong(above.line, fmt::format("node '{}' is below switch '{}' and '{}'{}; leave out "
                                         "all but the nearest",
                                         name, above.name, before.name, in_line(before.line)));
  }
  if (cluster_.nodes.size() >= kNodesMax) {
    return wrong(above.line, fmt::format("more than {} nodes", kNodesMax), Errc::kLimit);
  }
  cluster_.nodes.emplace_back().name = name;
  switch_of_node_.push_back(parent);
  return {};
}

base::Status Builder::find_heights() {
  std::vector<std::size_t> left(parent_.size());
  std::vector<Index> known;
  for (Index at = 0; at < parent_.size(); ++at) {
    left[at] = entry(at).switches.size();
    if (left[at] == 0) known.push_back(at);
  }
  height_.assign(parent_.size(), 0);
  for (std::size_t next = 0; next < known.size(); ++next) {
    const Index parent = parent_[known[next]];
    if (height_[known[next]] >= kLevelsMax) {
      return wrong(entry(known[next]).line,
                   fmt::format("more than {} levels of switches", kLevelsMax), Errc::kLimit);
    }
    if (parent == kNone) continue;
    height_[parent] = std::max(height_[parent], height_[known[next]] + 1);
    if (--left[parent] == 0) known.push_back(parent);
  }
  if (known.size() == parent_.size()) return {};
  const auto stuck = std::ranges::find_if(left, [](std::size_t count) { return count != 0; });
  return cycle_at(static_cast<Index>(stuck - left.begin()));
}

// A switch on a cycle is its own ancestor: walks up from each switch until a visited one. Switches
// before `start` are on no cycle.
std::unexpected<base::Error> Builder::cycle_at(Index start) const {
  std::vector<Index> seen_from(parent_.size(), kNone);
  for (Index from = start; from < parent_.size(); ++from) {
    Index at = from;
    while (at != kNone && seen_from[at] == kNone) {
      seen_from[at] = from;
      at = parent_[at];
    }
    if (at == kNone || seen_from[at] != from) continue;
    std::string path = entry(at).name;
    std::size_t shown = 1;
    Index up = parent_[at];
    for (; up != at && shown < kShownInCycle; up = parent_[up], ++shown) {
      path += fmt::format(" is below {}, which", entry(up).name);
    }
    path +=
        fmt::format(" is below {}", up == at ? entry(at).name : "others, and finally below itself");
    return wrong(entry(at).line,
                 fmt::format("switches form a cycle: {}; remove one of them from the "
                             "children of another",
                             path));
  }
  RR_ASSERT(false);
}

base::Status Builder::name_levels() {
  const std::size_t levels = *std::ranges::max_element(height_) + 1;
  cluster_.levels.resize(levels);
  std::map<std::string_view, Index> first_of_name;
  std::vector<Index> first_of_level(levels, kNone);
  for (Index at = 0; at < height_.size(); ++at) {
    const SwitchEntry& one = entry(at);
    if (one.level.empty()) continue;
    if (!is_name(one.level)) {
      return wrong(one.line, fmt::format("'{}' is not a name for a level", printable(one.level)));
    }
    const SwitchEntry& same_name = entry(first_of_name.emplace(one.level, at).first->second);
    Index& first = first_of_level[height_[at]];
    if (first == kNone) first = at;
    if (entry(first).level != one.level) {
      return wrong(one.line, fmt::format("switch '{}' is on level '{}', and '{}'{}, of the same "
                                         "height, is on level '{}'; use one name",
                                         one.name, one.level, entry(first).name,
                                         in_line(entry(first).line), entry(first).level));
    }
    if (height_[switch_of_name_.at(same_name.name)] != height_[at]) {
      return wrong(one.line,
                   fmt::format("switches '{}' and '{}'{} are both on level '{}', but differ in the "
                               "number of levels below them",
                               one.name, same_name.name, in_line(same_name.line), one.level));
    }
    cluster_.levels[height_[at]].name = one.level;
  }
  for (std::size_t level = 0; level < levels; ++level) RR_TRY(name_level(level));
  return {};
}

// The default name of the height, unless the user has given it to another level.
base::Status Builder::name_level(std::size_t level) {
  const auto is_taken = [&](std::string_view name) {
    return std::ranges::any_of(cluster_.levels, [&](const Level& it) { return it.name == name; });
  };
  std::string& name = cluster_.levels[level].name;
  if (!name.empty()) return {};
  const std::string number = fmt::format("level{}", level + 1);
  const std::string usual = level < kLevelNames.size() ? std::string(kLevelNames[level]) : number;
  name = is_taken(usual) ? number : usual;
  if (std::ranges::count(cluster_.levels, name, &Level::name) == 1) return {};
  return wrong(0, fmt::format("'{}' is the name of another level; name all levels", name));
}

// A stand-in: a switch of the same name on `level`.
Index Builder::stand_in(std::size_t level, Index of) {
  auto& switches = cluster_.levels[level].switches;
  switches.push_back({entry(of).name, 0});
  return static_cast<Index>(switches.size() - 1);
}

base::Status Builder::make_levels() {
  std::vector<Index> place(height_.size());  // by switch: its index on its level
  for (Index at = 0; at < height_.size(); ++at) place[at] = stand_in(height_[at], at);
  std::vector<Index> nodes_on = place;  // by switch: the switch that its nodes are below
  std::vector<bool> has_nodes(height_.size(), false);
  for (const Index above : switch_of_node_) has_nodes[above] = true;
  for (Index at = 0; at < height_.size(); ++at) {
    Index below = place[at];
    std::size_t level = height_[at];
    const std::size_t end = parent_[at] == kNone ? cluster_.levels.size() : height_[parent_[at]];
    for (; level + 1 < end; ++level) {
      const Index above = stand_in(level + 1, at);
      cluster_.levels[level].switches[below].parent = above;
      below = above;
    }
    if (parent_[at] != kNone) {
      cluster_.levels[level].switches[below].parent = place[parent_[at]];
    }
    // Nodes directly below a switch that also has switches below it.
    for (level = height_[at]; has_nodes[at] && level > 0; --level) {
      const Index above = nodes_on[at];
      nodes_on[at] = stand_in(level - 1, at);
      cluster_.levels[level - 1].switches[nodes_on[at]].parent = above;
    }
  }
  std::size_t switches = 0;
  for (const Level& level : cluster_.levels) switches += level.switches.size();
  if (switches > kSwitchesMax) {
    return wrong(
        0, fmt::format("more than {} switches once all branches are equally deep", kSwitchesMax),
        Errc::kLimit);
  }
  for (const Index above : switch_of_node_) cluster_.leaf_of.push_back(nodes_on[above]);
  return {};
}

base::Status Builder::label_nodes() {
  std::vector<std::uint32_t> line_of(cluster_.nodes.size(), 0);
  std::vector<bool> labelled(cluster_.nodes.size(), false);
  for (const NodeEntry& one : description_.nodes) {
    const auto found = node_of_name_.find(one.name);
    if (found == node_of_name_.end()) {
      std::vector<std::string> known;
      for (const Node& each : cluster_.nodes) known.push_back(each.name);
      return wrong(one.line, fmt::format("node '{}' is below no switch{}; name it below one",
                                         printable(one.name), did_you_mean(one.name, known)));
    }
    if (labelled[found->second]) {
      return wrong(one.line, fmt::format("node '{}' is described twice{}; describe it once",
                                         one.name, in_line(line_of[found->second])));
    }
    labelled[found->second] = true;
    line_of[found->second] = one.line;
    for (const std::string* label : {&one.nvl_domain, &one.rack, &one.power}) {
      if (label->empty() || is_name(*label)) continue;
      return wrong(one.line, fmt::format("'{}' is not a label for node '{}': expected at most {} "
                                         "characters without blanks",
                                         printable(*label), one.name, kNameBytesMax));
    }
    if (one.slots > kRanksMax) {
      return wrong(one.line, fmt::format("node '{}' has more than {} slots", one.name, kRanksMax),
                   Errc::kLimit);
    }
    cluster_.nodes[found->second] = {one.name, one.slots, one.nvl_domain, one.rack, one.power};
  }
  return {};
}

base::Status Builder::label_levels() {
  for (const LevelEntry& one : description_.levels) {
    const auto level = std::ranges::find(cluster_.levels, one.name, &Level::name);
    if (level == cluster_.levels.end()) {
      std::vector<std::string> known;
      for (const Level& each : cluster_.levels) known.push_back(each.name);
      return wrong(one.line,
                   fmt::format("there is no level '{}'{}; expected one of {}", printable(one.name),
                               did_you_mean(one.name, known), base::join(known, ", ")));
    }
    if (!std::isfinite(one.gbps) || one.gbps <= 0 || level->gbps != 0) {
      return wrong(one.line,
                   fmt::format("level '{}' needs one bandwidth above 0, in Gbit/s", one.name));
    }
    level->gbps = one.gbps;
  }
  return {};
}

}  // namespace

base::Result<Cluster> build_cluster(const Description& description) {
  return Builder(description).build();
}

}  // namespace robustrun::topo
