#include "bootstrap/blocks/block_supply.h"

#include <algorithm>
#include <span>
#include <utility>

#include "base/io/log.h"

namespace robustrun::bootstrap {

using base::Nanos;

// What the threads do: what follows takes the lock itself.

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
  tell_unkept(kept ? "its cache is full: the disk, a quota, or --cache-max" : kept.error().what);
}

void BlockSupply::tell_unkept(const std::string& why) {
  RR_LOG(kDebug, ({}), "a block is not kept: {}", why);
  if (!store_.obstacle().empty()) return;  // that was told
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
    origin_wake_.notify_one();  // there may be room for another one
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
