#pragma once
// What a dump of the Flight Recorder says about each communicator of its rank.
//
// Torch numbers the collectives of a process group from 1 (collective_seq_id) and keeps the newest
// entries of all groups in one ring. `entered` is the newest number; `done` is the number before
// the oldest entry that is not done. `pg_status` is used where the ring has no entry, but not
// beside entries, because its numbers also count sends and receives. A group without those is an
// exception: for it pg_status also shows an unfinished operation that has left the ring, and then
// `done` is the number before that one. `pg_status` is keyed by pg_id, and `pg_config` by name;
// torch counts both up as groups are made, so they are paired in that order. Coalesced operations
// share one number, and only the last of their entries ever changes its state.
//
// The recorders of hooked back ends (flight_recorder.h) are read without pg_status, and the names
// of their communicators end with the back end: "default_pg (nccl2)". Pure.

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "tracer/analysis/snapshot.h"
#include "tracer/flight_recorder.h"

namespace robustrun::tracer {

// A process group's members as the progress record has them; gloo's dumps do not list members.
struct KnownGroup {
  std::string name;
  std::string label;  // for people; may be empty
  std::uint64_t comm = 0;  // the communicator's key
  std::uint32_t size = 0, rank = 0;
};

// What the dumps of a job that no longer makes progress show together.
struct RestingJob {
  std::set<std::string> beside;  // groups whose operations run concurrently with others' operations
  bool tells_starts = false;  // a recorder saw a kernel start: torch times all ranks or none
};

// The communicators of one dump.
//
// `known`: members of groups from the progress record. `rank`: the global rank of the process,
// looked up in the groups whose members are listed. `now_ns`: Unix time of the dump. A group whose
// members neither source lists has size 0 and the hash of its name as key. Groups that have not
// been used yet are included where that is certain.
//
// A hooked back end's recorder reports only groups that it lists itself: `known` has those of all
// back ends.
//
// With `resting`, an NCCL operation that was called after an unfinished one of a group that is not
// in `beside` counts as kQueued: a GPU runs them one after the other, and a dump without timings
// does not show which one it has reached. Also, a group's first unfinished operation is then listed
// even if it has left the ring, with only its number and a lower bound of its age.
[[nodiscard]] std::vector<Membership> memberships(const FlightRecording& recording,
                                                  const std::vector<KnownGroup>& known,
                                                  std::uint32_t rank, std::int64_t now_ns,
                                                  const RestingJob* resting = nullptr);

// Gives the communicators of a back end's recorder keys of their own. One process may have several
// recorders, and a group of several back ends counts in each of them.
void set_apart(std::vector<Membership>& comms, std::string_view back_end);

// Whether the recorder saw a kernel start.
[[nodiscard]] bool tells_starts(const FlightRecording& recording);

// The names of groups with an unfinished NCCL operation, called before an operation of another
// group that is done.
[[nodiscard]] std::set<std::string> groups_beside(const FlightRecording& recording);

// Whether the dump has no entries and its pg_status shows that every operation begun is finished.
// False also if the dump has no pg_status.
[[nodiscard]] bool is_inside_nothing(const FlightRecording& recording);

// The key of a torch process group's communicator: 64-bit FNV-1a of the name, a NUL and the
// ascending global ranks as little-endian u32. python/robustrun/_diagnose/groups.py computes the
// same.
[[nodiscard]] std::uint64_t group_key(std::string_view name,
                                      const std::vector<std::uint32_t>& ranks);

}  // namespace robustrun::tracer
