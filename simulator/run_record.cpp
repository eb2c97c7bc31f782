#include "simulator/run_record.h"

#include <algorithm>
#include <map>
#include <utility>
#include <variant>

#include "simulator/run_faults.h"
#include "supervisor/core/report/facts.h"
#include "supervisor/core/report/time/account.h"

namespace robustrun::simulator {
namespace {

namespace core = supervisor;
using core::elapsed;

// Waiting times of the next attempt's workers, in order.
std::vector<Nanos> readiness_of(const std::vector<core::JournalEntry>& entries) {
  std::vector<Nanos> moments;
  for (const core::JournalEntry& entry : entries) {
    const auto* event = std::get_if<core::Event>(&entry.what);
    if (event == nullptr) continue;
    const auto* timer = std::get_if<core::TimerFired>(&event->body);
    const bool counts = std::holds_alternative<core::NodesChecked>(event->body) ||
                        std::holds_alternative<core::NodesReplayed>(event->body) ||
                        std::holds_alternative<core::AgentJoined>(event->body) ||
                        (timer != nullptr && timer->id == core::TimerId::kBackoff);
    if (counts) moments.push_back(entry.at);
  }
  std::ranges::sort(moments);
  return moments;
}

// Times from the loss of an agent whose node answered to the hello of its successor.
std::vector<Nanos> relaunches_of(const std::vector<core::JournalEntry>& entries) {
  std::map<base::NodeId, Nanos> lost;
  std::vector<Nanos> times;
  for (const core::JournalEntry& entry : entries) {
    const auto* event = std::get_if<core::Event>(&entry.what);
    if (event == nullptr) continue;
    const auto* loss = std::get_if<core::AgentLost>(&event->body);
    if (loss != nullptr && loss->node_answers) lost[event->node] = entry.at;
    if (!std::holds_alternative<core::AgentJoined>(event->body)) continue;
    const auto since = lost.find(event->node);
    if (since == lost.end()) continue;
    times.push_back(elapsed(since->second, entry.at));
    lost.erase(since);
  }
  return times;
}

class RecordKeeper {
 public:
  RecordKeeper(RunRecord& record, const core::Facts& facts,
               const std::vector<core::JournalEntry>& entries)
      : record_(record),
        facts_(facts),
        moments_(core::attempt_moments(facts, entries)),
        ready_(readiness_of(entries)) {}

  void take_size() {
    const core::RunStarted* const run = facts_.run;
    const std::size_t known = run == nullptr ? 0 : run->spec.nodes.size();
    std::size_t nodes = known;
    if (run != nullptr && run->spec.group.max_nodes > 0) {
      nodes = std::min<std::size_t>(known, run->spec.group.max_nodes);
    }
    if (!facts_.groups.empty()) nodes = facts_.groups.front()->members.size();
    record_.nodes = static_cast<std::uint32_t>(nodes);
    record_.spares = static_cast<std::uint32_t>(known > nodes ? known - nodes : 0);
    record_.duration = elapsed(facts_.first_at, facts_.last_at);
    record_.node_days = in_seconds(record_.duration) * static_cast<double>(nodes) / 86400;
  }

  // Machines that leave or join the group count from then on.
  void take_exposure(const std::vector<core::JournalEntry>& entries) {
    double node_seconds = 0;
    double nodes = record_.nodes;
    Nanos since = facts_.first_at;
    for (const core::JournalEntry& entry : entries) {
      const auto* group = std::get_if<core::GroupFormed>(&entry.what);
      if (group == nullptr || entry.at > facts_.last_at) continue;
      node_seconds += nodes * in_seconds(elapsed(since, entry.at));
      since = std::max(since, entry.at);
      nodes = static_cast<double>(group->members.size());
    }
    node_seconds += nodes * in_seconds(elapsed(since, facts_.last_at));
    record_.node_days = node_seconds / 86400;
  }

  void take_times() {
    if (!moments_.empty() && moments_.begin()->second.work) {
      const auto& [number, first] = *moments_.begin();
      if (number == 0) add(Stage::kRunStart, elapsed(facts_.first_at, *first.work));
    }
    for (const SeenFault& fault : record_.faults) take_detection(fault);
    for (auto one = facts_.attempts.begin(); one != facts_.attempts.end(); ++one) {
      const auto next = std::next(one);
      if (next != facts_.attempts.end()) take_restart(one->first, one->second, *next);
    }
  }

  void take_paces() {
    for (const auto& [number, attempt] : facts_.attempts) {
      const Nanos end = moments_.at(number).began.value_or(facts_.last_at);
      std::optional<std::pair<std::uint64_t, Nanos>> last;
      for (const core::Progress* mark : attempt.progress) {
        if (mark->mark == core::Progress::Mark::kUserCode || mark->steps == 0) continue;
        // This reading was taken after the first step.
        const bool is_first = mark->mark == core::Progress::Mark::kFirstStep;
        const std::pair reached(is_first ? 1 : mark->steps, mark->reached_at);
        if (reached.second > end) break;
        if (last && reached.first > last->first && reached.second > last->second) {
          const std::uint64_t steps = reached.first - last->first;
          const Nanos::rep took = elapsed(last->second, reached.second).count();
          record_.paces.push_back({steps, Nanos(took / static_cast<Nanos::rep>(steps))});
        }
        if (!last || reached.second > last->second) last = reached;
      }
    }
  }

  void take_checkpoints() {
    std::map<std::uint32_t, std::pair<std::uint64_t, std::uint64_t>> last;  // count, step
    for (const auto& [at, noted] : facts_.checkpoints) {
      using What = core::CheckpointNoted::What;
      const std::uint32_t attempt = noted->attempt.value;
      if (noted->what == What::kLoaded) last.try_emplace(attempt, 0, noted->id.step);
      if (noted->what != What::kSaved || noted->count == 0) continue;
      // Without a load, attempt 0 begins at step 0.
      if (attempt == 0) last.try_emplace(attempt, 0, 0);
      const auto [before, is_new] = last.try_emplace(attempt, noted->count, noted->id.step);
      auto& [count, step] = before->second;
      if (noted->count > count && noted->id.step > step) {
        record_.checkpoint_steps.push_back((noted->id.step - step) / (noted->count - count));
      }
      before->second = {noted->count, noted->id.step};
    }
    std::erase(record_.checkpoint_steps, 0U);
    const auto report = core::checkpoint_report(facts_);
    if (report && report->saves > 0) record_.checkpoint_stall = report->blocking_median;
  }

 private:
  void add(Stage stage, Nanos time) { record_.of(stage).push_back(time); }

  void take_detection(const SeenFault& fault) {
    const auto found = moments_.find(fault.attempt);
    if (fault.kind == FaultKind::kSlow || !fault.in_training || found == moments_.end()) return;
    const auto& [work, began, known, acted] = found->second;
    if (!began || !known || !acted) return;
    const Nanos noticed = elapsed(*began, *known);
    const Nanos decided = elapsed(*began, *acted);
    if (fault.kind == FaultKind::kHang) {
      add(Stage::kHangSuspected, noticed);
      add(Stage::kHangConvicted, std::max(noticed, decided));
    } else if (fault.kind == FaultKind::kMachine) {
      add(Stage::kMachineDeath, noticed);
    } else if (fault.exited) {
      add(Stage::kWorkerDeath, noticed);
    }
    hung_[fault.attempt] = fault.kind == FaultKind::kHang;
  }

  // From the decision about an attempt that had trained to the first step of the next one.
  void take_restart(std::uint32_t number, const core::AttemptFacts& ended,
                    const std::pair<const std::uint32_t, core::AttemptFacts>& next) {
    const core::AttemptMoments& moments = moments_.at(number);
    if (ended.gone && moments.acted && moments.work) {
      const auto hung = hung_.find(number);
      const bool is_hung = hung != hung_.end() && hung->second;
      if (hung != hung_.end() && *ended.gone >= *moments.acted) {
        add(is_hung ? Stage::kStopHung : Stage::kStop, elapsed(*moments.acted, *ended.gone));
      }
    }
    const core::AttemptFacts& begun = next.second;
    if (!begun.started) return;
    if (ended.gone && *ended.gone <= *begun.started) {
      Nanos ready = *ended.gone;
      const auto after = std::ranges::upper_bound(ready_, *begun.started);
      if (after != ready_.begin()) ready = std::max(ready, *std::prev(after));
      add(Stage::kStart, elapsed(ready, *begun.started));
    }
    const auto& work = moments_.at(next.first).work;
    if (!work) return;
    const bool is_warm = !begun.warm.empty() && begun.warm.size() >= ranks_of(next.first);
    add(is_warm ? Stage::kScriptWarm : Stage::kScript, elapsed(*begun.started, *work));
  }

  // Number of ranks; 0: unknown.
  [[nodiscard]] std::size_t ranks_of(std::uint32_t attempt) const {
    std::size_t ranks = 0;
    for (const core::GroupFormed* group : facts_.groups) {
      if (group->attempt.value > attempt) break;
      ranks = 0;
      for (const core::GroupMember& member : group->members) ranks += member.slots;
    }
    return ranks;
  }

  RunRecord& record_;
  const core::Facts& facts_;
  const std::map<std::uint32_t, core::AttemptMoments> moments_;
  const std::vector<Nanos> ready_;
  std::map<std::uint32_t, bool> hung_;  // attempts that a fault ended, and whether it was a hang
};

Nanos spent_with(const core::TimeReport& time, core::Spent spent) {
  const auto found = std::ranges::find(time.shares, spent, &core::TimeShare::spent);
  return found == time.shares.end() ? Nanos{} : found->duration;
}

}  // namespace

const char* words_of(Stage stage) {
  switch (stage) {
    case Stage::kRunStart: return "start of a run, until the first step";
    case Stage::kWorkerDeath: return "a worker's death, until noticed";
    case Stage::kMachineDeath: return "an agent's last message, until the node was given up";
    case Stage::kHangSuspected: return "a hang, until suspected";
    case Stage::kHangConvicted: return "a hang, until confirmed";
    case Stage::kStop: return "stop of the workers";
    case Stage::kStopHung: return "stop of the workers after a hang";
    case Stage::kCheck: return "check of the nodes between two attempts";
    case Stage::kStart: return "start of the processes";
    case Stage::kScript: return "script, until the first step";
    case Stage::kScriptWarm: return "script of standby workers, until the first step";
    case Stage::kAgent: return "start of an agent";
    case Stage::kSlowFor: return "a slow machine, until it recovered";
    case Stage::kEnding: return "end of a run that was stopped";
  }
  return "unknown";
}

RunRecord record_of(std::string name, const std::vector<core::JournalEntry>& entries) {
  RunRecord record;
  record.name = std::move(name);
  const core::Facts facts = core::gather(entries);
  const core::RunReport report = core::build_report(entries);
  RecordKeeper keeper(record, facts, entries);
  keeper.take_size();
  keeper.take_exposure(entries);
  RunFaults seen = faults_of(facts, entries, core::attempt_moments(facts, entries));
  record.faults = std::move(seen.faults);
  record.by_user = seen.by_user;
  record.of(Stage::kSlowFor) = std::move(seen.slow_for);
  keeper.take_times();
  keeper.take_paces();
  keeper.take_checkpoints();
  record.of(Stage::kAgent) = relaunches_of(entries);
  for (const core::PhaseCost& cost : report.costs) {
    if (cost.of == core::StartKind::kRestart && cost.phase == core::CostPhase::kCheck) {
      record.of(Stage::kCheck).push_back(cost.median);
    }
    const bool is_start =
        cost.of == core::StartKind::kStart && cost.phase == core::CostPhase::kAgent;
    if (is_start && record.of(Stage::kAgent).empty()) {
      record.of(Stage::kAgent).push_back(cost.median);
    }
  }
  for (const core::Incident& incident : report.incidents) {
    if (!incident.steps_lost) continue;
    record.steps_again.push_back(static_cast<std::uint64_t>(*incident.steps_lost));
  }
  record.time = report.time;
  for (const core::Stretch& stretch : report.time.timeline) {
    record.stalls += stretch.spent == core::Spent::kStalled ? 1 : 0;
  }
  const bool was_stopped = report.outcome == core::RunOutcome::kStopped;
  if (was_stopped)
    record.of(Stage::kEnding).push_back(spent_with(record.time, core::Spent::kEnding));
  return record;
}

}  // namespace robustrun::simulator
