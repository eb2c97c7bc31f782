#pragma once
// The request of `robustrun inject` to a running supervisor, and its answer, as fields of control
// messages and back. Pure.

#include <cstdint>
#include <optional>
#include <string>

#include "base/core/ids.h"
#include "base/core/result.h"
#include "supervisor/control/json.h"
#include "wire/messages/injection.h"

namespace robustrun::supervisor {

struct FaultRequest {
  wire::FaultKind kind = wire::FaultKind::kKill;
  std::optional<base::Rank> rank;
  std::string node;              // a name or an address; empty: none named
  std::uint64_t draw = 0;        // random; chooses among the possible targets
  base::Nanos duration{};
  base::Nanos delay{};
};

// What was done, and to which target.
struct FaultReport {
  std::optional<base::Rank> rank;
  std::string node;
  std::int32_t pid = 0;
  std::string done;
};

[[nodiscard]] ControlFields to_fields(const FaultRequest& request);
[[nodiscard]] base::Result<FaultRequest> read_fault_request(const ControlFields& fields);
[[nodiscard]] ControlFields to_fields(const FaultReport& report);
[[nodiscard]] base::Result<FaultReport> read_fault_report(const ControlFields& fields);

}  // namespace robustrun::supervisor
