#include "supervisor/core/status/changes.h"

#include <algorithm>
#include <utility>

#include "supervisor/core/status/steps_behind.h"
#include "supervisor/core/types/limits.h"

namespace robustrun::supervisor {
namespace {

base::Nanos whole_seconds(base::Nanos time) {
  return std::chrono::duration_cast<std::chrono::seconds>(time);
}

NodeNews news_of(NodeStatus status, std::uint32_t index, const StepsBehind& steps) {
  NodeNews news;
  news.index = index;
  for (const RankStatus& rank : status.ranks) {
    const std::uint64_t behind = steps.is_behind(rank.steps) ? steps.median() - rank.steps : 0;
    news.ranks.push_back({rank.state, rank.pid, behind});
  }
  news.node = std::move(status);
  news.node.ranks.clear();
  news.node.stage_took = whole_seconds(news.node.stage_took);
  if (base::Nanos* const heard = news.node.heard ? &*news.node.heard : nullptr) {
    *heard = *heard < kNodeSilence ? base::Nanos{} : whole_seconds(*heard);
  }
  return news;
}

}  // namespace

void StatusChanges::take(RunStatus status) {
  ++version_;
  const StepsBehind steps(status);
  median_ = steps.median();
  nodes_.resize(status.nodes.size());
  for (std::uint32_t i = 0; i < nodes_.size(); ++i) {
    Node& node = nodes_[i];
    node.ranks = status.nodes[i].ranks;
    NodeNews news = news_of(std::move(status.nodes[i]), i, steps);
    if (node.changed_at != 0 && node.news == news) continue;
    node.news = std::move(news);
    node.changed_at = version_;
  }
  status.nodes.clear();
  run_ = std::move(status);
}

StatusNews StatusChanges::since(std::uint64_t version, std::optional<std::uint32_t> rank) const {
  StatusNews news;
  news.version = version_;
  news.nodes = static_cast<std::uint32_t>(nodes_.size());
  news.median = median_;
  news.run = run_;
  for (const Node& node : nodes_) {
    if (node.changed_at > version) news.changed.push_back(node.news);
    const std::uint32_t first = node.news.node.first_rank;
    if (rank && *rank >= first && *rank - first < node.ranks.size()) {
      news.chosen = node.ranks[*rank - first];
    }
  }
  return news;
}

void StatusMirror::take(StatusNews news, std::optional<std::uint32_t> rank) {
  const std::size_t count = std::min<std::size_t>(news.nodes, kNodesMax);
  std::vector<NodeStatus> nodes = std::move(status_.nodes);
  status_ = std::move(news.run);
  nodes.resize(count);
  behind_.resize(count);
  for (NodeNews& each : news.changed) {
    if (each.index >= count) continue;
    NodeStatus& node = nodes[each.index];
    node = std::move(each.node);
    node.ranks.clear();
    behind_[each.index].clear();
    for (const RankNews& one : each.ranks) {
      node.ranks.push_back({one.state, one.pid, 0, std::nullopt});
      behind_[each.index].push_back(one.behind);
    }
  }
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t local = 0; local < behind_[i].size(); ++local) {
      RankStatus& one = nodes[i].ranks[local];
      one.steps = news.median - std::min(news.median, behind_[i][local]);
      one.step.reset();
      if (news.chosen && rank && nodes[i].first_rank + local == *rank) one = *news.chosen;
    }
  }
  status_.nodes = std::move(nodes);
  version_ = news.version;
}

}  // namespace robustrun::supervisor
