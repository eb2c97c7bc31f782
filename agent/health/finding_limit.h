#pragma once
// How much of what is noticed is told: kFindingsPerMinute of each source, the same number of ends,
// and the same trouble once, however many records or sources tell of it. Pure.

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>

#include "base/core/clock.h"
#include "wire/messages/node_health.h"

namespace robustrun::agent {

class FindingLimit {
 public:
  // The finding as it may be told; the first one after some were left out says how many.
  std::optional<wire::NodeHealth> admit(wire::NodeHealth finding, base::Nanos now);

 private:
  struct Quota {
    std::deque<base::Nanos> told;  // within the last minute
    std::uint32_t left_out = 0;
  };
  std::array<Quota, 2 * wire::kHealthSources> quotas_;  // findings, then ends
};

// What was told lately. Repeated within `apart`, it is the same.
class Repeats {
 public:
  explicit Repeats(base::Nanos apart) : apart_(apart) {}
  // False the first time; then true until `apart` is over.
  bool is_repeated(const std::string& topic, base::Nanos now);

 private:
  base::Nanos apart_;
  std::map<std::string, base::Nanos> told_;  // at most kKernelTopicsMax
};

// An error of a GPU comes twice, from the kernel's log and from NVML, in either order.
class XidEchoes {
 public:
  enum class Teller : std::uint8_t { kKernelLog, kLibrary };
  // True when the other one has told it within kXidEcho, and not been matched yet.
  bool is_echo(Teller teller, const std::string& pci, std::uint32_t xid, base::Nanos now);

 private:
  struct Told {
    Teller teller;
    std::string pci;
    std::uint32_t xid;
    base::Nanos at;
  };
  std::deque<Told> told_;
};

}  // namespace robustrun::agent
