#include "wire/messages/injection.h"

#include <algorithm>
#include <array>

namespace robustrun::wire {
namespace {

using enum FaultKind;
using Target = FaultRow::Target;

constexpr base::Nanos kForEver{};
constexpr base::Nanos kUsual = std::chrono::seconds(10);

constexpr std::array kRows = {
    FaultRow{kKill, "kill", Target::kRank, false, {}, false, "SIGKILL"},
    FaultRow{kStop, "stop", Target::kRank, true, kForEver, false, "SIGSTOP, then SIGCONT"},
    FaultRow{kSegfault, "segfault", Target::kRank, false, {}, false, "SIGSEGV"},
    FaultRow{kAbort, "abort", Target::kRank, false, {}, false, "SIGABRT"},
    FaultRow{kException,
             "exception",
             Target::kRank,
             false,
             {},
             true,
             "a RuntimeError in the main thread"},
    FaultRow{kGilLock, "gil-lock", Target::kRank, true, kUsual, true,
             "no Python thread of the worker runs"},
    FaultRow{kCollectiveSleep, "collective-sleep", Target::kRank, true, kUsual, true,
             "late for its next collective"},
    FaultRow{kDataStall, "data-stall", Target::kRank, true, kUsual, true,
             "waits for its next batch of a DataLoader"},
    FaultRow{kNetDelay, "net-delay", Target::kNode, true, kUsual, false,
             "every message between its agent and us is late"},
    FaultRow{kNetDrop, "net-drop", Target::kNode, true, kUsual, false,
             "nothing passes between its agent and us"},
    FaultRow{kDiskFull, "disk-full", Target::kNode, true, kUsual, false,
             "no space is left where its logs are (a small disk, not that of /)"},
    FaultRow{kAgentDeath, "agent-death", Target::kNode, false, {}, false, "SIGKILL to its agent"},
    FaultRow{kSupervisorDeath,
             "supervisor-death",
             Target::kSupervisor,
             false,
             {},
             false,
             "SIGKILL to the run's supervisor"},
};

constexpr bool rows_are_in_order() {
  for (std::size_t i = 0; i < kRows.size(); ++i) {
    if (static_cast<std::size_t>(kRows[i].kind) != i) return false;
  }
  return true;
}
static_assert(rows_are_in_order());

}  // namespace

std::span<const FaultRow> fault_rows() { return kRows; }

const FaultRow* find_fault(FaultKind kind) {
  const auto index = static_cast<std::size_t>(kind);
  return index < kRows.size() ? &kRows[index] : nullptr;
}

const FaultRow* find_fault(std::string_view name) {
  const auto found = std::ranges::find(kRows, name, &FaultRow::name);
  return found == kRows.end() ? nullptr : &*found;
}

}  // namespace robustrun::wire
