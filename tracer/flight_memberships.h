#pragma once
// What a dump of the Flight Recorder says about each communicator of its rank.
//
// Torch numbers the collectives of a process group from 1 (collective_seq_id) and keeps the newest
// entries of all groups in one ring. Membership::entered is the newest number; Membership::done is
// the number before the oldest entry that is not done. Coalesced operations share one number, and
// only the last of their entries ever changes its state.
//
// The numbers in `pg_status` are used for a group that has no entry in the ring. For other groups
// they are not used, because they also count sends and receives. The exception is a group without
// sends and receives: its pg_status may show an unfinished operation that has left the ring, and
// `done` is then the number before this operation. `pg_status` is keyed by pg_id and `pg_config` by
// name; both rise as torch makes groups, so they are paired in this order.
//
// The recorder keeps the entries of groups that were destroyed. If a group was made anew under the
// same name, only the entries of the newest one, with the highest pg_id, count.
//
// For hooked back ends (flight_recorder.h) pg_status is not used, and the names of communicators
// end with the back end: "default_pg (nccl2)". Pure.

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "tracer/analysis/snapshot.h"
#include "tracer/flight_recorder.h"

namespace robustrun::tracer {

// A process group in the progress record, which knows the members. gloo's dumps do not list them.
struct KnownGroup {
  std::string name;
  std::string label;  // for people; may be empty
  std::uint64_t comm = 0;  // the communicator's key
  std::uint32_t size = 0, rank = 0;  // of the group; this rank within it
};

// What all dumps of a job that no longer makes progress show together.
struct RestingJob {
  std::set<std::string> beside;  // groups whose operations run beside those of other groups
  bool tells_starts = false;  // a recorder saw a kernel start, so all recorders see starts
};

// The communicators of one dump.
//
// `known`: groups in the progress record. `rank`: the process's global rank, which is looked up in
// the groups whose members the dump lists. `now_ns`: Unix time of the dump. A group whose members
// neither source lists has size 0, and its key is a hash of its name. A group without calls is
// included if it is certain that it has none. For a hooked back end only groups that the
// dump lists are included, because `known` has the groups of all back ends.
//
// `resting` changes three things. If RestingJob::tells_starts is set, an NCCL operation without a
// start counts as kQueued. Otherwise the dump does not show which operation the GPU has reached. So
// an NCCL operation counts as kQueued if it was called after an unfinished operation of a group
// that is not in `beside`, because a GPU runs these one after the other. And a group's first
// unfinished operation is listed even if it has left the ring, with only its number and a lower
// bound of its age.
[[nodiscard]] std::vector<Membership> memberships(const FlightRecording& recording,
                                                  const std::vector<KnownGroup>& known,
                                                  std::uint32_t rank, std::int64_t now_ns,
                                                  const RestingJob* resting = nullptr);

// Changes the keys in `comms` to keys that belong to `back_end`. One process may have several
// recorders, and a group with several back ends has separate counts in each.
void set_apart(std::vector<Membership>& comms, std::string_view back_end);

// Whether the recorder saw a kernel start.
[[nodiscard]] bool tells_starts(const FlightRecording& recording);

// The names of groups that have an unfinished NCCL operation although a later operation of another
// group is done.
[[nodiscard]] std::set<std::string> groups_beside(const FlightRecording& recording);

// Whether the dump has no entries and its pg_status shows that all operations are finished. False
// also if the dump has no pg_status.
[[nodiscard]] bool is_inside_nothing(const FlightRecording& recording);

// The key of a torch process group's communicator: 64-bit FNV-1a of the name, a NUL and the
// ascending global ranks as little-endian u32. python/robustrun/_diagnose/groups.py computes the
// same.
[[nodiscard]] std::uint64_t group_key(std::string_view name,
                                      const std::vector<std::uint32_t>& ranks);

}  // namespace robustrun::tracer
