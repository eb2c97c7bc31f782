#pragma once
// Limits what is reported: of each source kFindingsPerMinute new findings, and as many messages
// that a finding is over. The same trouble is reported once, however many records or sources report
// it. Pure.

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
  // Returns the finding to report; nullopt: it is dropped. The line of the next one that is not
  // dropped gives the number of dropped ones.
  std::optional<wire::NodeHealth> admit(wire::NodeHealth finding, base::Nanos now);

 private:
  struct Quota {
    std::deque<base::Nanos> reported;  // within the last minute
    std::uint32_t left_out = 0;
  };
  std::array<Quota, 2 * wire::kHealthSources> quotas_;  // new findings, then those that are over
};

// Remembers what was reported lately; a repetition within `apart` is recognised.
class Repeats {
 public:
  explicit Repeats(base::Nanos apart) : apart_(apart) {}
  // False the first time, then true until `apart` is over.
  bool is_repeated(const std::string& topic, base::Nanos now);

 private:
  base::Nanos apart_;
  std::map<std::string, base::Nanos> reported_;  // at most kKernelTopicsMax
};

// An error of a GPU is reported twice, by the kernel's log and by NVML, in either order.
class XidEchoes {
 public:
  enum class Source : std::uint8_t { kKernelLog, kLibrary };
  // Whether the other source has reported the same error within kXidEcho. A report has at most one
  // echo.
  bool is_echo(Source source, const std::string& pci, std::uint32_t xid, base::Nanos now);

 private:
  struct Report {
    Source source;
    std::string pci;
    std::uint32_t xid;
    base::Nanos at;
  };
  std::deque<Report> reported_;
};

}  // namespace robustrun::agent
