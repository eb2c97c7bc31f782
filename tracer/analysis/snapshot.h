#pragma once
// What all ranks were doing at about the same moment: the analyzer's input.
//
// Plain data, from any mixture of sources; unknown fields have their defaults. Unless noted,
// times are ages by the clock of the rank's own machine, so that snapshots from machines with
// different clocks can be compared. The reader of each source limits the length of the lists.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/core/clock.h"
#include "base/core/ids.h"
#include "tracer/analysis/evidence.h"
#include "tracer/analysis/operation.h"

namespace robustrun::tracer {

// An operation that was entered, finished or not: for comparing signatures.
struct Past {
  std::uint64_t ordinal = 0;
  Signature signature;
  // Unix time at which this rank entered the operation; 0: unknown. The clocks of machines differ:
  // compare between ranks only the time from one operation to another.
  base::Nanos entered_at{};
  std::uint64_t tag = 0;  // given to the call by the user (NCCL's userProfilerTag); 0: none
  template <class V>
  void fields(V& v) {
    v(1, "ordinal", ordinal);
    v(2, "signature", signature);
    v(3, "entered_at", entered_at);
    v(4, "tag", tag);
  }
};

// The times of a finished operation: for finding slow ranks.
struct Timing {
  std::uint64_t ordinal = 0;
  base::Nanos kernel{};  // on the GPU; without a GPU, from entry to completion
  base::Nanos queued{};  // from the launch to the kernel's start
  base::Nanos gap{};  // from the end of the previous operation to entering this one
  base::Nanos own{};  // part of `kernel`: this GPU's own work between two barriers; 0: unknown
  template <class V>
  void fields(V& v) {
    v(1, "ordinal", ordinal);
    v(2, "kernel", kernel);
    v(3, "queued", queued);
    v(4, "gap", gap);
    v(5, "own", own);
  }
};

// The sends to, or the receives from, one peer.
struct PeerCount {
  std::int32_t peer = -1;  // rank in the communicator
  bool is_send = false;
  std::uint64_t entered = 0;
  std::uint64_t done = 0;
  // True: the counts begin at different moments on different members, so only the numbers of
  // pending operations may be compared.
  bool is_part = false;
  template <class V>
  void fields(V& v) {
    v(1, "peer", peer);
    v(2, "is_send", is_send);
    v(3, "entered", entered);
    v(4, "done", done);
    v(5, "is_part", is_part);
  }
};

// Bytes and time in transit to one peer: for finding slow links.
struct EdgeTime {
  std::int32_t peer = -1;
  std::uint64_t bytes = 0;  // since the communicator was created
  base::Nanos net_wait{};  // of these bytes
  std::uint64_t recent_bytes = 0;  // in the last seconds
  base::Nanos recent_wait{};  // of recent_bytes; 0: unknown
  double usual = 0;  // ns per byte before these seconds (traffic_watch.h); 0: unknown
  template <class V>
  void fields(V& v) {
    v(1, "peer", peer);
    v(2, "bytes", bytes);
    v(3, "net_wait", net_wait);
    v(4, "recent_bytes", recent_bytes);
    v(5, "recent_wait", recent_wait);
    v(6, "usual", usual);
  }
};

// How much data collectives of one kind and size moved in the last seconds: for finding groups that
// have become slower.
struct Rate {
  OpKind kind = OpKind::kUnknown;
  std::uint32_t size_bits = 0;  // 2^(size_bits-1) ≤ measured_bytes() < 2^size_bits
  std::uint64_t count = 0;
  std::uint64_t bytes = 0;
  base::Nanos busy{};  // of their kernels, as RecordRate::busy_ns (record_collectives.h)
  double usual = 0;  // ns per byte before these seconds (traffic_watch.h); 0: unknown
  template <class V>
  void fields(V& v) {
    v(1, "kind", kind);
    v(2, "size_bits", size_bits);
    v(3, "count", count);
    v(4, "bytes", bytes);
    v(5, "busy", busy);
    v(6, "usual", usual);
  }
};

// One rank's view of one communicator.
struct Membership {
  std::uint64_t comm = 0;  // key: a hash of its identity, the same on all members
  std::string name;  // torch's or NCCL's; may be empty
  std::uint32_t size = 0;  // members
  std::uint32_t rank = 0;  // in the communicator
  bool counts_completion = true;  // false: the source does not know what is done
  // Ordinals of collectives: the newest one entered, the newest one launched, and the last one up
  // to which all are done. done ≤ started ≤ entered.
  std::uint64_t entered = 0;
  std::uint64_t started = 0;
  std::uint64_t done = 0;
  base::Nanos idle{};  // since `entered` last rose; 0: never
  base::Nanos in_call{};  // time inside the library's call; 0: outside
  base::Nanos in_launch{};  // time blocked in a launch; 0: not blocked
  std::vector<Operation> pending;  // oldest first
  std::vector<Flow> flows;  // of pending operations
  std::vector<PeerCount> peers;
  std::vector<Past> recent;  // oldest first
  std::vector<Timing> timings;  // oldest first
  std::vector<EdgeTime> edges;
  bool tells_flows = true;  // false: pending operations may have flows that are not listed
  std::vector<Rate> rates;
  template <class V>
  void fields(V& v) {
    v(1, "comm", comm);
    v(2, "name", name);
    v(3, "size", size);
    v(4, "rank", rank);
    v(5, "counts_completion", counts_completion);
    v(6, "entered", entered);
    v(7, "started", started);
    v(8, "done", done);
    v(9, "idle", idle);
    v(10, "in_call", in_call);
    v(11, "in_launch", in_launch);
    v(12, "pending", pending);
    v(13, "flows", flows);
    v(14, "peers", peers);
    v(15, "recent", recent);
    v(16, "timings", timings);
    v(17, "edges", edges);
    v(18, "tells_flows", tells_flows);
    v(19, "rates", rates);
  }
};

enum class Life : std::uint8_t { kUnknown, kRunning, kStopped, kDead };

struct RankSnapshot {
  base::Rank rank;
  std::string node;  // name; empty: unknown
  base::LocalRank local_rank;
  std::int32_t pid = 0;
  Life life = Life::kUnknown;
  std::string end;  // of a dead rank: "killed by SIGKILL", "its node is lost"
  bool ended_well = false;  // of a dead rank: exit code 0, or its script had finished before
  // Time since its script returned, and since its exit handlers had run; none: not yet, or unknown.
  std::optional<base::Nanos> returned;
  std::optional<base::Nanos> finished;
  std::uint64_t steps = 0;  // optimizer steps since the process began
  std::optional<base::Nanos> step_age;  // since the last step
  // Time since the last activity of the threads that call the library, and of the threads that move
  // its data; none: the source does not record activity.
  std::optional<base::Nanos> calls_still;
  std::optional<base::Nanos> proxy_still;
  std::vector<Membership> comms;
  // Its process gave an empty answer or wrote an empty dump, although other ranks had entries. It
  // may have been unable to record entries. Set even if counters show pending operations.
  bool silent = false;
  // Only in a fleet that is at_rest: its host thread has stopped calling operations, although none
  // blocks it.
  bool halted = false;
  Evidence evidence;
  template <class V>
  void fields(V& v) {
    v(1, "rank", rank);
    v(2, "node", node);
    v(3, "local_rank", local_rank);
    v(4, "pid", pid);
    v(5, "life", life);
    v(6, "end", end);
    v(7, "steps", steps);
    v(8, "step_age", step_age);
    v(10, "calls_still", calls_still);
    v(11, "proxy_still", proxy_still);
    v(12, "comms", comms);
    v(13, "evidence", evidence);
    v(14, "ended_well", ended_well);
    v(15, "silent", silent);
    v(16, "halted", halted);
    v(17, "returned", returned);
    v(18, "finished", finished);
  }
};

// A group of ranks in the job's parallel layout, such as "dp_2".
struct RankGroup {
  std::string name;
  std::vector<base::Rank> ranks;  // ascending
  template <class V>
  void fields(V& v) {
    v(1, "name", name);
    v(2, "ranks", ranks);
  }
};

struct FleetSnapshot {
  std::uint32_t world_size = 0;  // 0: unknown
  std::vector<RankSnapshot> ranks;  // ascending; ranks without any record are left out
  std::vector<RankGroup> layout;  // may be empty
  // The snapshot comes from files, and the job no longer made progress when they were written. Ages
  // then last until the newest time in the files, and no rank was about to enter an operation. It
  // is unknown which operation a GPU is inside, unless the recorder saw kernels start.
  bool at_rest = false;
  template <class V>
  void fields(V& v) {
    v(1, "world_size", world_size);
    v(2, "ranks", ranks);
    v(3, "layout", layout);
    v(4, "at_rest", at_rest);
  }
};

}  // namespace robustrun::tracer
