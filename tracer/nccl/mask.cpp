#include "tracer/nccl/mask.h"

#include <atomic>

#include "tracer/nccl/abi.h"
#include "tracer/nccl/words.h"

namespace robustrun::tracer::nccl {
namespace {

constexpr std::uint64_t kSwitchable =
    abi::kProxyOp | abi::kProxyStep | abi::kProxyCtrl | abi::kKernelLaunch;
constexpr std::uint64_t kDefault = abi::kColl | abi::kP2p | abi::kProxyStep | abi::kKernelCh |
                                   abi::kCollApi | abi::kP2pApi | abi::kKernelLaunch;
static_assert(kDefault == 0xe56);

std::atomic<int*> g_mask{nullptr};
std::atomic<std::uint64_t> g_own{0};    // what we would choose
std::atomic<std::uint64_t> g_known{0};  // bits of the interface's version
std::atomic<std::uint64_t> g_wish{0};   // that is followed

void put(Tables& t, std::uint64_t wish) {
  const std::uint64_t own = g_own.load(std::memory_order_relaxed);
  std::uint64_t mask = own;
  if (wish != 0) {
    mask = (own & ~kSwitchable) | (wish & kSwitchable & g_known.load(std::memory_order_relaxed));
  }
  if (mask == 0) mask = own;
  int* const place = g_mask.load(std::memory_order_relaxed);
  if (place != nullptr) set(*place, static_cast<int>(mask));
  set(t.counters->event_mask, mask);
}

}  // namespace

bool set_mask(Tables& t, int version, int* mask) {
  const std::uint64_t known = abi::events_of(version);
  std::uint64_t own = mask_of_environment() & known;
  if (own == 0) own = kDefault & known;
  g_own.store(own, std::memory_order_relaxed);
  g_known.store(known, std::memory_order_relaxed);
  g_mask.store(mask, std::memory_order_relaxed);
  const std::uint64_t wish = get(*t.wanted_mask);
  g_wish.store(wish, std::memory_order_relaxed);
  set(t.counters->abi_version, static_cast<std::uint64_t>(version));
  put(t, wish);
  return (own & abi::kKernelCh) != 0;
}

void follow_wish(Tables& t) {
  const std::uint64_t wish = get(*t.wanted_mask);
  if (wish == g_wish.load(std::memory_order_relaxed)) return;
  g_wish.store(wish, std::memory_order_relaxed);
  put(t, wish);
}

}  // namespace robustrun::tracer::nccl
