// Any bytes as a message on a worker's socket: one small JSON object comes back.

#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "agent/node/worker_json.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  robustrun::agent::ControlState state;
  const std::string reply =
      robustrun::agent::answer_control_message({reinterpret_cast<const char*>(data), size}, state);
  (void)robustrun::agent::memory_wanted({reinterpret_cast<const char*>(data), size});
  if (reply.size() > 1024 || !reply.starts_with('{') || !reply.ends_with('}')) std::abort();
  return 0;
}
