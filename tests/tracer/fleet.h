#pragma once
// Fleets of snapshots for tests of the analyzer: all ranks do the same operations until a test says
// which rank waits where, and what blocks it.

#include <cstdint>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "tracer/analysis/analyze.h"

namespace robustrun::tracer {

inline base::Nanos seconds(double s) { return base::Nanos(static_cast<std::int64_t>(s * 1e9)); }

inline Signature all_reduce(std::uint64_t count = 12'000'000) {
  return {.kind = OpKind::kAllReduce, .type = DataType::kFloat32, .count = count, .root = -1};
}

struct Fleet {
  FleetSnapshot snapshot;

  explicit Fleet(std::uint32_t world, std::uint32_t per_node = 4) {
    snapshot.world_size = world;
    for (std::uint32_t r = 0; r < world; ++r) {
      RankSnapshot rank;
      rank.rank = {r};
      rank.node = "node" + std::to_string(r / per_node);
      rank.local_rank = {r % per_node};
      rank.pid = static_cast<std::int32_t>(1000 + r);
      rank.life = Life::kRunning;
      snapshot.ranks.push_back(std::move(rank));
    }
  }

  RankSnapshot& rank(std::uint32_t r) {
    for (RankSnapshot& s : snapshot.ranks) {
      if (s.rank.value == r) return s;
    }
    std::abort();
  }

  // Adds communicator `comm`, of which all `ranks` have finished `done` operations.
  void group(std::uint64_t comm, const std::vector<std::uint32_t>& ranks, std::uint64_t done = 6,
             std::string name = {}) {
    for (std::uint32_t i = 0; i < ranks.size(); ++i) {
      Membership m;
      m.comm = comm;
      m.name = name;
      m.size = static_cast<std::uint32_t>(ranks.size());
      m.rank = i;
      m.entered = m.started = m.done = done;
      m.idle = seconds(20);
      rank(ranks[i]).comms.push_back(std::move(m));
    }
  }
  void world(std::uint64_t comm = 1, std::uint64_t done = 6, std::string name = "world") {
    std::vector<std::uint32_t> ranks;
    for (const RankSnapshot& s : snapshot.ranks) ranks.push_back(s.rank.value);
    group(comm, ranks, done, std::move(name));
  }

  Membership& in(std::uint64_t comm, std::uint32_t r) {
    for (Membership& m : rank(r).comms) {
      if (m.comm == comm) return m;
    }
    std::abort();
  }

  // The rank enters the next operation.
  Operation& enter(std::uint64_t comm, std::uint32_t r, double age = 10,
                   Signature signature = all_reduce(),
                   Operation::Stage stage = Operation::Stage::kRunning) {
    Membership& m = in(comm, r);
    m.entered += 1;
    const bool is_launched =
        stage == Operation::Stage::kRunning || stage == Operation::Stage::kQueued;
    if (is_launched) m.started = m.entered;
    m.idle = seconds(age);
    m.recent.push_back({m.entered, signature});
    Operation operation;
    operation.ordinal = m.entered;
    operation.signature = signature;
    operation.stage = stage;
    operation.age = operation.unchanged = seconds(age);
    m.pending.push_back(operation);
    return m.pending.back();
  }
  void enter_all_but(std::uint64_t comm, const std::vector<std::uint32_t>& absent, double age = 10,
                     Signature signature = all_reduce()) {
    for (RankSnapshot& s : snapshot.ranks) {
      bool is_absent = true;
      for (const Membership& m : s.comms) is_absent &= m.comm != comm;
      for (const std::uint32_t r : absent) is_absent |= r == s.rank.value;
      if (!is_absent) enter(comm, s.rank.value, age, signature);
    }
  }
  // The rank finishes the operation that it is inside.
  void finish(std::uint64_t comm, std::uint32_t r) {
    Membership& m = in(comm, r);
    m.pending.clear();
    m.done = m.entered;
  }

  void point_to_point(std::uint64_t comm, std::uint32_t r, std::int32_t peer, bool is_send,
                      std::uint64_t entered, std::uint64_t done, double age = 10) {
    Membership& m = in(comm, r);
    m.peers.push_back({.peer = peer, .is_send = is_send, .entered = entered, .done = done});
    if (entered == done) return;
    Operation operation;
    operation.ordinal = done + 1;
    operation.signature = {.kind = is_send ? OpKind::kSend : OpKind::kRecv,
                           .type = DataType::kFloat32,
                           .count = 1000,
                           .root = peer};
    operation.age = operation.unchanged = seconds(age);
    m.pending.push_back(operation);
  }

  // The main thread's Python frames, innermost first, as "file:line function".
  void stack(std::uint32_t r, std::vector<Frame> frames) {
    ThreadStack thread;
    thread.thread = "MainThread";
    thread.is_main = true;
    thread.frames = std::move(frames);
    rank(r).evidence.stacks.push_back(std::move(thread));
  }
  void drop(std::uint32_t r) {
    std::erase_if(snapshot.ranks, [&](const RankSnapshot& s) { return s.rank.value == r; });
  }

  [[nodiscard]] Verdict verdict() const { return analyze(snapshot); }
};

inline std::vector<std::uint32_t> numbers(const std::vector<base::Rank>& ranks) {
  std::vector<std::uint32_t> out;
  for (const base::Rank r : ranks) out.push_back(r.value);
  return out;
}

inline std::vector<Frame> loader_stack() {
  return {
      {"poll", "/usr/lib/python3.11/selectors.py", 415},
      {"_try_get_data", "/venv/lib/python3.11/site-packages/torch/utils/data/dataloader.py", 1133},
      {"_next_data", "/venv/lib/python3.11/site-packages/torch/utils/data/dataloader.py", 1328},
      {"<module>", "/home/me/train.py", 87}};
}

}  // namespace robustrun::tracer
