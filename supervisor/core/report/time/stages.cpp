#include "supervisor/core/report/time/stages.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <utility>

#include "base/core/words.h"
#include "supervisor/core/report/facts.h"
#include "supervisor/core/report/time/costs.h"
#include "supervisor/core/types/limits.h"

namespace robustrun::supervisor {
namespace {

using base::Nanos;

// An unfinished stage is no news in a run that ends or fails this soon.
constexpr Nanos kUnfinishedShownFrom = std::chrono::seconds(30);

// One stage of one node at one start.
struct StageSample {
  Nanos took{};
  base::NodeId node;
  std::optional<base::Rank> rank;
  std::uint32_t attempt = 0;
};

struct StageSamples {
  std::map<std::uint32_t, std::vector<StageSample>> ended;  // by attempt
  std::vector<StageSample> unfinished;
};

// By whether the start is a restart, and by stage.
using StageTable = std::map<std::pair<bool, StageName>, StageSamples>;

bool by_time(const StageSample& one, const StageSample& other) { return one.took < other.took; }

// `sorted`: by time, not empty.
Nanos median_time(const std::vector<StageSample>& sorted) {
  const std::size_t middle = sorted.size() / 2;
  if (sorted.size() % 2 == 1) return sorted[middle].took;
  const Nanos below = sorted[middle - 1].took;
  return below + (sorted[middle].took - below) / 2;
}

StageNode stage_node(const Facts& facts, const StageSample& sample, Nanos over) {
  StageNode node{node_name(facts, sample.node), std::nullopt, sample.attempt, sample.took, over};
  if (sample.rank) node.rank = sample.rank->value;
  return node;
}

class StageBook {
 public:
  explicit StageBook(const Facts& facts) : facts_(facts) {}

  void take(const Event& event) {
    if (const auto* joined = std::get_if<AgentJoined>(&event.body)) take(event, *joined);
    if (const auto* told = std::get_if<StartStages>(&event.body)) {
      told_.insert_or_assign({told->attempt.value, event.node}, told);
      newest_ = std::max(newest_, told->attempt.value);
    }
    if (const auto* started = std::get_if<WorkerStarted>(&event.body)) {
      any_started_ = true;
      newest_ = std::max(newest_, started->attempt.value);
    }
  }

  std::vector<StageCost> costs() {
    for (const auto& [key, told] : told_) {
      for (const StageTime& time : told->stages) {
        if (static_cast<std::size_t>(time.stage) >= wire::kStageNames)
          continue;  // a newer supervisor's
        StageSamples& samples = table_[{key.first > 0, time.stage}];
        const StageSample sample{std::max(Nanos{}, time.took), key.second, time.slowest, key.first};
        if (time.end == Nanos{}) {
          samples.unfinished.push_back(sample);
        } else {
          samples.ended[key.first].push_back(sample);
        }
      }
    }
    std::vector<StageCost> costs;
    for (auto& [key, samples] : table_) costs.push_back(cost_of(key, samples));
    return costs;
  }

 private:
  // A node that comes back after a loss is part of a restart.
  void take(const Event& event, const AgentJoined& joined) {
    const auto add = [&](StageName stage, Nanos from, Nanos to) {
      table_[{any_started_, stage}].ended[newest_].push_back(
          {elapsed(from, to), event.node, std::nullopt, newest_});
    };
    if (joined.began == Nanos{}) return;
    if (joined.asked != Nanos{}) add(StageName::kAllocate, joined.asked, joined.began);
    add(StageName::kConnect, joined.began, event.at);
  }

  StageCost cost_of(const std::pair<bool, StageName>& key, StageSamples& samples) const {
    StageCost cost;
    cost.of = key.first ? StartKind::kRestart : StartKind::kStart;
    cost.stage = key.second;
    std::vector<StageSample> all, slow;
    std::map<std::uint32_t, Nanos> medians;
    for (auto& [attempt, ended] : samples.ended) {
      std::ranges::stable_sort(ended, by_time);
      const Nanos median = medians[attempt] = median_time(ended);
      for (const StageSample& sample : ended) {
        const bool is_slow = sample.took - median >= Nanos(kStragglerOverMin) &&
                             sample.took / kStragglerTenths >= median / 10;
        if (is_slow) slow.push_back(sample);
      }
      all.insert(all.end(), ended.begin(), ended.end());
    }
    if (!all.empty()) {
      std::ranges::stable_sort(all, by_time);
      const StageNode most = stage_node(facts_, all.back(), {});
      cost.samples = static_cast<std::uint32_t>(all.size());
      cost.median = median_time(all);
      cost.max = most.took;
      cost.slowest = most.node;
      cost.rank = most.rank;
      cost.attempt = most.attempt;
    }
    const auto longest_first = [](const StageSample& one, const StageSample& other) {
      return by_time(other, one);
    };
    std::ranges::stable_sort(slow, longest_first);
    std::ranges::stable_sort(samples.unfinished, longest_first);
    cost.unfinished = static_cast<std::uint32_t>(samples.unfinished.size());
    for (std::size_t i = 0; i < std::min(slow.size(), kStageNodesMax); ++i) {
      const Nanos over = slow[i].took - medians[slow[i].attempt];
      cost.stragglers.push_back(stage_node(facts_, slow[i], over));
    }
    for (std::size_t i = 0; i < std::min(samples.unfinished.size(), kStageNodesMax); ++i) {
      cost.unfinished_nodes.push_back(stage_node(facts_, samples.unfinished[i], {}));
    }
    return cost;
  }

  const Facts& facts_;
  StageTable table_;
  std::map<std::pair<std::uint32_t, base::NodeId>, const StartStages*> told_;  // the newest
  std::uint32_t newest_ = 0;
  bool any_started_ = false;
};

std::string where_words(const std::string& node, const std::optional<std::uint32_t>& rank) {
  return rank ? fmt::format("{}, rank {}", node, *rank) : node;
}

}  // namespace

const char* to_string(StageName stage) {
  switch (stage) {
    case StageName::kAllocate: return "allocate";
    case StageName::kConnect: return "connect";
    case StageName::kImage: return "image";
    case StageName::kEnvironment: return "environment";
    case StageName::kImports: return "imports";
    case StageName::kProcessGroup: return "process group";
    case StageName::kModel: return "model";
    case StageName::kLoad: return "load";
    case StageName::kFirstStep: return "first step";
  }
  return "unknown";
}

std::vector<StageCost> stage_costs(const Facts& facts, const std::vector<JournalEntry>& entries) {
  StageBook book(facts);
  for (const JournalEntry& entry : entries) {
    if (const auto* event = std::get_if<Event>(&entry.what)) book.take(*event);
    if (std::holds_alternative<Finish>(entry.what)) break;
  }
  return book.costs();
}

std::string stage_words(const std::vector<StageCost>& costs, StartKind of) {
  std::string text;
  for (const StageCost& cost : costs) {
    if (cost.of != of || cost.samples == 0) continue;
    text += fmt::format("{}{} {}", text.empty() ? "" : "; ", to_string(cost.stage),
                        base::duration_words(cost.median));
    if (cost.samples == 1) continue;
    text += fmt::format(", at most {} ({})", base::duration_words(cost.max),
                        where_words(cost.slowest, cost.rank));
  }
  return text;
}

std::vector<std::string> straggler_words(const std::vector<StageCost>& costs) {
  std::vector<std::string> lines;
  const auto attempt_words = [](const StageNode& node) {
    return node.attempt == 0 ? "" : fmt::format(" (attempt {})", node.attempt);
  };
  for (const StageCost& cost : costs) {
    for (const StageNode& node : cost.stragglers) {
      lines.push_back(fmt::format("{} on {}: {}, {} over the median{}", to_string(cost.stage),
                                  where_words(node.node, node.rank),
                                  base::duration_words(node.took), base::duration_words(node.over),
                                  attempt_words(node)));
    }
    if (cost.unfinished_nodes.empty()) continue;
    const StageNode& first = cost.unfinished_nodes.front();
    if (first.took < kUnfinishedShownFrom) continue;
    lines.push_back(fmt::format(
        "{} not finished on {} after {}{}{}", to_string(cost.stage),
        where_words(first.node, first.rank), base::duration_words(first.took),
        cost.unfinished == 1 ? "" : fmt::format(", nor on {} more", cost.unfinished - 1),
        attempt_words(first)));
  }
  return lines;
}

}  // namespace robustrun::supervisor
