#pragma once
// Limits the findings that the agent sends to the supervisor: their number, repetitions, and errors
// that two sources report. Pure.

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>

#include "base/core/clock.h"
#include "wire/messages/node_health.h"

namespace robustrun::agent {

// Lets pass, per minute and source, kFindingsPerMinute new findings and as many reports that one is
// over.
class FindingLimit {
 public:
  // Returns the finding to report; nullopt: it is dropped. The next finding that passes says in its
  // line how many were dropped.
  std::optional<wire::NodeHealth> admit(wire::NodeHealth finding, base::Nanos now);

 private:
  struct Quota {
    std::deque<base::Nanos> reported;  // within the last minute
    std::uint32_t left_out = 0;
  };
  // By source: quotas of new findings, then of findings that are over.
  std::array<Quota, 2 * wire::kHealthSources> quotas_;
};

// Recognises a topic that was reported less than `apart` ago.
class Repeats {
 public:
  explicit Repeats(base::Nanos apart) : apart_(apart) {}
  // Returns false the first time, then true until `apart` is over, then false again.
  bool is_repeated(const std::string& topic, base::Nanos now);

 private:
  base::Nanos apart_;
  std::map<std::string, base::Nanos> reported_;  // at most kKernelTopicsMax
};

// Recognises the second report of a GPU's error (Xid): the kernel's log and NVML both report it, in
// either order.
class XidEchoes {
 public:
  enum class Source : std::uint8_t { kKernelLog, kLibrary };
  // Whether the other source has reported the same error within kXidEcho before. Each report
  // suppresses at most one later report.
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
