#pragma once
// Supplies blocks: from the store; if a block is missing there, from peers; and if no peer has it,
// from the origin. A block is fetched only once at a time, even if several callers wait for it.
//
// Thread-safe; callers never wait. Reads of the store and requests to the origin run on threads of
// their own, so a call that hangs in a dead file system blocks only its own thread. A failed
// request to the origin is repeated with growing pauses until the block's retry budget is used up.
// Requests are served by urgency (flights.h). While a read waits for a peer or the origin, fewer
// blocks are prefetched.

#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "base/core/clock.h"
#include "base/core/result.h"
#include "bootstrap/blocks/flights.h"
#include "bootstrap/blocks/limits.h"
#include "bootstrap/blocks/origin.h"
#include "bootstrap/blocks/origin_meter.h"
#include "bootstrap/blocks/prefetch_plan.h"
#include "bootstrap/hot/block_profile.h"
#include "bootstrap/store/block_protocol.h"
#include "bootstrap/store/block_store.h"

namespace robustrun::bootstrap {

struct SupplyOptions {
  std::chrono::nanoseconds retry_budget{std::chrono::seconds(60)};  // for each block
  unsigned hot_in_flight = kHotInFlight;
  std::uint64_t cold_bytes_per_s = 0;  // 0: blocks that are not in the profile are not prefetched
  bool is_prefetching = true;
  base::Nanos await_peers{};  // how long prefetching waits for set_peers()
};

class BlockSupply {
 public:
  // Asks a peer for a block without waiting. Returns false if no peer can be asked.
  using AskPeers = std::function<bool(std::uint64_t block)>;

  // `store`, `origin` and `clock` must outlive this object and its threads. robustrun-blocks never
  // destroys this object, because its threads may hang.
  BlockSupply(BlockStore& store, Origin& origin, const base::Clock& clock,
              const SupplyOptions& options, const BlockProfile& profile);
  // Joins all threads. For tests, whose origins do not hang.
  ~BlockSupply();
  BlockSupply(const BlockSupply&) = delete;
  BlockSupply& operator=(const BlockSupply&) = delete;

  // Requests a block. `ready` gets its bytes or an error: a permanent error at once, another one
  // when the retry budget is used up. `ready` may be empty.
  void want(std::uint64_t block, Urgency urgency, BlockReady ready);
  // Notes a read from the image, whether or not its blocks were present. Prefetching of blocks that
  // are not in the profile waits while reads go on.
  void note_read() { last_read_ = clock_.now(); }
  // Runs `job` on a thread for reads of the store.
  void run_local(std::move_only_function<void()> job);

  void set_peers(AskPeers ask);
  // The reply to AskPeers. nullopt: no peer has the block.
  void peers_answered(std::uint64_t block, std::optional<std::string> bytes);
  // No peer answers any more: blocks requested from them come from the origin.
  void peers_gone();

  // Fills in the members that the supply knows; adds to `store_bytes`.
  void fill_status(BlockServerStatus& status) const;
  // Sets the fault that the origin had when it was opened.
  void set_trouble(std::string why);
  // Notes that the origin is silent, unless it has reported a fault.
  void note_silence(const std::string& why);
  // Called with a sentence when the origin begins to fail or fails for another cause, and when it
  // answers again (`is_well`).
  using OnEvent = std::function<void(const std::string&, bool is_well)>;
  void on_event(OnEvent event);
  // `unkept` is called at most once, with the cause, when the store is open but cannot keep a
  // block, for example because the cache is full. It is not called for a store with an obstacle().
  void on_unkept(std::function<void(const std::string&)> unkept);

 private:
  using Job = std::move_only_function<void()>;
  static constexpr std::array kUrgencies = {Urgency::kDemand, Urgency::kClient, Urgency::kHot,
                                            Urgency::kCold};

  // These require the lock.
  Flight& start(std::uint64_t block, Urgency urgency);
  void queue(std::uint64_t block, const Flight& flight);  // puts it into the queue of its stage
  void push_job(Urgency urgency, Job job);
  void to_origin(std::uint64_t block, Flight& flight);
  void ask_peers();
  [[nodiscard]] std::optional<std::uint64_t> next_request();
  [[nodiscard]] std::optional<std::uint64_t> pop(FlightQueue& queue, Urgency urgency,
                                                 FlightStage stage);
  void top_up();  // starts prefetches while there is room
  void top_up_cold(base::Nanos now);
  [[nodiscard]] bool is_plan_done() const;

  // Run on the supply's threads and take the lock themselves.
  void run_local_jobs();
  void look_into_store(std::uint64_t block);
  void keep_and_deliver(std::uint64_t block, std::span<const char> bytes);
  void report_unkept(const std::string& why);
  void deliver(std::uint64_t block, std::span<const char> bytes, bool is_kept,
               std::uint64_t from_store);
  void run_requests();
  void request(std::uint64_t block, std::span<char> bytes);
  void request_failed(std::uint64_t block, const base::Error& error);
  void run_ticks();

  BlockStore& store_;
  Origin& origin_;
  const base::Clock& clock_;
  const SupplyOptions options_;
  std::atomic<base::Nanos> last_read_;  // at first the time of construction: reads follow soon

  mutable std::mutex mutex_;  // guards the members below
  std::condition_variable local_wake_;
  std::condition_variable origin_wake_;
  std::condition_variable tick_wake_;
  bool is_over_ = false;
  Flights flights_;
  PrefetchPlan plan_;
  FlightQueue peer_queue_;
  FlightQueue origin_queue_;
  std::array<std::deque<Job>, kUrgencies.size()> jobs_;
  AskPeers ask_;
  OnEvent event_;
  std::function<void(const std::string&)> unkept_;  // empty after the first call
  OriginMeter meter_;
  std::string trouble_;
  unsigned wants_ = 0;  // pending requests to peers
  unsigned prefetch_requests_ = 0;  // threads with a prefetch request
  base::Nanos prefetch_due_{};  // no prefetching before this time
  base::Nanos cold_due_{};
  std::optional<base::Nanos> cold_since_;  // since when all blocks of the profile have been present
  base::Nanos last_demand_{};
  std::uint64_t store_bytes_ = 0;
  std::uint64_t peer_bytes_ = 0;
  std::uint64_t origin_bytes_ = 0;
  std::uint64_t origin_failures_ = 0;
  std::uint64_t passed_ = 0;  // blocks that were delivered but not kept
  std::vector<std::thread> threads_;
};

}  // namespace robustrun::bootstrap
