#pragma once
// A fault on purpose: the order to make one on a node, and what came of it (`robustrun inject`).
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

// What a kind is called, what it hits, and how long it lasts unless told otherwise.
struct FaultRow {
  enum class Target : std::uint8_t { kRank, kNode, kSupervisor };
  FaultKind kind = FaultKind::kKill;
  std::string_view name;        // on the command line and in the worker's order file
  Target target = Target::kRank;
  bool lasts = false;           // takes a duration
  base::Nanos duration{};       // the default of one that lasts; 0: for ever
  bool in_python = false;       // done by the worker's boot module
  std::string_view help;
};

[[nodiscard]] std::span<const FaultRow> fault_rows();   // by FaultKind
// nullptr for a number or a name that is none.
[[nodiscard]] const FaultRow* find_fault(FaultKind kind);
[[nodiscard]] const FaultRow* find_fault(std::string_view name);

// Supervisor to agent; answered by Injected with the same id.
struct Inject {
  std::uint64_t id = 0;
  base::Attempt attempt;                         // with local_rank: of that worker
  FaultKind kind = FaultKind::kKill;
  std::optional<base::LocalRank> local_rank;     // of kinds that hit a rank
  base::Nanos duration{};                        // 0: for ever, or of no meaning
  base::Nanos delay{};                           // kNetDelay: of each message
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

// Agent to supervisor. Said before a fault that keeps it from being said.
struct Injected {
  std::uint64_t id = 0;
  std::int32_t pid = 0;     // of the process that was hit; 0: none
  std::string done;         // what was done, in words
  std::string error;        // why nothing was done; empty: it was
  template <class V>
  void fields(V& v) {
    v(1, "id", id);
    v(2, "pid", pid);
    v(3, "done", done);
    v(4, "error", error);
  }
};

}  // namespace robustrun::wire
