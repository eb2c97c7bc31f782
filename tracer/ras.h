#pragma once
// Reads reports of NCCL's RAS subsystem: which processes respond, and how many collectives of each
// kind each rank has launched.
//
// A report has one of two forms: JSON (NCCL 2.28.7 and later), or text (2.24 and later), which
// names only the ranks that differ from most ranks. RAS counts launches by the host; it sees
// neither point-to-point operations nor completions. Source: src/ras/client_support.cc of NCCL.
// Pure.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/core/result.h"
#include "tracer/analysis/snapshot.h"

namespace robustrun::tracer {

struct RasRank {
  std::uint32_t rank = 0;      // in the communicator
  std::string host;            // numeric address; empty: unknown
  std::int32_t pid = -1;       // -1: not known
  std::int32_t gpu = -1;       // CUDA's number
  bool answered = true;        // false: its counts are unknown
  bool unresponsive = false;
  bool dead = false;           // RAS considers it dead
  bool aborted = false;
  std::uint32_t error = 0;     // ncclResult_t of the initialisation or a later error; 0: none
  std::uint64_t launched = 0;  // collectives; from a text, only kinds whose counts differ
};

struct RasCommunicator {
  std::uint64_t hash = 0;
  std::string second_hash;     // host and process that created it; empty from a text
  std::uint32_t size = 0;      // 0: not known
  std::vector<RasRank> ranks;  // those that the report lists
};

struct RasReport {
  std::string nccl_version;
  std::vector<RasCommunicator> communicators;
  std::uint32_t timeouts = 0;  // during the collection
};

// Fails with kCorrupt if the report has neither form or its JSON is cut short, and with kLimit if
// it exceeds the bounds of limits.h.
[[nodiscard]] base::Result<RasReport> read_ras_report(std::string_view bytes);

struct RasFleet {
  FleetSnapshot fleet;
  std::vector<std::string> notes;  // for people: facts for which a snapshot has no place
};

// Converts a report to snapshots. RAS knows only ranks within communicators; the ranks of the
// largest communicator are taken as the job's ranks. The job is assumed to hang: members that have
// launched a collective that others have not launched are taken to wait inside it.
[[nodiscard]] RasFleet fleet_of(const RasReport& report);

// NCCL 2.28.7 to 2.28.9 omit the comma after the value of "nvml_dev" when a rank is missing.
// Returns `json` with these commas added.
[[nodiscard]] std::string add_missing_commas(std::string_view json);

}  // namespace robustrun::tracer
