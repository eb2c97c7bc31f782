#include "tracer/nccl/mask.h"

#include <atomic>

#include "tracer/nccl/abi.h"
#include "tracer/nccl/behind.h"
#include "tracer/nccl/words.h"
#include "tracer/record_collectives.h"

namespace robustrun::tracer::nccl {
namespace {

constexpr std::uint64_t kFlows = abi::kProxyOp | abi::kProxyStep;
constexpr std::uint64_t kSwitchable = kFlows | abi::kProxyCtrl | abi::kKernelLaunch;
constexpr std::uint64_t kDefault = abi::kColl | abi::kP2p | abi::kProxyStep | abi::kKernelCh |
                                   abi::kCollApi | abi::kP2pApi | abi::kKernelLaunch |
                                   abi::kKernelPhase;
static_assert(kDefault == 0x8e56);
static_assert(kEventsWithoutSteps == (kDefault & ~kFlows & ~abi::kKernelPhase));
constexpr std::uint64_t kSettlesAfterNs = 1'000'000'000;

std::atomic<int*> g_mask{nullptr};
std::atomic<std::uint64_t> g_own{0};    // the plugin's default
std::atomic<std::uint64_t> g_known{0};  // the bits of the interface's version
std::atomic<std::uint64_t> g_wish{0};   // the request in force
std::atomic<std::uint64_t> g_behind{0};  // what the plugin behind ours asks for
std::atomic<std::uint64_t> g_flows_since_ns{0};  // when they were switched on
std::atomic<bool> g_has_flows{false};

// Without kernel events an operation is done when its flows are, so flows cannot be switched off.
std::uint64_t switchable(std::uint64_t own) {
  return (own & abi::kKernelCh) != 0 ? kSwitchable : kSwitchable & ~kFlows;
}

void put(Tables& t, std::uint64_t wish, std::uint64_t now_ns) {
  const std::uint64_t own = g_own.load(std::memory_order_relaxed);
  std::uint64_t mask = own;
  if (wish != 0) {
    const std::uint64_t known = g_known.load(std::memory_order_relaxed);
    mask = (own & ~switchable(own)) | (wish & switchable(own) & known);
  }
  if (mask == 0) mask = own;
  mask |= g_behind.load(std::memory_order_relaxed);
  const bool has_flows = (mask & kFlows) != 0;
  if (!g_has_flows.exchange(has_flows, std::memory_order_relaxed) && has_flows) {
    g_flows_since_ns.store(now_ns, std::memory_order_relaxed);
  }
  int* const place = g_mask.load(std::memory_order_relaxed);
  if (place != nullptr) set(*place, static_cast<int>(mask));
  set(t.counters->event_mask, mask);
}

}  // namespace

bool set_mask(Tables& t, int version, int* mask, std::uint64_t now_ns) {
  const bool is_first = g_mask.load(std::memory_order_relaxed) == nullptr;
  const std::uint64_t known = abi::events_of(version);
  std::uint64_t own = mask_of_environment() & known;
  if (own == 0) own = kDefault & known;
  g_own.store(own, std::memory_order_relaxed);
  g_known.store(known, std::memory_order_relaxed);
  g_mask.store(mask, std::memory_order_relaxed);
  const std::uint64_t wish = get(*t.wanted_mask);
  g_wish.store(wish, std::memory_order_relaxed);
  g_behind.store(events_behind(), std::memory_order_relaxed);
  set(t.counters->abi_version, static_cast<std::uint64_t>(version));
  put(t, wish, is_first ? 0 : now_ns);
  return (own & abi::kKernelCh) != 0;
}

void follow_wish(Tables& t, std::uint64_t now_ns) {
  const std::uint64_t wish = get(*t.wanted_mask);
  const std::uint64_t behind = events_behind();
  if (wish == g_wish.load(std::memory_order_relaxed) &&
      behind == g_behind.load(std::memory_order_relaxed)) {
    return;
  }
  g_wish.store(wish, std::memory_order_relaxed);
  g_behind.store(behind, std::memory_order_relaxed);
  put(t, wish, now_ns);
}

bool tells_flows(std::uint64_t now_ns) {
  if (!g_has_flows.load(std::memory_order_relaxed)) return false;
  const std::uint64_t since = g_flows_since_ns.load(std::memory_order_relaxed);
  return since == 0 || now_ns >= since + kSettlesAfterNs;
}

}  // namespace robustrun::tracer::nccl
