#include "agent/worker/saves_gate.h"

#include <utility>

#include "base/io/log.h"

namespace robustrun::agent {

void SavesGate::begin_attempt(bool is_shut) {
  timer_.cancel();
  waiting_.clear();
  is_shut_ = is_shut;
  if (!is_shut) return;
  timer_.after(most_, [this] {
    RR_LOG(kWarn, {},
           "no report that the previous attempt's copies in memory are saved; workers no longer "
           "wait for it");
    open();
  });
}

void SavesGate::open() {
  timer_.cancel();
  is_shut_ = false;
  for (const auto& go : std::exchange(waiting_, {})) go();
}

void SavesGate::when_open(std::function<void()> go) {
  if (!is_shut_) return go();
  waiting_.push_back(std::move(go));  // bounded: a worker has few connections, with one wait each
}

}  // namespace robustrun::agent
