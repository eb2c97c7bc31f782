#pragma once
// The progress record of this process, mapped: ROBUSTRUN_RECORD names the file.
//
// A record belongs to one process: the worker's. Its children, forked or not, write nothing, nor
// does anybody who finds no record, one that is too short, or one of another version.

#include <sys/types.h>

#include <cstdint>

#include "tracer/progress_record.h"
#include "tracer/record_collectives.h"
#include "tracer/record_counters.h"
#include "tracer/record_history.h"
#include "tracer/record_operations.h"

namespace robustrun::tracer::nccl {

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
};

// Opens the record at the first call, in whichever thread; the only thing here that may wait.
void attach();
// Null: there is nothing to write to. One load.
[[nodiscard]] Tables* tables();
[[nodiscard]] pid_t own_pid();
// The mask that the environment asks for, ROBUSTRUN_NCCL_MASK (decimal or 0x…); 0: none.
[[nodiscard]] std::uint64_t mask_of_environment();
// CLOCK_MONOTONIC in ns, through the vDSO: no system call.
[[nodiscard]] std::uint64_t now_ns();

}  // namespace robustrun::tracer::nccl
