#pragma once
// The blocks that are being fetched, and the stage of each fetch (a flight). block_supply.cpp moves
// flights from stage to stage. Has no threads and no lock: callers hold one.

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "base/core/clock.h"
#include "base/core/result.h"

namespace robustrun::bootstrap {

// Why a block is fetched, the most urgent first. kDemand: a read through the mount waits for the
// block. kClient: a client of the socket waits for it. kHot: prefetching of blocks in the profile.
// kCold: prefetching of other blocks.
enum class Urgency : std::uint8_t { kDemand, kClient, kHot, kCold };

// Receives all bytes of a block, valid only during the call, or an error. Called once, on any
// thread.
using BlockReady = std::move_only_function<void(base::Result<std::span<const char>>)>;

enum class FlightStage : std::uint8_t {
  kLocalQueue,  // waits for a thread that reads the store
  kLocal,  // being read from the store, or written to it
  kPeerQueue,  // waits until a peer may be asked
  kPeers,  // a peer was asked
  kOriginQueue,  // waits for a thread that asks the origin
  kOrigin,  // the origin was asked
  kPause,  // the origin failed; waits for the next try
};

struct Flight {
  Urgency urgency = Urgency::kCold;
  FlightStage stage = FlightStage::kLocalQueue;
  base::Nanos since{};  // start of its retry budget
  base::Nanos due{};  // kPeers: when to ask the origin instead; kPause: when to retry
  unsigned tries = 0;  // failed requests to the origin
  std::vector<BlockReady> waiters;
};

// Queues of blocks by urgency. When a block's urgency is raised, its old entry stays in the queue;
// pop() skips it.
class FlightQueue {
 public:
  void push(Urgency urgency, std::uint64_t block) { queues_[index(urgency)].push_back(block); }
  // Removes and returns the first block of `urgency` for which `is_waiting(block)` is true, and
  // drops the blocks before it.
  template <class IsWaiting>
  std::optional<std::uint64_t> pop(Urgency urgency, IsWaiting&& is_waiting) {
    auto& queue = queues_[index(urgency)];
    while (!queue.empty()) {
      const std::uint64_t block = queue.front();
      queue.pop_front();
      if (is_waiting(block)) return block;
    }
    return std::nullopt;
  }

 private:
  static std::size_t index(Urgency urgency) { return static_cast<std::size_t>(urgency); }
  std::array<std::deque<std::uint64_t>, 4> queues_;
};

class Flights {
 public:
  [[nodiscard]] Flight* find(std::uint64_t block);
  Flight& start(std::uint64_t block, Urgency urgency, base::Nanos now);
  void move_to(Flight& flight, FlightStage stage);
  // Makes the flight more urgent and restarts its budget.
  void raise(Flight& flight, Urgency urgency, base::Nanos now);
  // Removes the flight and returns its waiters.
  [[nodiscard]] std::vector<BlockReady> end(std::uint64_t block);
  // Blocks in kPeers or kPause whose time has come.
  [[nodiscard]] std::vector<std::uint64_t> due(base::Nanos now) const;
  [[nodiscard]] std::vector<std::uint64_t> in_stage(FlightStage stage) const;

  [[nodiscard]] bool empty() const { return flights_.empty(); }
  // Number of prefetches.
  [[nodiscard]] unsigned prefetching() const { return prefetching_; }
  // Number of blocks that reads wait for because they are not in the store: now, and in total.
  [[nodiscard]] unsigned demand_waiting() const { return demand_waiting_; }
  [[nodiscard]] std::uint64_t demand_fetches() const { return demand_fetches_; }

 private:
  void count(const Flight& flight, bool is_added);
  static bool is_prefetch(const Flight& flight) { return flight.urgency >= Urgency::kHot; }
  static bool is_awaited(const Flight& flight) {
    return flight.urgency == Urgency::kDemand && flight.stage >= FlightStage::kPeerQueue;
  }

  std::unordered_map<std::uint64_t, Flight> flights_;
  unsigned prefetching_ = 0;
  unsigned demand_waiting_ = 0;
  std::uint64_t demand_fetches_ = 0;
};

}  // namespace robustrun::bootstrap
