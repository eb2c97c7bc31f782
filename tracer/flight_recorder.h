#pragma once
// Reads dumps of PyTorch's Flight Recorder: the operations of one rank's process groups.
//
// Both forms that torch writes are read: JSON (`fr_trace_json`, format 2.10) and pickle (protocol
// 2, formats 2.4 to 2.10). Pickles are read by pickle.h, which knows no opcode that could execute
// anything. A field that is missing or has another type counts as empty; the rest of the dump is
// still used. flight_memberships.h says what a dump means for each communicator. Source:
// torch/csrc/distributed/c10d/FlightRecorder*.hpp. Pure.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/core/clock.h"
#include "base/core/result.h"
#include "tracer/analysis/snapshot.h"

namespace robustrun::tracer {

struct RecordedEntry {
  std::uint64_t group = 0;  // pg_id: process-wide number of the process group
  std::string group_name;  // the same on all members
  std::string group_description;
  std::string operation;  // profiling_name: "gloo:all_reduce", "nccl2:send 1->2"
  std::uint64_t collective = 0;  // collective_seq_id; of a send or receive: the last collective's
  std::uint64_t point_to_point = 0;  // p2p_seq_id
  bool is_point_to_point = false;
  std::vector<std::vector<std::int64_t>> input_sizes, output_sizes;
  std::vector<std::string> input_types, output_types;
  enum class State : std::uint8_t { kScheduled, kStarted, kCompleted };
  State state = State::kScheduled;
  bool retired = false;  // torch no longer watches the operation (see is_done())
  std::int64_t created_ns = 0;  // Unix time
  std::int64_t started_ns = 0;  // when it was seen to have started; 0: never
  std::int64_t completed_ns = 0;
  std::int64_t duration_ns = 0;  // on the GPU; 0: not measured
  std::vector<Frame> frames;  // innermost first; empty in most dumps
};

struct RecordedGroup {
  std::string name, description;
  std::vector<std::uint32_t> ranks;  // global; empty: not known (gloo)
};

struct GroupStatus {  // ordinals; -1: none
  std::int64_t enqueued = -1, started = -1, completed = -1;
};

struct FlightRecording {
  std::string version;
  std::string library;  // version of NCCL or a similar library; empty: the process uses none
  // The back end that the recorder belongs to, as the first entry names it: "gloo", "nccl",
  // "nccl2". Empty if there are no entries.
  std::string back_end;
  bool complete = false;  // no entry was overwritten or left out
  std::vector<RecordedGroup> groups;
  std::map<std::uint64_t, GroupStatus> status;  // by pg_id
  std::vector<RecordedEntry> entries;  // oldest first
};

// Reads a dump of either form. Fails with kCorrupt if it has neither form or is cut short, with
// kNotFound if it is another document of such a form, and with kLimit if it exceeds the bounds of
// limits.h.
[[nodiscard]] base::Result<FlightRecording> read_flight_recording(std::string_view bytes);

[[nodiscard]] bool is_gloo(const RecordedEntry& entry);

// Whether torch fills the back end's recorder by a hook (FlightRecorderHook), as for nccl2,
// nccl-lazy and back ends of other packages. Each of them has its own recorder, whose pg_status and
// entries use different numbers.
[[nodiscard]] bool is_hooked(std::string_view back_end);

// Whether the operation has ended, as far as the recorder knows. An entry that is "completed" is
// done. Entries of gloo and of hooked back ends may never become "completed", so they are also done
// once retired. NCCL's entries are not, because a time-out retires them, too.
[[nodiscard]] bool is_done(const RecordedEntry& entry);

// The newest time in the dump, as Unix time in ns; 0: it has none.
[[nodiscard]] std::int64_t newest_time(const FlightRecording& recording);

}  // namespace robustrun::tracer
