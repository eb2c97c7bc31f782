#include "supervisor/core/report/time/costs.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>

#include "base/core/words.h"
#include "supervisor/core/report/facts.h"

namespace robustrun::supervisor {
namespace {

using base::Nanos;

struct CostSample {
  Nanos cost{};
  std::optional<base::NodeId> node;  // none: the group
  std::uint32_t attempt = 0;
};

// One attempt, as far as it has come.
struct AttemptCosts {
  std::map<base::NodeId, Nanos> processes;  // its last worker was started
  std::map<base::NodeId, Nanos> user_code, gone;
  std::optional<Nanos> ordered, failed, first_step;
  std::vector<std::pair<CostPhase, CostSample>> samples;
};

Nanos median_of(std::vector<CostSample>& samples) {
  std::ranges::stable_sort(samples, {}, &CostSample::cost);
  const std::size_t middle = samples.size() / 2;
  if (samples.size() % 2 == 1) return samples[middle].cost;
  const Nanos below = samples[middle - 1].cost;
  return below + (samples[middle].cost - below) / 2;
}

class CostBook {
 public:
  explicit CostBook(const Facts& facts) : facts_(facts) {}

  void take(Nanos at, const Event& event) {
    std::visit([&](const auto& body) { note(at, event, body); }, event.body);
  }

  void take(Nanos at, const Decision& decision) {
    const bool orders = decision.rule == Rule::kStart || decision.rule == Rule::kRestart;
    if (orders) ready_ = at;
    if (decision.rule == Rule::kStopTimeCheck) check_is_due_ = true;
    if (role_of(decision.rule) != RuleRole::kCause) return;
    AttemptCosts& attempt = attempts_[decision.attempt.value];
    if (!attempt.failed) attempt.failed = at;
  }

  std::vector<PhaseCost> costs() {
    std::map<std::pair<bool, CostPhase>, std::vector<CostSample>> sorted;
    for (auto& [number, attempt] : attempts_) {
      // The last stop of a run that ends is not part of any restart.
      const bool goes_on = attempts_.upper_bound(number) != attempts_.end();
      if (attempt.failed && goes_on) {
        for (const auto& [node, at] : attempt.gone) {
          sorted[{true, CostPhase::kStop}].push_back({elapsed(*attempt.failed, at), node, number});
        }
      }
      for (const auto& [node, at] : attempt.processes) {
        if (!attempt.ordered) break;
        sorted[{number > 0, CostPhase::kProcesses}].push_back(
            {elapsed(*attempt.ordered, at), node, number});
      }
      for (const auto& [phase, sample] : attempt.samples) {
        const bool is_restart =
            phase != CostPhase::kAgent && (number > 0 || phase == CostPhase::kRelaunch);
        sorted[{is_restart, phase}].push_back(sample);
      }
    }
    std::vector<PhaseCost> costs;
    for (auto& [key, samples] : sorted) {
      PhaseCost& cost = costs.emplace_back();
      cost.of = key.first ? StartKind::kRestart : StartKind::kStart;
      cost.phase = key.second;
      cost.samples = static_cast<std::uint32_t>(samples.size());
      cost.median = median_of(samples);
      const CostSample& most = samples.back();
      cost.max = most.cost;
      if (most.node) cost.slowest = node_name(facts_, *most.node);
      cost.attempt = most.attempt;
    }
    return costs;
  }

 private:
  template <class Body>
  void note(Nanos, const Event&, const Body&) {}

  void note(Nanos at, const Event& event, const AgentJoined&) {
    const auto lost = lost_at_.find(event.node);
    if (lost != lost_at_.end()) {
      add(CostPhase::kRelaunch, {elapsed(lost->second, at), event.node, newest_});
      lost_at_.erase(lost);
    } else if (!any_started_ && joined_.insert(event.node).second) {
      add(CostPhase::kAgent, {elapsed(facts_.first_at, at), event.node, newest_});
    }
    if (!reserved_) ready_ = at;
  }
  void note(Nanos at, const Event& event, const AgentLost&) {
    lost_at_.try_emplace(event.node, at);
  }
  void note(Nanos at, const Event&, const NodesChecked& body) {
    const std::uint32_t next = newest_ + (check_is_due_ ? 1 : 0);
    if (!any_started_ || check_is_due_) add(CostPhase::kCheck, {body.took, std::nullopt, next});
    check_is_due_ = false;
    ready_ = at;
  }
  void note(Nanos at, const Event&, const PlacementSolved&) { ready_ = at; }
  void note(Nanos at, const Event&, const TimerFired& body) {
    if (body.id == TimerId::kBackoff) ready_ = at;
  }
  void note(Nanos at, const Event&, const PortReserved&) {
    reserved_ = true;
    ready_ = at;
  }
  void note(Nanos at, const Event& event, const WorkerStarted& body) {
    any_started_ = true;
    AttemptCosts& attempt = at_work(body.attempt);
    if (!attempt.ordered) attempt.ordered = ready_;
    reserved_ = false;
    Nanos& last = attempt.processes[event.node];
    last = std::max(last, at);
  }
  void note(Nanos at, const Event& event, const WorkersGone& body) {
    at_work(body.attempt).gone.emplace(event.node, at);
  }
  void note(Nanos, const Event&, const Progress& body) {
    AttemptCosts& attempt = at_work(body.attempt);
    if (body.mark == Progress::Mark::kUserCode) {
      for (const NodeMark& mark : body.nodes) {
        const auto from = attempt.processes.find(mark.node);
        if (from == attempt.processes.end()) continue;
        attempt.user_code[mark.node] = std::max(from->second, mark.at);
        add(CostPhase::kInterpreter,
            {elapsed(from->second, mark.at), mark.node, body.attempt.value});
      }
    } else if (body.mark == Progress::Mark::kFirstStep) {
      attempt.first_step = body.reached_at;
      for (const NodeMark& mark : body.nodes) {
        const auto from = attempt.user_code.find(mark.node);
        if (from == attempt.user_code.end()) continue;
        add(CostPhase::kFirstStep, {elapsed(from->second, mark.at), mark.node, body.attempt.value});
      }
    } else if (body.mark == Progress::Mark::kCaughtUp && attempt.first_step) {
      add(CostPhase::kCatchUp,
          {elapsed(*attempt.first_step, body.reached_at), std::nullopt, body.attempt.value});
    }
  }

  AttemptCosts& at_work(base::Attempt attempt) {
    newest_ = std::max(newest_, attempt.value);
    return attempts_[attempt.value];
  }
  void add(CostPhase phase, CostSample sample) {
    attempts_[sample.attempt].samples.emplace_back(phase, sample);
  }

  const Facts& facts_;
  std::map<std::uint32_t, AttemptCosts> attempts_;
  std::uint32_t newest_ = 0;
  std::set<base::NodeId> joined_;
  std::map<base::NodeId, Nanos> lost_at_;
  Nanos ready_{};  // what the next attempt's workers were waiting for last
  bool reserved_ = false, any_started_ = false, check_is_due_ = false;
};

}  // namespace

std::vector<PhaseCost> phase_costs(const Facts& facts, const std::vector<JournalEntry>& entries) {
  CostBook book(facts);
  for (const JournalEntry& entry : entries) {
    if (const auto* event = std::get_if<Event>(&entry.what)) book.take(entry.at, *event);
    if (const auto* decision = std::get_if<Decision>(&entry.what)) book.take(entry.at, *decision);
    if (std::holds_alternative<Finish>(entry.what)) break;
  }
  return book.costs();
}

const char* to_string(StartKind kind) { return kind == StartKind::kStart ? "start" : "restart"; }

const char* to_string(CostPhase phase) {
  switch (phase) {
    case CostPhase::kAgent: return "agent";
    case CostPhase::kStop: return "stop";
    case CostPhase::kRelaunch: return "relaunch";
    case CostPhase::kCheck: return "check";
    case CostPhase::kProcesses: return "processes";
    case CostPhase::kInterpreter: return "interpreter";
    case CostPhase::kFirstStep: return "first step";
    case CostPhase::kCatchUp: return "catch up";
  }
  return "";
}

std::string cost_words(const std::vector<PhaseCost>& costs, StartKind of) {
  std::string text;
  for (const PhaseCost& cost : costs) {
    if (cost.of != of) continue;
    text += fmt::format("{}{} {}", text.empty() ? "" : "; ", to_string(cost.phase),
                        base::duration_words(cost.median));
    if (cost.samples == 1) continue;
    text += fmt::format(", at most {}", base::duration_words(cost.max));
    if (!cost.slowest.empty()) text += fmt::format(" ({})", cost.slowest);
  }
  return text;
}

}  // namespace robustrun::supervisor
