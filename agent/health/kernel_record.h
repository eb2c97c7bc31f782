#pragma once
// Parses records of the kernel's log (/dev/kmsg, Documentation/ABI/testing/dev-kmsg), and finds
// those that report trouble of the machine. Pure.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/core/clock.h"
#include "wire/messages/node_health.h"

namespace robustrun::agent {

struct KernelRecord {
  // As in syslog(3): 0 is the kernel itself, 1 any process that writes to /dev/kmsg.
  unsigned facility = 0;
  unsigned level = 0;
  std::uint64_t sequence = 0;
  base::Nanos at{};       // since boot
  std::string_view text;  // part of the parsed line
};

// Parses "4,1234,5678901,-[,…];text". nullopt: not a record, or a line of the dictionary that
// follows a record (it begins with a space).
std::optional<KernelRecord> parse_kernel_record(std::string_view line);

// A record that reports trouble.
struct KernelNews {
  wire::NodeHealth finding;
  std::string topic;  // equal for records that report the same trouble of the same device
  std::string pci;    // of a GPU's error: "0000:3b:00"; otherwise empty
};

// nullopt: the record reports no trouble, or its facility is neither 0 nor 1.
std::optional<KernelNews> kernel_news(const KernelRecord& record);

// True for "mlx5_core 0000:3b:00.0 eth2: Link down", "eth0: NIC Link is Up …". The network
// interfaces should then be examined, because the record itself says too little.
bool tells_of_link(const KernelRecord& record);

}  // namespace robustrun::agent
