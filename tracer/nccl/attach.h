#pragma once
// Maps the progress record of this process, the file that ROBUSTRUN_RECORD names.
//
// A record belongs to one process, the worker. The worker's children write nothing, and neither
// does a process whose record is missing, too short or of another version.

#include <sys/types.h>

#include <cstdint>

#include "tracer/progress_record.h"
#include "tracer/record_collectives.h"

namespace robustrun::tracer::nccl {

// The parts of the mapped record.
struct Tables {
  ProgressRecord* page = nullptr;
  RecordCounters* counters = nullptr;
  std::uint64_t* wanted_mask = nullptr;
  RecordCommunicator* communicators = nullptr;
  RecordOperation* operations = nullptr;
  RecordFlow* flows = nullptr;
  RecordSignature* signatures = nullptr;
  RecordHistogram* histograms = nullptr;
  RecordTiming* timings = nullptr;
  RecordEdge* edges = nullptr;
  RecordRate* rates = nullptr;
  std::uint64_t* tags = nullptr;  // by the signature's slot
};

// Opens the record at the first call, in any thread; if this fails, tables() stays null. Only
// attach() and load_behind() may block, of all functions of the plugin.
void attach();
// The mapped record; null: not attached. Costs one load.
[[nodiscard]] Tables* tables();
// The pid of the process that called attach(); 0: it could not map a record. The pid is set even if
// the mapped record turned out to belong to another process, so that attach() failed. Forked
// children still get their parent's pid.
[[nodiscard]] pid_t own_pid();
// The activation mask in ROBUSTRUN_NCCL_MASK (decimal or 0x…); 0: not set, not a number, or above
// 0xffffffff.
[[nodiscard]] std::uint64_t mask_of_environment();
// The path in ROBUSTRUN_NCCL_BEHIND, of another profiler plugin that ours is to call (behind.h);
// null: none. Points into the environment.
[[nodiscard]] const char* behind_of_environment();
// Whether our plugin offers this version of NCCL's interface to NCCL: ROBUSTRUN_NCCL_VERSIONS ("1 2
// 5") has it, or is not set or empty.
[[nodiscard]] bool is_shown(int version);
// CLOCK_MONOTONIC in ns, through the vDSO: no system call.
[[nodiscard]] std::uint64_t now_ns();

}  // namespace robustrun::tracer::nccl
