#include "supervisor/core/job/phases/worker_exits.h"

#include <fmt/core.h>

#include <algorithm>
#include <csignal>
#include <utility>

#include "base/core/text.h"
#include "base/core/words.h"
#include "supervisor/core/fault/fault_class.h"
#include "supervisor/core/types/exit_code.h"
#include "supervisor/core/types/limits.h"

namespace robustrun::supervisor {
namespace {

std::string last_words(const WorkerExited& exited) {
  std::string words = base::join(exited.stderr_tail, "\n");
  const std::size_t size = std::min(words.size(), kLastWordsBytesMax);
  return words.substr(words.size() - size);
}

}  // namespace

void WorkerExits::exited(const Event& event) {
  const auto& exited = body<WorkerExited>(event);
  if (!workers_.note_ended(exited.rank)) return;
  if (exited.ended_well()) {
    if (!exited.status().success()) {
      Fault late = worker_fault(exited, moves_.context(event.node));
      orders_.decide(Rule::kLateCrash, late.words + ": counts as exit code 0", {}, {},
                     std::move(late.looks_like));
    }
    early_ends_.note(exited);
    return note_success();
  }
  if (asks_not_to_requeue(exited, spec_.compat)) return stopping_.do_not_requeue(event);
  Fault fault = worker_fault(exited, moves_.context(event.node));
  if (is_lost_at_end(exited)) {
    // The others are left alone: they have come as far, or will fail without this one.
    workers_.note_lost_at_end(fault.exit_code);
    orders_.decide(Rule::kWorkerFailed,
                   fault.words + "; a save or an upload under way may be lost, the rest is done",
                   {fault.words}, {}, std::move(fault.looks_like));
    return note_success();
  }
  FaultNotes notes;
  const bool is_early_end = early_ends_.explain(fault, exited);
  notes.lacks_operation = is_early_end && operation_in_traceback(exited).empty();
  if (exited.traced && group_.plan().world_size() > 1 && fault.fault_class == FaultClass::kUser) {
    notes.look_back = LookBack{orders_.attempt(), exited.rank, last_words(exited)};
  }
  moves_.break_down(std::move(fault), std::move(notes));
}

// An agent may report WorkersGone by itself once its last worker is reaped.
void WorkerExits::gone(const Event& event) {
  const auto& what = body<WorkersGone>(event);
  if (!workers_.note_gone(event.node, what)) return;
  copies_.note_gone(event.node, what);
  const std::uint32_t vanished = group_.plan().slots(event.node) - nodes_.at(event.node).ended;
  if (vanished == 0) return;
  moves_.break_down(
      infrastructure_fault(Rule::kWorkerFailed,
                           fmt::format("{} of {} vanished: their end was never reported",
                                       base::counted(vanished, "worker"), nodes_.name(event.node)),
                           moves_.context(event.node)));
}

void WorkerExits::note_success() {
  workers_.note_success();
  if (workers_.succeeded() < group_.plan().world_size()) return starting_.check_all_started();
  succeed({}, {});
}

void WorkerExits::succeed(const std::string& note, std::vector<std::string> evidence) {
  if (workers_.lost_at_end()) {
    orders_.decide(Rule::kBudgetExhausted, "no restart: all scripts had returned");
    return moves_.end_run({Rule::kBudgetExhausted, *workers_.lost_at_end()}, SIGTERM,
                          std::min(kLeftoverGrace, spec_.deadlines.shutdown_grace));
  }
  const std::string all = group_.plan().world_size() == 1
                              ? "the worker finished"
                              : fmt::format("all {} workers finished", group_.plan().world_size());
  orders_.decide(Rule::kSucceeded, all + note, std::move(evidence));
  moves_.end_run({Rule::kSucceeded, kExitSuccess}, SIGTERM,
                 std::min(kLeftoverGrace, spec_.deadlines.shutdown_grace));
}

}  // namespace robustrun::supervisor
