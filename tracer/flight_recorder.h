#pragma once
// Dumps of PyTorch's Flight Recorder: what one rank's process groups were doing.
//
// Both forms that torch writes: JSON (`fr_trace_json`, format 2.10) and pickle (protocol 2, formats
// 2.4 to 2.10). The pickle is read by our own bounded reader (pickle.h), which knows no opcode that
// could execute anything. Fields that are missing or of another type make the
// entry incomplete, not the dump useless. Source: torch/csrc/distributed/c10d/FlightRecorder*.hpp.
// Pure.

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/core/clock.h"
#include "base/core/result.h"
#include "tracer/analysis/snapshot.h"

namespace robustrun::tracer {

struct RecordedEntry {
  std::uint64_t group = 0;  // pg_id: process-wide number of the process group
  std::string group_name;  // same on all members
  std::string group_description;
  std::string operation;  // profiling_name: "gloo:all_reduce", "nccl:send 1->2"
  std::uint64_t collective = 0;  // collective_seq_id; of a point-to-point one, the last before it
  std::uint64_t point_to_point = 0;  // p2p_seq_id
  bool is_point_to_point = false;
  std::vector<std::vector<std::int64_t>> input_sizes, output_sizes;
  std::vector<std::string> input_types, output_types;
  enum class State : std::uint8_t { kScheduled, kStarted, kCompleted };
  State state = State::kScheduled;
  bool retired = false;  // done, whatever `state` says (gloo has no events)
  std::int64_t created_ns = 0;  // Unix time
  std::int64_t started_ns = 0;  // when it was seen to have; 0: not
  std::int64_t completed_ns = 0;
  std::int64_t duration_ns = 0;  // on the GPU; 0: not measured
  std::vector<Frame> frames;  // innermost first; empty in most dumps
};

struct RecordedGroup {
  std::string name, description;
  std::vector<std::uint32_t> ranks;  // global; empty: not told (gloo)
};

struct GroupStatus {  // ordinals; -1: none
  std::int64_t enqueued = -1, started = -1, completed = -1;
};

struct FlightRecording {
  std::string version;
  std::string library;  // version of NCCL or its like; empty: the process uses none
  bool complete = false;  // no entry has been overwritten or left out
  std::vector<RecordedGroup> groups;
  std::map<std::uint64_t, GroupStatus> status;  // by pg_id
  std::vector<RecordedEntry> entries;  // oldest first
};

// Whichever form it is. kCorrupt: neither, or cut; kLimit: larger than flight_limits allow.
[[nodiscard]] base::Result<FlightRecording> read_flight_recording(std::string_view bytes);

// What the process itself knows of a group beyond the dump: its members, from the progress record.
struct KnownGroup {
  std::string name;
  std::string label;  // for people; may be empty
  std::uint64_t comm = 0;  // key of the communicator
  std::uint32_t size = 0, rank = 0;
};

// What the dumps of a job that has come to rest tell together.
struct RestingJob {
  std::set<std::string> beside;  // names of groups beside whose operations computations go on
  bool tells_starts = false;  // some recorder saw when a kernel started: torch times all or none
};

// As memberships. `now_ns`: Unix time of the dump; `rank`: global rank of the process, looked up in
// groups whose members are told. A group that neither side tells the members of has size 0 and its
// name's hash for a key. Groups that have not been used yet are there, too, where that is certain.
// With `resting` an operation of NCCL that was called after an unfinished one of another group
// counts as kQueued: GPUs do one after the other, and a dump without times does not tell which of
// them they have come to. Then, too, the first unfinished operation of a group is listed when it
// has left the ring, of which nothing but its number is known.
[[nodiscard]] std::vector<Membership> memberships(const FlightRecording& recording,
                                                  const std::vector<KnownGroup>& known,
                                                  std::uint32_t rank, std::int64_t now_ns,
                                                  const RestingJob* resting = nullptr);

[[nodiscard]] bool tells_starts(const FlightRecording& recording);

// Names of groups with an unfinished operation of NCCL although one of another group that was
// called later is done.
[[nodiscard]] std::set<std::string> groups_beside(const FlightRecording& recording);

// By its pg_status: it has begun something, and finished all that it has. false: not told.
[[nodiscard]] bool is_inside_nothing(const FlightRecording& recording);

// The operation has ended, as far as the recorder knows. gloo has no events: its entries stay
// "scheduled" and are done when they are retired. NCCL's are also retired when they time out.
[[nodiscard]] bool is_done(const RecordedEntry& entry);

// The newest time in it, Unix time; 0: it has none.
[[nodiscard]] std::int64_t newest_time(const FlightRecording& recording);

// Key of a communicator that torch knows by its process group: FNV-1a, 64 bit, of the name, a NUL
// and the ascending global ranks as little-endian u32. python/robustrun/_record/groups.py does the
// same.
[[nodiscard]] std::uint64_t group_key(std::string_view name,
                                      const std::vector<std::uint32_t>& ranks);

}  // namespace robustrun::tracer
