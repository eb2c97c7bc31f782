#include "agent/evidence/last_look.h"

#include <utility>

#include "agent/node/limits.h"

namespace robustrun::agent {

void LastLook::begin() {
  if (std::exchange(is_under_way_, true)) return;
  deadline_.after(kLastLookMax, [this] { end(); });
}

void LastLook::end() {
  if (!std::exchange(is_under_way_, false)) return;
  deadline_.cancel();
  if (stop_) std::exchange(stop_, nullptr)();
}

void LastLook::then(std::function<void()> stop) {
  stop_ = std::move(stop);
  if (!is_under_way_ && stop_) std::exchange(stop_, nullptr)();
}

}  // namespace robustrun::agent
