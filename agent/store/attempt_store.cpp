#include "agent/store/attempt_store.h"

#include "agent/process/port.h"
#include "agent/store/limits.h"
#include "base/io/log.h"

namespace robustrun::agent {

base::Status AttemptStore::open(std::uint16_t port) {
  store_.reset();
  is_used_ = false;
  store_ = RR_TRY(Store::listen(node_.executor, port, [this](const std::string& what) {
    RR_LOG(kWarn, {},
           "this torch asks its store for {}: from the next attempt on, rank 0's worker serves the "
           "store (--store=worker)",
           what);
    node_.started_with.agent_store = false;  // not now: other ranks may be using the store
  }));
  return {};
}

base::Result<std::uint16_t> AttemptStore::reserve(base::Rng& rng) {
  store_.reset();
  for (unsigned draw = 1;; ++draw) {
    const std::uint16_t port = RR_TRY(reserve_port(rng));
    if (!node_.started_with.agent_store) return port;
    const base::Status opened = open(port);
    if (opened) return port;
    if (opened.error().code != base::Errc::kConflict || draw == kStorePortsMax) {
      return std::unexpected(opened.error());
    }
  }
}

void AttemptStore::begin_attempt(const Place& place) {
  if (!node_.started_with.agent_store || !place.has_rank_zero) return store_.reset();
  const auto port = static_cast<std::uint16_t>(place.port);
  if (!store_ || store_->port() != port || is_used_) {
    if (const base::Status opened = open(port); !opened) {
      RR_LOG(kWarn, {}, "{}: rank 0's worker serves the store", opened.error().what);
      return leave_to_worker();
    }
  }
  is_used_ = true;
  const std::set<std::string> others(place.clients.begin(), place.clients.end());
  store_->serve(place.is_alone || !others.empty() ? Store::Clients(others) : std::nullopt);
}

void AttemptStore::end_attempt() {
  if (is_used_) store_.reset();
}

void AttemptStore::leave_to_worker() {
  node_.started_with.agent_store = false;
  store_.reset();
}

}  // namespace robustrun::agent
