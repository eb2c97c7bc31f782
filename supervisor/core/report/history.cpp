#include "supervisor/core/report/history.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>

#include "supervisor/core/report/facts.h"
#include "supervisor/core/types/journal_entry.h"

namespace robustrun::supervisor {
namespace {

using base::Nanos;

// A rate over less is noise: the first step's reading and a failure's may be milliseconds apart.
constexpr Nanos kRateOverMin = std::chrono::milliseconds(100);
// Metrics beyond are left out.
constexpr std::size_t kMetricsMax = 32;

class Historian {
 public:
  explicit Historian(const Facts& facts) : facts_(facts) {
    out_.duration = elapsed(facts.first_at, facts.last_at);
    for (std::size_t i = 0; i < facts.node_names.size(); ++i) {
      node(base::NodeId{static_cast<std::uint32_t>(i)});
    }
    if (facts.run != nullptr) take_spec(facts.run->spec);
  }

  void take(Nanos /*at*/, const Event& event) {
    std::visit(
        [&](const auto& body) {
          if constexpr (requires { body.attempt; }) see_attempt(body.attempt, event.at);
          take(event, body);
        },
        event.body);
  }

  void take(Nanos at, const GroupFormed& group) {
    see_attempt(group.attempt, at);
    group_ = &group;
    for (const GroupMember& member : group.members) {
      NodePart& own = part(member.node, group.attempt);
      own.first_rank = member.first_rank;
      own.ranks = member.slots;
    }
  }

  void take(Nanos, const Decision& decision) {
    for (const base::NodeId id : decision.nodes) {
      if (takes_out(decision.rule)) evicted_.insert(id);
      if (decision.rule == Rule::kNodeReturned) evicted_.erase(id);
    }
  }

  void take(Nanos, const Finish&) {}

  RunHistory finish() {
    end_attempts();
    take_stages();
    take_readings();
    name_roles();
    name_keepers();
    for (const auto& [number, attempt] : facts_.attempts) {
      if (attempt.failures.empty()) continue;
      ++node(attempt.failures.front().node).failures;
    }
    return std::move(out_);
  }

 private:
  [[nodiscard]] Nanos since_start(Nanos at) const {
    return std::min(elapsed(facts_.first_at, at), out_.duration);
  }

  // Ids beyond the run's nodes come only from damaged journals.
  NodeTimeline& node(base::NodeId id) {
    if (id.value >= facts_.node_names.size()) return stray_;
    if (id.value >= out_.nodes.size()) {
      out_.nodes.resize(id.value + 1);
      out_.nodes[id.value].name = node_name(facts_, id);
    }
    return out_.nodes[id.value];
  }

  NodePart& part(base::NodeId id, base::Attempt attempt) {
    std::vector<NodePart>& parts = node(id).parts;
    const auto place = std::ranges::lower_bound(parts, attempt.value, {}, &NodePart::attempt);
    if (place != parts.end() && place->attempt == attempt.value) return *place;
    NodePart fresh;
    fresh.attempt = attempt.value;
    return *parts.insert(place, std::move(fresh));
  }

  void see_attempt(base::Attempt attempt, Nanos at) {
    const auto [seen, is_new] = attempts_.try_emplace(attempt.value);
    if (is_new) seen->second = {attempt.value, since_start(at), {}};
  }

  void take_spec(const JobSpec& spec) {
    for (std::size_t i = 0; i < spec.nodes.size() && i < out_.nodes.size(); ++i) {
      out_.nodes[i].offender = spec.nodes[i].is_offender;
    }
  }

  template <class Body>
  void take(const Event&, const Body&) {}

  void take(const Event& event, const AgentJoined& body) {
    NodeTimeline& own = node(event.node);
    lost_.erase(event.node);
    if (body.began == Nanos{}) return;
    const Nanos began = since_start(body.began);
    if (body.asked != Nanos{}) {
      own.joins.push_back({StageName::kAllocate, since_start(body.asked), began, true, {}});
    }
    own.joins.push_back({StageName::kConnect, began, since_start(event.at), true, {}});
  }
  void take(const Event& event, const AgentLost& body) {
    node(event.node).losses.push_back({since_start(event.at), body.why});
    lost_.insert(event.node);
  }
  void take(const Event& event, const WorkerStarted& body) {
    NodePart& own = part(event.node, body.attempt);
    own.started = std::max(own.started.value_or(Nanos{}), since_start(event.at));
    take_rank(own, body.rank);
  }
  void take(const Event& event, const WorkersGone& body) {
    part(event.node, body.attempt).gone = since_start(event.at);
  }
  void take(const Event& event, const StartStages& body) {
    told_[{body.attempt.value, event.node}] = {&body, event.at};
  }
  void take(const Event& event, const Progress& body) {
    for (const NodeMark& mark : body.nodes) {
      NodePart& own = part(mark.node, body.attempt);
      if (body.mark == Progress::Mark::kUserCode) own.script = since_start(mark.at);
      if (body.mark == Progress::Mark::kFirstStep) own.first_step = since_start(mark.at);
    }
    if (body.steps > 0 || !body.metric_names.empty()) progress_.emplace_back(event.at, &body);
  }
  void take(const Event& event, const NodeHealth& body) {
    node(event.node)
        .health.push_back({since_start(event.at), body.source, body.subject, body.line, body.over});
  }
  void take(const Event& event, const CheckpointNoted& body) {
    using Mark = CheckpointMark::What;
    const Mark what = body.what == CheckpointNoted::What::kSaved       ? Mark::kSaved
                      : body.what == CheckpointNoted::What::kCommitted ? Mark::kCommitted
                                                                       : Mark::kLoaded;
    out_.checkpoints.push_back(
        {since_start(event.at), what, body.attempt.value, body.id.step, body.source, body.ranks});
  }
  void take(const Event& event, const CopiesKept& body) { node(event.node).copies = body.copies; }
  void take(const Event&, const BackupSolved& body) { keepers_ = &body; }

  // Where no group was formed, the ranks are those that were started.
  static void take_rank(NodePart& own, base::Rank rank) {
    if (own.ranks == 0) {
      own.first_rank = rank.value;
      own.ranks = 1;
      return;
    }
    const bool is_before = rank.value < own.first_rank;
    if (is_before && own.first_rank - rank.value == 1) {
      own.first_rank = rank.value;
      ++own.ranks;
    } else if (!is_before && rank.value - own.first_rank == own.ranks) {
      ++own.ranks;
    }
  }

  void end_attempts() {
    for (auto& [number, span] : attempts_) {
      const auto next = attempts_.upper_bound(number);
      const Nanos latest = next == attempts_.end() ? out_.duration : next->second.from;
      const auto known = facts_.attempts.find(number);
      span.to = latest;
      if (known != facts_.attempts.end() && known->second.gone) {
        span.to =
            std::clamp(since_start(*known->second.gone), span.from, std::max(span.from, latest));
      }
      out_.attempts.push_back(span);
    }
  }

  void take_stages() {
    for (const auto& [key, told] : told_) {
      NodePart& own = part(key.second, base::Attempt{key.first});
      const Nanos told_at = since_start(told.at);
      for (const StageTime& time : told.stages->stages) {
        if (static_cast<std::size_t>(time.stage) >= wire::kStageNames) continue;  // a newer one
        StageSpan span{time.stage, since_start(time.begin), told_at, time.end != Nanos{}, {}};
        if (span.finished) span.to = since_start(time.end);
        span.to = std::max(span.from, span.to);
        if (time.slowest) span.slowest = time.slowest->value;
        own.stages.push_back(span);
      }
    }
  }

  void take_readings() {
    std::map<std::string, std::size_t> index;
    for (const auto& [at, progress] : progress_) {
      for (const std::string& name : progress->metric_names) {
        if (index.size() < kMetricsMax) index.try_emplace(name, index.size());
      }
    }
    for (const auto& [name, place] : index) out_.metrics.push_back(name);
    std::ranges::stable_partition(out_.metrics,
                                  [](const std::string& name) { return name.contains("loss"); });
    for (std::size_t i = 0; i < out_.metrics.size(); ++i) index[out_.metrics[i]] = i;
    const Reading* before = nullptr;
    out_.readings.reserve(progress_.size());
    for (const auto& [at, progress] : progress_) {
      Reading& reading = out_.readings.emplace_back();
      reading.at = since_start(std::min(at, progress->reached_at));
      if (before != nullptr) reading.at = std::max(reading.at, before->at);
      reading.attempt = progress->attempt.value;
      reading.steps = progress->steps;
      reading.step = progress->step;
      reading.values.assign(out_.metrics.size(), std::numeric_limits<double>::quiet_NaN());
      const auto& names = progress->metric_names;
      for (std::size_t i = 0; i < names.size() && i < progress->metric_values.size(); ++i) {
        const auto place = index.find(names[i]);
        if (place != index.end()) reading.values[place->second] = progress->metric_values[i];
      }
      if (before != nullptr && before->attempt == reading.attempt &&
          reading.steps > before->steps && reading.at - before->at >= kRateOverMin) {
        reading.rate = static_cast<double>(reading.steps - before->steps) /
                       std::chrono::duration<double>(reading.at - before->at).count();
      }
      before = &reading;
    }
  }

  void name_roles() {
    for (std::size_t i = 0; i < out_.nodes.size(); ++i) {
      const base::NodeId id{static_cast<std::uint32_t>(i)};
      NodeTimeline& own = out_.nodes[i];
      bool is_member = group_ == nullptr && !own.parts.empty();
      if (is_member) {
        own.first_rank = own.parts.back().first_rank;
        own.ranks = own.parts.back().ranks;
      }
      if (group_ != nullptr) {
        for (const GroupMember& member : group_->members) {
          if (member.node != id) continue;
          is_member = true;
          own.first_rank = member.first_rank;
          own.ranks = member.slots;
        }
      }
      const bool is_spare =
          group_ != nullptr && std::ranges::find(group_->spares, own.name) != group_->spares.end();
      own.role = evicted_.contains(id) ? NodeRole::kEvicted
                 : is_member           ? NodeRole::kMember
                 : lost_.contains(id)  ? NodeRole::kLost
                 : is_spare            ? NodeRole::kSpare
                                       : NodeRole::kOutside;
    }
  }

  void name_keepers() {
    if (keepers_ == nullptr || group_ == nullptr) return;
    const auto& members = group_->members;
    if (keepers_->keepers.size() != members.size()) return;
    for (std::size_t i = 0; i < members.size(); ++i) {
      const std::uint32_t keeper = keepers_->keepers[i];
      if (keeper < members.size()) node(members[i].node).keeper = members[keeper].name;
    }
  }

  struct Told {
    const StartStages* stages = nullptr;
    Nanos at{};
  };

  const Facts& facts_;
  RunHistory out_;
  NodeTimeline stray_;
  const GroupFormed* group_ = nullptr;
  const BackupSolved* keepers_ = nullptr;
  std::set<base::NodeId> evicted_, lost_;
  std::map<std::uint32_t, AttemptSpan> attempts_;
  std::map<std::pair<std::uint32_t, base::NodeId>, Told> told_;
  std::vector<std::pair<Nanos, const Progress*>> progress_;
};

}  // namespace

const char* to_string(NodeRole role) {
  switch (role) {
    case NodeRole::kMember: return "in the group";
    case NodeRole::kSpare: return "spare";
    case NodeRole::kEvicted: return "evicted";
    case NodeRole::kLost: return "lost";
    case NodeRole::kOutside: return "unused";
  }
  return "unused";
}

const char* to_string(CheckpointMark::What what) {
  switch (what) {
    case CheckpointMark::What::kSaved: return "saved";
    case CheckpointMark::What::kCommitted: return "committed";
    case CheckpointMark::What::kLoaded: return "loaded";
  }
  return "saved";
}

RunHistory run_history(const Facts& facts, const std::vector<JournalEntry>& entries) {
  Historian historian(facts);
  for (const JournalEntry& entry : entries) {
    std::visit([&](const auto& what) { historian.take(entry.at, what); }, entry.what);
    if (std::holds_alternative<Finish>(entry.what)) break;
  }
  return historian.finish();
}

}  // namespace robustrun::supervisor
