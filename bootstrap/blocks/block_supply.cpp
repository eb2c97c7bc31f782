#include "bootstrap/blocks/block_supply.h"

#include <algorithm>
#include <span>
#include <utility>

#include "base/io/log.h"

namespace robustrun::bootstrap {

using base::Nanos;

namespace {

std::vector<bool> blocks_there(const BlockStore& store) {
  const auto present = store.present();
  if (present) return *present;
  RR_LOG(kWarn, ({}), "{}", present.error().what);
  return std::vector<bool>(store.blocks());
}

}  // namespace

BlockSupply::BlockSupply(BlockStore& store, Origin& origin, const base::Clock& clock,
                         const SupplyOptions& options, const BlockProfile& profile)
    : store_(store),
      origin_(origin),
      clock_(clock),
      options_(options),
      last_read_(clock.now()),
      plan_(profile, blocks_there(store)),
      prefetch_due_(clock.now() + options.await_peers) {
  for (unsigned i = 0; i < kLocalThreads; ++i) {
    threads_.emplace_back([this] { run_local_jobs(); });
  }
  for (unsigned i = 0; i < kDemandThreads + options_.hot_in_flight; ++i) {
    threads_.emplace_back([this] { run_requests(); });
  }
  threads_.emplace_back([this] { run_ticks(); });
}

BlockSupply::~BlockSupply() {
  {
    const std::lock_guard lock(mutex_);
    is_over_ = true;
  }
  local_wake_.notify_all();
  origin_wake_.notify_all();
  tick_wake_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void BlockSupply::want(std::uint64_t block, Urgency urgency, BlockReady ready) {
  RR_ASSERT(block < store_.blocks());
  const std::lock_guard lock(mutex_);
  if (urgency == Urgency::kDemand) last_demand_ = clock_.now();
  Flight* flight = flights_.find(block);
  if (flight == nullptr) {
    flight = &start(block, urgency);
  } else if (urgency < flight->urgency) {
    flights_.raise(*flight, urgency, clock_.now());
    flight->tries = 0;
    if (flight->stage == FlightStage::kPause) flights_.move_to(*flight, FlightStage::kOriginQueue);
    queue(block, *flight);
  }
  flight->waiters.push_back(std::move(ready));
}

void BlockSupply::run_local(Job job) {
  const std::lock_guard lock(mutex_);
  push_job(Urgency::kDemand, std::move(job));
}

void BlockSupply::set_peers(AskPeers ask) {
  const std::lock_guard lock(mutex_);
  ask_ = std::move(ask);
  if (options_.await_peers > Nanos{}) prefetch_due_ = clock_.now();
}

void BlockSupply::peers_answered(std::uint64_t block, std::optional<std::string> bytes) {
  const std::lock_guard lock(mutex_);
  Flight* const flight = flights_.find(block);
  if (flight == nullptr || flight->stage != FlightStage::kPeers) return;
  --wants_;
  if (bytes && bytes->size() == bytes_of_block(store_.length(), block)) {
    flights_.move_to(*flight, FlightStage::kLocal);
    peer_bytes_ += bytes->size();
    push_job(flight->urgency, [this, block, kept = *std::move(bytes)] {
      keep_and_deliver(block, {kept.data(), kept.size()});
    });
  } else {
    to_origin(block, *flight);
  }
  ask_peers();
}

void BlockSupply::peers_gone() {
  const std::lock_guard lock(mutex_);
  ask_ = nullptr;
  for (const std::uint64_t block : flights_.in_stage(FlightStage::kPeers)) {
    --wants_;
    to_origin(block, *flights_.find(block));
  }
  ask_peers();
}

void BlockSupply::fill_status(BlockServerStatus& status) const {
  const std::lock_guard lock(mutex_);
  status.is_hot_done = plan_.is_hot_done();
  status.is_all_done = plan_.is_all_done();
  status.hot_blocks = plan_.hot_blocks();
  status.stored_blocks = plan_.stored_blocks();
  status.store_bytes += store_bytes_;
  status.peer_bytes = peer_bytes_;
  status.origin_bytes = origin_bytes_;
  status.demand_fetches = flights_.demand_fetches();
  status.origin_failures = origin_failures_;
  status.rotten = store_.rotten();
  status.passed = passed_;
  status.origin_latency_us = meter_.latency_us();
  status.origin_bytes_per_s = meter_.bytes_per_s();
  status.trouble = trouble_;
}

void BlockSupply::set_trouble(std::string why) {
  const std::lock_guard lock(mutex_);
  trouble_ = std::move(why);
}

void BlockSupply::note_silence(const std::string& why) {
  const std::lock_guard lock(mutex_);
  if (trouble_.empty()) trouble_ = why;
}

void BlockSupply::on_event(OnEvent event) {
  const std::lock_guard lock(mutex_);
  event_ = std::move(event);
}

void BlockSupply::on_unkept(std::function<void(const std::string&)> unkept) {
  const std::lock_guard lock(mutex_);
  unkept_ = std::move(unkept);
}

Flight& BlockSupply::start(std::uint64_t block, Urgency urgency) {
  Flight& flight = flights_.start(block, urgency, clock_.now());
  queue(block, flight);
  tick_wake_.notify_one();
  return flight;
}

void BlockSupply::queue(std::uint64_t block, const Flight& flight) {
  if (flight.stage == FlightStage::kLocalQueue) {
    push_job(flight.urgency, [this, block] { look_into_store(block); });
  } else if (flight.stage == FlightStage::kPeerQueue) {
    peer_queue_.push(flight.urgency, block);
  } else if (flight.stage == FlightStage::kOriginQueue) {
    origin_queue_.push(flight.urgency, block);
    origin_wake_.notify_one();
  }
}

void BlockSupply::push_job(Urgency urgency, Job job) {
  jobs_[static_cast<std::size_t>(urgency)].push_back(std::move(job));
  local_wake_.notify_one();
}

void BlockSupply::to_origin(std::uint64_t block, Flight& flight) {
  flights_.move_to(flight, FlightStage::kOriginQueue);
  queue(block, flight);
}

std::optional<std::uint64_t> BlockSupply::pop(FlightQueue& queue, Urgency urgency,
                                              FlightStage stage) {
  return queue.pop(urgency, [&](std::uint64_t block) {
    const Flight* const flight = flights_.find(block);
    return flight != nullptr && flight->stage == stage && flight->urgency == urgency;
  });
}

void BlockSupply::ask_peers() {
  for (const Urgency urgency : kUrgencies) {
    while (wants_ < kWantsInFlight) {
      const auto block = pop(peer_queue_, urgency, FlightStage::kPeerQueue);
      if (!block) break;
      Flight& flight = *flights_.find(*block);
      if (!ask_ || !ask_(*block)) {
        to_origin(*block, flight);
        continue;
      }
      flights_.move_to(flight, FlightStage::kPeers);
      flight.due = clock_.now() + kPeerDeadline;
      ++wants_;
    }
  }
}

void BlockSupply::run_ticks() {
  std::unique_lock lock(mutex_);
  while (!is_over_) {
    for (const std::uint64_t block : flights_.due(clock_.now())) {
      Flight& flight = *flights_.find(block);
      if (flight.stage == FlightStage::kPeers) --wants_;
      to_origin(block, flight);
    }
    ask_peers();
    top_up();
    const bool is_idle = flights_.empty() && (!options_.is_prefetching || is_plan_done());
    if (is_idle) {
      tick_wake_.wait(lock);
    } else {
      tick_wake_.wait_for(lock, kSupplyTick);
    }
  }
}

bool BlockSupply::is_plan_done() const {
  return plan_.is_hot_done() && (options_.cold_bytes_per_s == 0 || plan_.is_all_done());
}

void BlockSupply::top_up() {
  const Nanos now = clock_.now();
  if (!options_.is_prefetching || is_over_ || now < prefetch_due_ || is_plan_done()) return;
  bool is_round_over = plan_.is_hot_done();
  while (!is_round_over && flights_.prefetching() < options_.hot_in_flight) {
    const auto block = plan_.next_hot();
    is_round_over = !block;
    if (block && flights_.find(*block) == nullptr) start(*block, Urgency::kHot);
  }
  if (plan_.is_hot_done()) return top_up_cold(now);
  if (!is_round_over || flights_.prefetching() > 0) return;
  plan_.start_round();
  prefetch_due_ = now + kPrefetchPause;
}

void BlockSupply::top_up_cold(Nanos now) {
  if (options_.cold_bytes_per_s == 0 || now < last_demand_ + kColdQuiet) return;
  if (!cold_since_) cold_since_ = now;
  // Reads go on: this machine has the blocks it needs, but other machines may not have them yet.
  if (now < last_read_.load() + kColdRest && now < *cold_since_ + kColdPatience) return;
  const Nanos pause(
      static_cast<std::int64_t>(kBlockBytes * 1'000'000'000 / options_.cold_bytes_per_s));
  while (now >= cold_due_ && flights_.prefetching() < kColdInFlight) {
    const auto block = plan_.next_cold();
    if (!block) {
      if (flights_.prefetching() > 0) return;
      plan_.start_round();
      prefetch_due_ = now + kPrefetchPause;
      return;
    }
    if (flights_.find(*block) != nullptr) continue;
    start(*block, Urgency::kCold);
    // Make up for a late tick, but not for a long pause.
    cold_due_ = std::max(cold_due_, now - Nanos(kSupplyTick)) + pause;
  }
}

// What the threads run. Unlike the methods above, these take the lock themselves.

void BlockSupply::run_local_jobs() {
  std::unique_lock lock(mutex_);
  while (!is_over_) {
    const auto jobs = std::ranges::find_if(jobs_, [](const auto& each) { return !each.empty(); });
    if (jobs == jobs_.end()) {
      local_wake_.wait(lock);
      continue;
    }
    auto job = std::move(jobs->front());
    jobs->pop_front();
    lock.unlock();
    job();
    job = nullptr;
    lock.lock();
  }
}

void BlockSupply::look_into_store(std::uint64_t block) {
  {
    const std::lock_guard lock(mutex_);
    Flight* const flight = flights_.find(block);
    if (flight == nullptr || flight->stage != FlightStage::kLocalQueue) return;
    flights_.move_to(*flight, FlightStage::kLocal);
  }
  thread_local std::vector<char> buffer(kBlockBytes);
  const std::span bytes(buffer.data(), bytes_of_block(store_.length(), block));
  const auto found = store_.read(block, bytes);
  if (found && *found) return deliver(block, bytes, true, bytes.size());
  if (!found) RR_LOG(kWarn, ({}), "{}", found.error().what);
  const std::lock_guard lock(mutex_);
  Flight& flight = *flights_.find(block);
  flights_.move_to(flight, FlightStage::kPeerQueue);
  queue(block, flight);
  ask_peers();
}

void BlockSupply::keep_and_deliver(std::uint64_t block, std::span<const char> bytes) {
  const auto kept = store_.keep(block, bytes);
  deliver(block, bytes, kept && *kept, 0);
  if (kept && *kept) return;
  report_unkept(kept ? "its cache is full: the disk, a quota, or --cache-max" : kept.error().what);
}

void BlockSupply::report_unkept(const std::string& why) {
  RR_LOG(kDebug, ({}), "a block is not kept: {}", why);
  if (!store_.obstacle().empty()) return;  // already reported
  std::function<void(const std::string&)> unkept;
  {
    const std::lock_guard lock(mutex_);
    unkept = std::exchange(unkept_, nullptr);
  }
  if (unkept) unkept(why);
}

void BlockSupply::deliver(std::uint64_t block, std::span<const char> bytes, bool is_kept,
                          std::uint64_t from_store) {
  std::vector<BlockReady> waiters;
  {
    const std::lock_guard lock(mutex_);
    waiters = flights_.end(block);
    store_bytes_ += from_store;
    if (is_kept) {
      plan_.mark_there(block);
    } else {
      ++passed_;
      prefetch_due_ = clock_.now() + kFullPause;
    }
    top_up();
  }
  for (BlockReady& ready : waiters) {
    if (ready) ready(bytes);
  }
}

void BlockSupply::run_requests() {
  std::vector<char> buffer;
  std::unique_lock lock(mutex_);
  while (!is_over_) {
    const auto block = next_request();
    if (!block) {
      origin_wake_.wait(lock);
      continue;
    }
    Flight& flight = *flights_.find(*block);
    const bool is_prefetch = flight.urgency >= Urgency::kHot;
    flights_.move_to(flight, FlightStage::kOrigin);
    prefetch_requests_ += is_prefetch ? 1 : 0;
    lock.unlock();
    buffer.resize(kBlockBytes);
    request(*block, {buffer.data(), bytes_of_block(store_.length(), *block)});
    lock.lock();
    prefetch_requests_ -= is_prefetch ? 1 : 0;
    origin_wake_.notify_one();  // there may be room for another request
  }
}

std::optional<std::uint64_t> BlockSupply::next_request() {
  const unsigned prefetch_max =
      flights_.demand_waiting() > 0 ? kHotInFlightBusy : options_.hot_in_flight;
  for (const Urgency urgency : kUrgencies) {
    if (urgency >= Urgency::kHot && prefetch_requests_ >= prefetch_max) break;
    if (const auto block = pop(origin_queue_, urgency, FlightStage::kOriginQueue)) return block;
  }
  return std::nullopt;
}

void BlockSupply::request(std::uint64_t block, std::span<char> bytes) {
  const auto first_byte = origin_.read(block * kBlockBytes, bytes);
  if (!first_byte) return request_failed(block, first_byte.error());
  OnEvent event;
  {
    const std::lock_guard lock(mutex_);
    origin_bytes_ += bytes.size();
    meter_.add(clock_.now(), bytes.size(), *first_byte);
    if (!trouble_.empty()) event = event_;
    trouble_.clear();
  }
  if (event) event("the source answers again", true);
  keep_and_deliver(block, bytes);
}

void BlockSupply::request_failed(std::uint64_t block, const base::Error& error) {
  std::vector<BlockReady> waiters;
  OnEvent event;
  {
    const std::lock_guard lock(mutex_);
    ++origin_failures_;
    if (trouble_ != error.what) event = event_;
    trouble_ = error.what;
    Flight& flight = *flights_.find(block);
    const Nanos now = clock_.now();
    const Nanos pause =
        std::min<Nanos>(kRetryPauseMax, kRetryFirst * (1U << std::min(flight.tries, 10U)));
    ++flight.tries;
    if (is_worth_retrying(error) && now + pause - flight.since < options_.retry_budget) {
      flights_.move_to(flight, FlightStage::kPause);
      flight.due = now + pause;
    } else {
      if (flight.urgency >= Urgency::kHot) prefetch_due_ = now + kPrefetchPause;
      waiters = flights_.end(block);
    }
  }
  if (event) event(error.what, false);
  for (BlockReady& ready : waiters) {
    if (ready) ready(std::unexpected(error));
  }
}

}  // namespace robustrun::bootstrap
