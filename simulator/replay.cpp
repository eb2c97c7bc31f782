#include "simulator/replay.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <utility>
#include <variant>

namespace robustrun::simulator {
namespace {

namespace core = supervisor;
using core::Spent;

const core::JobSpec* spec_of(const std::vector<core::JournalEntry>& entries) {
  for (const core::JournalEntry& entry : entries) {
    const auto* event = std::get_if<core::Event>(&entry.what);
    const auto* run = event == nullptr ? nullptr : std::get_if<core::RunStarted>(&event->body);
    if (run != nullptr) return &run->spec;
  }
  return nullptr;
}

Nanos share_of(const core::TimeReport& time, Spent spent) {
  const auto found = std::ranges::find(time.shares, spent, &core::TimeShare::spent);
  return found == time.shares.end() ? Nanos{} : found->duration;
}

// In time since the first step of the simulated run. Each strikes whoever has the place then.
std::vector<TracedFault> trace_of(const RunRecord& record, Nanos start, Nanos end) {
  std::vector<TracedFault> trace;
  for (const SeenFault& seen : record.faults) {
    if (!seen.in_training || seen.at < start || seen.at >= end) continue;
    TracedFault& fault = trace.emplace_back();
    fault.at = seen.at - start;
    fault.machine = seen.place;
    fault.is_place = true;
    fault.kind = seen.kind;
    fault.node_answers = seen.node_answers;
    fault.slows = std::max(1.0, seen.slows);
    // A device that failed stays broken; an agent that died alone is there again at once.
    fault.stays = seen.kind == FaultKind::kGpu;
    fault.lasts = record.duration;
    if (seen.node_answers) fault.lasts = {};
    if (seen.kind == FaultKind::kSlow && seen.lasts > Nanos{}) fault.lasts = seen.lasts;
    if (!seen.exited) continue;
    // What it was taken for, and whether a machine is evicted for it, the core says itself.
    fault.exited = &*seen.exited;
    fault.kind = FaultKind::kPassing;
    fault.stays = false;
  }
  return trace;
}

std::array<Nanos, core::kSpentKinds> spent_in(const Account& account, Nanos start, Nanos ending) {
  std::array<Nanos, core::kSpentKinds> spent{};
  const auto at = [&spent](Spent what) -> Nanos& { return spent[static_cast<std::size_t>(what)]; };
  at(Spent::kStarting) = start;
  // The report counts the stall of a checkpoint as training.
  at(Spent::kProductive) = account.at(Phase::kProductive) + account.at(Phase::kCheckpoint);
  at(Spent::kDetecting) = account.at(Phase::kDetect);
  at(Spent::kLocalizing) = account.at(Phase::kCulprit);
  at(Spent::kRestarting) = account.at(Phase::kReplace) + account.at(Phase::kWaiting) +
                           account.at(Phase::kRestart) + account.at(Phase::kLoad) +
                           account.at(Phase::kResidual);
  at(Spent::kRecomputing) = account.at(Phase::kLost);
  at(Spent::kEnding) = ending;
  return spent;
}

std::unexpected<base::Error> too_little(const std::string& run, const char* why) {
  return base::fail(base::Errc::kInvalidArgument,
                    fmt::format("cannot play the run {} again: {}", run, why));
}

}  // namespace

base::Result<Replay> replay_run(const ReplayRequest& request) {
  RR_ASSERT(request.run != nullptr);
  const core::JobSpec* const spec = spec_of(*request.run);
  const RunRecord record = record_of(request.name, *request.run);
  const bool trained = share_of(record.time, Spent::kProductive) > Nanos{};
  if (spec == nullptr) return too_little(request.name, "its journal does not tell how it began");
  if (!trained || record.nodes == 0) return too_little(request.name, "it never trained");

  Replay replay;
  const SeenTime& seen_start = request.site.of(Stage::kRunStart);
  replay.start_is_copied = seen_start.samples == 0;
  const Nanos real_start = share_of(record.time, Spent::kStarting);
  const Nanos start =
      std::min(replay.start_is_copied ? real_start : seen_start.median, record.duration);
  const Nanos real_ending = share_of(record.time, Spent::kEnding);
  const Nanos usual_ending = request.site.of(Stage::kEnding).median;
  const Nanos ending =
      std::min(real_ending > Nanos{} ? usual_ending : Nanos{}, record.duration - start);

  JobTerms job = request.job;
  job.nodes = record.nodes;
  job.spares = record.spares;
  job.duration = record.duration - start - ending;
  const OwnPolicy own{spec->faults, spec->policy, request.times, spec->restart, spec->group};
  const std::vector<TracedFault> trace = trace_of(record, start, record.duration - ending);
  const Timeline line = run_own(own, job, trace, request.seed);
  const Account account =
      account_for(line, {job.checkpoint_every.value, job.checkpoint_stall.value});

  replay.name = request.name;
  replay.nodes = record.nodes;
  replay.spares = record.spares;
  replay.duration = record.duration;
  replay.real_ettr = record.time.ettr.value_or(0);
  replay.played = static_cast<std::uint32_t>(trace.size());
  replay.simulated = static_cast<std::uint32_t>(account.incidents);
  replay.while_starting =
      static_cast<std::uint32_t>(std::ranges::count(record.faults, false, &SeenFault::in_training));
  replay.stalls = record.stalls;
  replay.by_user = record.by_user;
  const auto simulated = spent_in(account, start, ending);
  for (std::uint8_t kind = 0; kind < core::kSpentKinds; ++kind) {
    const auto what = static_cast<Spent>(kind);
    if (what == Spent::kRunning) continue;  // of runs without steps, which are not played
    replay.rows.push_back(
        {std::string(to_string(what)), share_of(record.time, what), simulated[kind]});
  }
  replay.simulated_ettr = in_seconds(simulated[static_cast<std::size_t>(Spent::kProductive)]) /
                          in_seconds(record.duration);
  return replay;
}

}  // namespace robustrun::simulator
