#pragma once
// Gets blocks: from the store, else from peers, else from the origin; each one once at a time,
// however many wait for it.
//
// Thread-safe; callers never wait. Reads of the store and requests to the origin run on threads of
// their own: one that hangs in a dead file system keeps its thread, and nobody else's. A request to
// the origin that failed is repeated with growing pauses while its budget lasts. What is asked for
// more urgently goes first: reads, clients, the profile, the rest; while a read waits for the
// origin, reading ahead leaves it room.

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
  std::chrono::nanoseconds retry_budget{std::chrono::seconds(60)};
  unsigned hot_in_flight = kHotInFlight;
  std::uint64_t cold_bytes_per_s = 0;  // 0: blocks that the profile does not name are not fetched
  bool is_prefetching = true;
  base::Nanos await_peers{};  // so long nothing is read ahead before set_peers()
};

class BlockSupply {
 public:
  // Asks a peer for a block, and does not wait; false: there is nobody to ask.
  using AskPeers = std::function<bool(std::uint64_t block)>;

  // All that it is given must outlive it and its threads: the program ends without its end.
  BlockSupply(BlockStore& store, Origin& origin, const base::Clock& clock,
              const SupplyOptions& options, const BlockProfile& profile);
  // Ends the threads that are idle or come back; waits for them. For tests, whose origins answer.
  ~BlockSupply();
  BlockSupply(const BlockSupply&) = delete;
  BlockSupply& operator=(const BlockSupply&) = delete;

  void want(std::uint64_t block, Urgency urgency, BlockReady ready);
  // Somebody read from the image, whether it was there or not: what nobody asked for can wait.
  void note_read() { last_read_ = clock_.now(); }
  // Runs on a thread for reads of the store.
  void run_local(std::move_only_function<void()> job);

  void set_peers(AskPeers ask);
  // Nothing: the peers have none of it.
  void peers_answered(std::uint64_t block, std::optional<std::string> bytes);
  // Nobody answers any more: what they were asked for comes from the origin.
  void peers_gone();

  // Its part of the status.
  void fill_status(BlockServerStatus& status) const;
  // The origin failed before anything was asked of it.
  void set_trouble(std::string why);
  // It says nothing at all; what it said last counts for more.
  void note_silence(const std::string& why);
  // Called with a sentence when the origin begins to fail, and when it answers again.
  using OnEvent = std::function<void(const std::string&, bool is_well)>;
  void on_event(OnEvent event);
  // Called with why, once: when a block cannot be kept in a store that has its files.
  void on_unkept(std::function<void(const std::string&)> unkept);

 private:
  using Job = std::move_only_function<void()>;
  static constexpr std::array kUrgencies = {Urgency::kDemand, Urgency::kClient, Urgency::kHot,
                                            Urgency::kCold};

  // Under the lock.
  Flight& start(std::uint64_t block, Urgency urgency);
  void queue(std::uint64_t block, const Flight& flight);  // into the queue of its stage
  void push_job(Urgency urgency, Job job);
  void to_origin(std::uint64_t block, Flight& flight);
  void ask_peers();
  [[nodiscard]] std::optional<std::uint64_t> next_request();
  [[nodiscard]] std::optional<std::uint64_t> pop(FlightQueue& queue, Urgency urgency,
                                                 FlightStage stage);
  void top_up();  // reads ahead, as far as there is room for it
  void top_up_cold(base::Nanos now);
  [[nodiscard]] bool is_plan_done() const;

  // On a thread of its own, taking the lock.
  void run_local_jobs();
  void look_into_store(std::uint64_t block);
  void keep_and_deliver(std::uint64_t block, std::span<const char> bytes);
  void tell_unkept(const std::string& why);
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
  std::atomic<base::Nanos> last_read_;  // a start follows, so the beginning counts as one

  mutable std::mutex mutex_;  // of all that follows
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
  std::function<void(const std::string&)> unkept_;  // none: nobody is told any more
  OriginMeter meter_;
  std::string trouble_;
  unsigned wants_ = 0;  // of peers, unanswered
  unsigned prefetch_requests_ = 0;  // threads with a request that nobody waits for
  base::Nanos prefetch_due_{};  // nothing is read ahead before
  base::Nanos cold_due_{};
  std::optional<base::Nanos> cold_since_;  // the blocks of the profile were there
  base::Nanos last_demand_{};
  std::uint64_t store_bytes_ = 0;
  std::uint64_t peer_bytes_ = 0;
  std::uint64_t origin_bytes_ = 0;
  std::uint64_t origin_failures_ = 0;
  std::uint64_t passed_ = 0;
  std::vector<std::thread> threads_;
};

}  // namespace robustrun::bootstrap
