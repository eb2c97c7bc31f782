#include "topo/spares/backup.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/core/text.h"
#include "topo/limits.h"
#include "topo/solve/matching.h"
#include "topo/spares/backup_sets.h"

namespace robustrun::topo {
namespace {

bool has_any(std::span<const std::uint64_t> row) {
  return std::ranges::any_of(row, [](std::uint64_t word) { return word != 0; });
}

// The closed form, if it puts no place in conflict, and none farther away than necessary.
bool take_closed_form(const BackupSets& sets, const BitRows& allowed, Matching& matching) {
  const std::vector<PlaceIndex>& keepers = sets.closed_form();
  if (keepers.empty()) return false;
  for (PlaceIndex place = 0; place < keepers.size(); ++place) {
    if (!allowed.test(place, keepers[place])) return false;
  }
  for (std::size_t level = 0; level < sets.levels(); ++level) {
    const BitRows near = sets.near(allowed, level);
    bool goes_farther = false;
    bool must_go_farther = false;
    for (PlaceIndex place = 0; place < keepers.size(); ++place) {
      goes_farther = goes_farther || !near.test(place, keepers[place]);
      must_go_farther = must_go_farther || !has_any(near.row(place));
    }
    if (goes_farther && !must_go_farther) return false;
    if (!goes_farther) break;
  }
  for (PlaceIndex place = 0; place < keepers.size(); ++place) {
    matching.join(place, keepers[place]);
  }
  return true;
}

// Former keepers without conflict, each once.
void take_former(const std::vector<PlaceIndex>& former, const BitRows& allowed,
                 Matching& matching) {
  const auto count = matching.right_of.size();
  for (PlaceIndex place = 0; place < std::min(former.size(), count); ++place) {
    const PlaceIndex keeper = former[place];
    if (keeper >= count || matching.left_of[keeper] != kUnmatched) continue;
    if (allowed.test(place, keeper)) matching.join(place, keeper);
  }
}

void match(const BackupSets& sets, const BackupProblem& problem, Backup& backup,
           Matching& matching) {
  for (std::size_t first = 0; first <= kTogethers; ++first) {
    const BitRows allowed = sets.allowed(first);
    if (first == 0) take_former(problem.former, allowed, matching);
    if (first == 0 && problem.former.empty() && take_closed_form(sets, allowed, matching)) {
      backup.is_closed_form = true;
      return;
    }
    for (std::size_t level = 0; level < sets.levels() && !matching.is_complete(); ++level) {
      enlarge(matching, sets.near(allowed, level));
    }
    if (!matching.is_complete()) enlarge(matching, allowed);
    if (matching.is_complete()) return;
  }
}

// "no pp or dp group, no rack and no leaf switch": the kinds that no pair shares.
std::string avoided_in_words(const BackupSets& sets, const Backup& backup) {
  std::string groups;
  std::vector<std::string> kinds;
  for (std::size_t i = kTogethers; i-- > 0;) {
    const auto kind = static_cast<Together>(i);
    const std::string& name = sets.name(kind);
    if (name.empty() || backup.shared[i] > 0) continue;
    const bool is_group = kind == Together::kOtherGroup || kind == Together::kLargerGroup;
    if (is_group) {
      groups += (groups.empty() ? "" : " or ") + name;
    } else {
      kinds.push_back("no " + name);
    }
  }
  if (!groups.empty()) kinds.insert(kinds.begin(), "no " + groups + " group");
  if (kinds.size() < 2) return base::join(kinds, "");
  const std::string last = std::exchange(kinds.back(), {});
  kinds.pop_back();
  return base::join(kinds, ", ") + " and " + last;
}

std::string in_words(const BackupSets& sets, const Backup& backup) {
  const std::string avoided = avoided_in_words(sets, backup);
  std::string words = avoided.empty() ? "another node"
                                      : fmt::format("another node that shares {} with it", avoided);
  for (std::size_t i = 0; i < kTogethers; ++i) {
    if (backup.shared[i] == 0) continue;
    const auto kind = static_cast<Together>(i);
    const bool is_group = kind == Together::kOtherGroup || kind == Together::kLargerGroup;
    words += fmt::format("; {} of {} inevitably share a {}{} with theirs", backup.shared[i],
                         sets.places(), sets.name(kind), is_group ? " group" : "");
  }
  return words;
}

}  // namespace

bool Backup::is_relaxed() const {
  return std::ranges::any_of(shared, [](std::uint32_t count) { return count > 0; });
}

Backup choose_keepers(const BackupProblem& problem) {
  RR_ASSERT(problem.cluster != nullptr && problem.nodes.size() == problem.slots.size());
  Backup backup;
  const std::size_t places = problem.slots.size();
  if (places < 2 || places > kBackupPlacesMax) {
    backup.how = places < 2 ? "there is no other node"
                            : fmt::format("there are more than {} nodes", kBackupPlacesMax);
    return backup;
  }
  const BackupSets sets(problem);
  Matching matching(places);
  match(sets, problem, backup, matching);
  RR_ASSERT(matching.is_complete());  // without conflicts a ring is always possible
  backup.keeper = std::move(matching.right_of);
  for (PlaceIndex place = 0; place < places; ++place) {
    for (std::size_t i = 0; i < kTogethers; ++i) {
      if (sets.share(static_cast<Together>(i), place, backup.keeper[place])) ++backup.shared[i];
    }
  }
  backup.how = in_words(sets, backup);
  return backup;
}

}  // namespace robustrun::topo
