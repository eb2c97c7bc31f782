#pragma once
// Reports of NCCL's RAS subsystem: which processes answer, and how many collectives of each kind a
// rank has launched.
//
// Two forms: JSON (NCCL 2.28.7 and later; the comma that 2.28.7 to 2.28.9 forget when a rank is
// missing is put in) and the text for people (2.24 and later), which names the ranks that differ
// from most. RAS sees neither point-to-point operations nor what is done, and counts from the
// launch on the processor. Source: src/ras/client_support.cc of NCCL. Pure.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/core/result.h"
#include "tracer/analysis/snapshot.h"

namespace robustrun::tracer {

struct RasRank {
  std::uint32_t rank = 0;      // in the communicator
  std::string host;            // numeric address; empty: not known
  std::int32_t pid = -1;       // -1: not known
  std::int32_t gpu = -1;       // CUDA's number
  bool answered = true;        // else its counts are not known
  bool unresponsive = false;
  bool dead = false;           // as RAS considers it
  bool aborted = false;
  std::uint32_t error = 0;     // ncclResult_t of initialisation or since, 0 and 7: none
  std::uint64_t launched = 0;  // collectives of all kinds; in the text, of those that differ
};

struct RasCommunicator {
  std::uint64_t hash = 0;
  std::string second_hash;     // host and process that made it; empty in the text
  std::uint32_t size = 0;      // 0: not known
  std::vector<RasRank> ranks;  // those that are told
};

struct RasReport {
  std::string nccl_version;
  std::vector<RasCommunicator> communicators;
  std::uint32_t timeouts = 0;  // while it was collected
};

// kCorrupt: neither form, or cut; kLimit: more than limits.h allows.
[[nodiscard]] base::Result<RasReport> read_ras_report(std::string_view bytes);

struct RasFleet {
  FleetSnapshot fleet;
  std::vector<std::string> notes;  // what no snapshot can hold, for people
};

// RAS knows ranks of communicators alone: those of the largest one are taken for the job's. It is
// asked about jobs that hang: a collective that not every member has launched counts as one that
// the others wait in.
[[nodiscard]] RasFleet fleet_of(const RasReport& report);

// Put in where it is missing behind "nvml_dev".
[[nodiscard]] std::string with_forgotten_commas(std::string_view json);

// The text form, for read_ras_report().
[[nodiscard]] base::Result<RasReport> read_ras_text(std::string_view text);

}  // namespace robustrun::tracer
