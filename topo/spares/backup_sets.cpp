#include "topo/spares/backup_sets.h"

#include <algorithm>
#include <map>
#include <span>

namespace robustrun::topo {
namespace {

// Larger groups are less likely to be evicted as a whole.
std::optional<GroupKind> larger_of_dp_and_pp(const Shape& shape,
                                             const std::vector<GroupKind>& evictable) {
  std::optional<GroupKind> larger;
  std::uint32_t size = 0;
  for (const Family& family : shape.families) {
    const bool is_one = family.kind == GroupKind::kDp || family.kind == GroupKind::kPp;
    if (!is_one || family.size <= size) continue;
    if (std::ranges::find(evictable, family.kind) == evictable.end()) continue;
    larger = family.kind;
    size = family.size;
  }
  return larger;
}

}  // namespace

BackupSets::BackupSets(const BackupProblem& problem)
    : places_(static_cast<std::uint32_t>(problem.slots.size())) {
  add_physical(problem);
  add_groups(problem);
}

void BackupSets::add(Together kind, const std::vector<PlaceIndex>& members, std::string_view name) {
  if (members.size() < 2 || members.size() >= places_) return;
  const auto index = static_cast<std::size_t>(kind);
  if (!rows_[index]) rows_[index].emplace(places_);
  rows_[index]->join(members);
  std::string& names = names_[index];
  if (names.find(name) == std::string::npos) {
    if (!names.empty()) names += " or ";
    names += name;
  }
}

template <class KeyOf>
void BackupSets::add_by(Together kind, std::string_view name, KeyOf key_of) {
  using Key = decltype(key_of(PlaceIndex{}));
  std::map<Key, std::vector<PlaceIndex>> sets;
  for (PlaceIndex place = 0; place < places_; ++place) {
    const Key key = key_of(place);
    if (key != Key{}) sets[key].push_back(place);
  }
  for (const auto& [key, members] : sets) add(kind, members, name);
}

void BackupSets::add_physical(const BackupProblem& problem) {
  const Cluster& cluster = *problem.cluster;
  const auto by_node = switches_by_level(cluster);
  for (std::size_t level = 0; level < by_node.size(); ++level) {
    auto& here = switch_at_.emplace_back(places_);
    const auto count = static_cast<std::uint32_t>(cluster.levels[level].switches.size());
    for (PlaceIndex place = 0; place < places_; ++place) {
      const NodeIndex node = problem.nodes[place];
      here[place] = node == kNoNode ? count + place : by_node[level][node];
    }
  }
  const auto label = [&](std::string Node::* which) {
    return [&, which](PlaceIndex place) -> std::string_view {
      const NodeIndex node = problem.nodes[place];
      return node == kNoNode ? std::string_view() : std::string_view(cluster.nodes[node].*which);
    };
  };
  add_by(Together::kPower, "power supply", label(&Node::power));
  add_by(Together::kNvlDomain, "NVLink domain", label(&Node::nvl_domain));
  add_by(Together::kRack, "rack", label(&Node::rack));
  // NVLink domains may be their own level (nvl_domains.h). The number plus one: 0 means unknown.
  const bool has_domains = cluster.levels.front().name == "nvl" && cluster.levels.size() > 1;
  const auto& leaf_at = switch_at_[has_domains ? 1 : 0];
  add_by(Together::kRack, "leaf switch", [&](PlaceIndex place) {
    return problem.nodes[place] == kNoNode ? 0U : leaf_at[place] + 1;
  });
}

void BackupSets::add_groups(const BackupProblem& problem) {
  const auto shape = make_shape(problem.parallel, problem.slots);
  if (!shape) return;
  const auto larger = larger_of_dp_and_pp(*shape, problem.evictable);
  for (const Family& family : shape->families) {
    const auto& kinds = problem.evictable;
    if (std::ranges::find(kinds, family.kind) == kinds.end()) continue;
    const Together kind = family.kind == larger ? Together::kLargerGroup : Together::kOtherGroup;
    for (std::uint32_t i = 0; i < family.groups(); ++i) {
      const auto group = family.group(i);
      add(kind, std::vector<PlaceIndex>(group.begin(), group.end()), to_string(family.kind));
    }
  }
  find_closed_form(*shape);
}

// A machine holds a run of the fastest digits; the other digits are its position in the grid.
void BackupSets::find_closed_form(const Shape& shape) {
  const std::uint32_t slots = shape.slots.front();
  const auto is_other = [slots](std::uint32_t other) { return other != slots; };
  if (std::ranges::any_of(shape.slots, is_other)) return;
  const Parallel& parallel = shape.parallel;
  std::uint32_t stride = 1;  // in ranks
  std::vector<std::pair<std::uint32_t, std::uint32_t>> steps;  // in places: stride and size
  for (const GroupKind kind : parallel.order) {
    const bool is_dp = kind == GroupKind::kDp;
    const std::uint32_t size = is_dp                    ? parallel.dp
                               : kind == GroupKind::kPp ? parallel.pp
                               : kind == GroupKind::kTp ? parallel.tp
                               : kind == GroupKind::kCp ? parallel.cp
                                                        : 1;
    if (is_dp || kind == GroupKind::kPp) {
      if (stride % slots != 0 || size < 2) return;
      steps.emplace_back(stride / slots, size);
    }
    stride *= size;
  }
  closed_form_.resize(places_);
  for (PlaceIndex place = 0; place < places_; ++place) {
    PlaceIndex keeper = place;
    for (const auto& [step, size] : steps) {
      const std::uint32_t digit = place / step % size;
      keeper += (digit + 1 == size ? 0 : (digit + 1) * step);
      keeper -= digit * step;
    }
    closed_form_[place] = keeper;
  }
}

BitRows BackupSets::allowed(std::size_t first) const {
  BitRows all(places_);
  const std::uint64_t tail =
      places_ % 64 == 0 ? ~std::uint64_t{0} : (std::uint64_t{1} << (places_ % 64)) - 1;
  for (PlaceIndex place = 0; place < places_; ++place) {
    const auto row = all.row(place);
    for (std::size_t w = 0; w < row.size(); ++w) {
      std::uint64_t conflicts = 0;
      for (std::size_t kind = first; kind < kTogethers; ++kind) {
        if (rows_[kind]) conflicts |= rows_[kind]->row(place)[w];
      }
      row[w] = ~conflicts & (w + 1 == row.size() ? tail : ~std::uint64_t{0});
    }
    all.clear(place, place);
  }
  return all;
}

BitRows BackupSets::near(const BitRows& allowed, std::size_t level) const {
  BitRows together(places_);
  std::map<std::uint32_t, std::vector<PlaceIndex>> below;
  for (PlaceIndex place = 0; place < places_; ++place) {
    below[switch_at_[level][place]].push_back(place);
  }
  for (const auto& [one, members] : below) together.join(members);
  for (PlaceIndex place = 0; place < places_; ++place) {
    const auto row = together.row(place);
    const auto may = allowed.row(place);
    for (std::size_t w = 0; w < row.size(); ++w) row[w] &= may[w];
  }
  return together;
}

}  // namespace robustrun::topo
