// Any bytes as the answer of the helper that tries a profiler plugin: a plugin with an absolute
// path and versions, or a reason.

#include <cstdint>
#include <cstdlib>
#include <string>

#include "agent/spawn/profiler_slot.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace robustrun;
  using Slot = agent::ProfilerShare::Slot;
  const auto share = agent::read_plugin(std::string(reinterpret_cast<const char*>(data), size));
  if (share.slot == Slot::kFree) std::abort();
  const bool is_shared = share.slot == Slot::kShared;
  if (is_shared != share.reason.empty()) std::abort();
  if (is_shared && (!share.behind.starts_with('/') || share.versions.empty())) std::abort();
  if (share.versions.size() > 13) std::abort();  // seven digits with spaces between them
  return 0;
}
