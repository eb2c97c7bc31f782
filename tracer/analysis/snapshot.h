#pragma once
// What all ranks were doing at about one moment: the analyzer's input.
//
// Plain data, from any mixture of sources; whatever is not known has its default. Times are ages
// ("how long ago", by the clock of the rank's own machine), so that snapshots of machines whose
// clocks differ can be laid side by side. tracer/analysis/limits.h bounds the lists.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/core/clock.h"
#include "base/core/ids.h"
#include "tracer/analysis/evidence.h"
#include "tracer/analysis/operation.h"

namespace robustrun::tracer {

// An operation that was entered, whether it is finished or not: for comparing signatures.
struct Past {
  std::uint64_t ordinal = 0;
  Signature signature;
  // Unix time at which this rank came to it; 0: not known. Machines' clocks differ: only how it
  // varies from one operation to the next may be compared between ranks.
  base::Nanos entered_at{};
  template <class V>
  void fields(V& v) {
    v(1, "ordinal", ordinal);
    v(2, "signature", signature);
    v(3, "entered_at", entered_at);
  }
};

// One that is finished, with its times: for what is slow.
struct Timing {
  std::uint64_t ordinal = 0;
  base::Nanos kernel{};    // on the GPU, or from entering to the end where there is none
  base::Nanos queued{};    // from the launch to the kernel's start
  base::Nanos gap{};       // from the end of the one before to entering
  template <class V>
  void fields(V& v) {
    v(1, "ordinal", ordinal);
    v(2, "kernel", kernel);
    v(3, "queued", queued);
    v(4, "gap", gap);
  }
};

// Sends to, or receives from, one peer.
struct PeerCount {
  std::int32_t peer = -1;  // rank in the communicator
  bool is_send = false;
  std::uint64_t entered = 0;
  std::uint64_t done = 0;
  // Both are counted from some moment on, another one on each member: how many of them are pending
  // is all that may be compared.
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

// Time and bytes on the way to one peer since the communicator began: for slow links.
struct EdgeTime {
  std::int32_t peer = -1;
  std::uint64_t bytes = 0;
  base::Nanos net_wait{};
  template <class V>
  void fields(V& v) {
    v(1, "peer", peer);
    v(2, "bytes", bytes);
    v(3, "net_wait", net_wait);
  }
};

// One rank's view of one communicator.
struct Membership {
  std::uint64_t comm = 0;  // same on all members, different for all others: hash of its identity
  std::string name;  // torch's or NCCL's; may be empty
  std::uint32_t size = 0;  // members
  std::uint32_t rank = 0;  // within it
  bool counts_completion = true;  // false: the source cannot tell what is done
  // Ordinals of the newest collective entered, launched, done. done ≤ started ≤ entered.
  std::uint64_t entered = 0;
  std::uint64_t started = 0;
  std::uint64_t done = 0;
  base::Nanos idle{};  // since `entered` rose last; 0 when it never did
  base::Nanos in_call{};  // inside the library's call for so long; 0: outside
  base::Nanos in_launch{};  // blocked in launching for so long; 0: not
  std::vector<Operation> pending;  // oldest first
  std::vector<Flow> flows;  // of the pending ones
  std::vector<PeerCount> peers;
  std::vector<Past> recent;  // oldest first
  std::vector<Timing> timings;  // oldest first
  std::vector<EdgeTime> edges;
  bool tells_flows = true;  // false: what is pending may have flows that are not listed
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
  }
};

enum class Life : std::uint8_t { kUnknown, kRunning, kStopped, kDead };

struct RankSnapshot {
  base::Rank rank;
  std::string node;  // name; empty: not known
  base::LocalRank local_rank;
  std::int32_t pid = 0;
  Life life = Life::kUnknown;
  std::string end;  // of a dead one: "killed by SIGKILL", "its node is lost"
  bool ended_well = false;  // of a dead one: with exit code 0
  std::uint64_t steps = 0;  // optimizer steps since the process began
  std::optional<base::Nanos> step_age;  // since the last one
  // Since the threads that call, and those that move data, were last seen to do anything; none:
  // the source does not count that.
  std::optional<base::Nanos> calls_still;
  std::optional<base::Nanos> proxy_still;
  std::vector<Membership> comms;
  // Its process was asked, or wrote down by itself, and had nothing to tell, though others of the
  // same job had: it may have been unable to. What counters say it is inside is no excuse.
  bool silent = false;
  // Of a job at rest: its thread calls nothing any more, and nothing that it has called keeps it.
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
  }
};

// Ranks that work together by the job's parallel layout: "dp_2".
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
  std::uint32_t world_size = 0;  // 0: not known
  std::vector<RankSnapshot> ranks;  // ascending; those without any record are left out
  std::vector<RankGroup> layout;  // may be empty
  // Of a job that had come to rest, as files tell it: ages end with the newest time in them, and
  // what nobody had come to by then, nobody was about to. Which operation a GPU is inside is not
  // told, unless a stage is.
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
