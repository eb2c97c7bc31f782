#pragma once
// Fault injection (`robustrun inject`): the order to cause a fault on a node, and its result.
//
// docs/formats/robustrun.proto has the messages in protobuf's schema language. Kinds are appended,
// never renumbered. Pure.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/core/clock.h"
#include "base/core/ids.h"

namespace robustrun::wire {

enum class FaultKind : std::uint8_t {
  kKill,
  kStop,
  kSegfault,
  kAbort,
  kException,
  kGilLock,
  kCollectiveSleep,
  kDataStall,
  kNetDelay,
  kNetDrop,
  kDiskFull,
  kAgentDeath,
  kSupervisorDeath,
};

// Name, target and default duration of one kind of fault.
struct FaultRow {
  enum class Target : std::uint8_t { kRank, kNode, kSupervisor };
  FaultKind kind = FaultKind::kKill;
  std::string_view name;        // as on the command line and in the worker's order file
  Target target = Target::kRank;
  bool lasts = false;           // takes a duration
  base::Nanos duration{};       // default for a kind that lasts; 0: without end
  bool in_python = false;       // the worker's boot module causes the fault, not the agent
  std::string_view help;
};

[[nodiscard]] std::span<const FaultRow> fault_rows();   // in the order of FaultKind
// nullptr when the number or name is unknown.
[[nodiscard]] const FaultRow* find_fault(FaultKind kind);
[[nodiscard]] const FaultRow* find_fault(std::string_view name);

// Supervisor to agent; answered by Injected with the same id.
struct Inject {
  std::uint64_t id = 0;
  base::Attempt attempt;                         // with `local_rank`: the worker to hit
  FaultKind kind = FaultKind::kKill;
  std::optional<base::LocalRank> local_rank;     // for kinds that hit a rank
  base::Nanos duration{};                        // 0: without end, or the kind does not last
  base::Nanos delay{};                           // kNetDelay: added to each message
  template <class V>
  void fields(V& v) {
    v(1, "id", id);
    v(2, "attempt", attempt);
    v(3, "kind", kind);
    v(4, "local_rank", local_rank);
    v(5, "duration", duration);
    v(6, "delay", delay);
  }
};

// Agent to supervisor; sent before the fault if the fault would prevent the sending.
struct Injected {
  std::uint64_t id = 0;
  std::int32_t pid = 0;     // process that was hit; 0: none
  std::string done;         // what was done, in words
  std::string error;        // why nothing was done; empty: success
  template <class V>
  void fields(V& v) {
    v(1, "id", id);
    v(2, "pid", pid);
    v(3, "done", done);
    v(4, "error", error);
  }
};

}  // namespace robustrun::wire
