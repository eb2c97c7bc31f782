#pragma once
// What an agent noticed about its machine, as an event of the core. Plain data. Agents tell changes
// that matter, once each; what is done about one follows from the fault table and the policy.

#include <cstdint>
#include <string>

namespace robustrun::supervisor {

struct NodeHealth {
  enum class Source : std::uint8_t {
    kKernel,  // its log
    kGpu,  // the driver's library
    kNetwork,
    kDisk,  // and mounted file systems
    kMemory,
    kProcessor,
    kClock,
  };
  Source source = Source::kKernel;
  std::string subject;  // "GPU 3", "eth0", "/data"; printable
  std::string line;  // what was read, in one printable line
  std::uint32_t xid = 0;  // NVIDIA's code, if it is about one; 0: none
  bool over = false;  // it is well again
  template <class V>
  void fields(V& v) {
    v(1, "source", source);
    v(2, "subject", subject);
    v(3, "line", line);
    v(4, "xid", xid);
    v(5, "over", over);
  }
};

// "the kernel log", "the GPU driver", …
const char* to_string(NodeHealth::Source source);

}  // namespace robustrun::supervisor
