#include "supervisor/watch/group_wait_fold.h"

#include <algorithm>
#include <string>
#include <utility>

#include "supervisor/core/types/stage_events.h"

namespace robustrun::supervisor {
namespace {

constexpr const char* kNotStarted = "not started";
constexpr const char* kEnded = "ended";

// A newer agent's stage has no name here.
bool is_known(StageName stage) { return static_cast<std::size_t>(stage) < wire::kStageNames; }

}  // namespace

bool waits_in_group(const wire::RankStage& rank) {
  return rank.stage == StageName::kProcessGroup && !rank.is_over;
}

base::Nanos GroupWaitFold::since(base::Nanos at) const {
  return std::max(base::Nanos{}, now_ - at);
}

void GroupWaitFold::take(const NodeStatus& node, const wire::StageNews& news) {
  if (!node.node_rank) return;
  const bool is_old = news.attempt != attempt_;
  // An agent of an earlier build tells nothing of its ranks.
  if (!is_old && news.rank && news.ranks.empty()) return;
  for (std::uint32_t local = 0; local < node.workers; ++local) {
    const bool is_told = !is_old && local < news.ranks.size();
    const wire::RankStage rank = is_told ? news.ranks[local] : wire::RankStage{};
    if (waits_in_group(rank)) {
      ++wait_.waiting;
      wait_.lasting = std::max(wait_.lasting, since(rank.since));
    }
    if (rank.called_group) continue;
    ++wait_.missing;
    // The nodes need not come in the order of their ranks.
    MissingRank one{node.first_rank + local, {}, {}, {}};
    const auto place = std::ranges::upper_bound(wait_.ranks, one.rank, {}, &MissingRank::rank);
    if (wait_.ranks.size() == kMissingKept && place == wait_.ranks.end()) continue;
    wait_.ranks.insert(place, missing(node, local, news));
    if (wait_.ranks.size() > kMissingKept) wait_.ranks.pop_back();
  }
}

MissingRank GroupWaitFold::missing(const NodeStatus& node, std::uint32_t local,
                                   const wire::StageNews& news) const {
  MissingRank one{node.first_rank + local, node.name, kNotStarted, {}};
  if (local < node.ranks.size() && node.ranks[local].state == WorkerStage::kSucceeded) {
    one.stage = kEnded;
    return one;
  }
  if (news.attempt == attempt_ && local < news.ranks.size() && news.ranks[local].stage) {
    const wire::RankStage& rank = news.ranks[local];
    if (!is_known(*rank.stage)) return one;
    one.stage = std::string(to_string(*rank.stage)) + (rank.is_over ? " done" : "");
    one.stage_took = since(rank.since);
  } else if (news.stage && !news.rank && is_known(*news.stage)) {
    one.stage = to_string(*news.stage);
    one.stage_took = since(news.since);
  }
  return one;
}

std::optional<GroupWait> GroupWaitFold::result() {
  if (wait_.waiting == 0 || wait_.missing == 0) return std::nullopt;
  return std::exchange(wait_, {});
}

}  // namespace robustrun::supervisor
