#include "supervisor/core/report/evictions.h"

#include <algorithm>
#include <ranges>

#include "supervisor/core/report/facts.h"

namespace robustrun::supervisor {
namespace {

// To the newest eviction of that node.
void note_return(std::vector<Eviction>& all, const std::string& node) {
  for (Eviction& eviction : std::views::reverse(all)) {
    if (std::ranges::find(eviction.nodes, node) == eviction.nodes.end()) continue;
    eviction.returned.push_back(node);
    return;
  }
}

}  // namespace

std::vector<Eviction> evictions(const Facts& facts, const std::vector<JournalEntry>& entries) {
  std::vector<Eviction> all;
  for (const JournalEntry& entry : entries) {
    if (std::holds_alternative<Finish>(entry.what)) break;
    const auto* decision = std::get_if<Decision>(&entry.what);
    if (decision == nullptr) continue;
    if (takes_out(decision->rule)) {
      Eviction eviction{elapsed(facts.first_at, entry.at), decision->text, {}, {}};
      for (const base::NodeId node : decision->nodes) {
        eviction.nodes.push_back(node_name(facts, node));
      }
      all.push_back(std::move(eviction));
    } else if (decision->rule == Rule::kNodeReturned) {
      for (const base::NodeId node : decision->nodes) note_return(all, node_name(facts, node));
    }
  }
  return all;
}

}  // namespace robustrun::supervisor
