#pragma once
// The row "update" of the control server's table: `robustrun update` asks for another version of
// what the run's workers are.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "base/core/clock.h"
#include "base/core/result.h"
#include "supervisor/control/server.h"
#include "supervisor/core/job/job.h"

namespace robustrun::supervisor {

struct UpdateOrder {
  std::string stage{};   // version_store.h; empty: go back
  // None: from the version that the next attempt would have to the one before it that worked.
  std::optional<std::uint32_t> back_to{};
  bool now = false;
  base::Nanos within{};   // 0: whenever there is a restart
};

[[nodiscard]] ControlFields to_fields(const UpdateOrder& order);
[[nodiscard]] base::Result<UpdateOrder> read_update_order(const ControlFields& fields);

struct UpdateHands {
  std::function<const Job&()> job;
  std::function<void(UpdateRequested)> record;
  std::string run_directory;
  bool many_machines = false;   // which may not all see the run directory
};

// Answers `version` and `text`, what becomes of it in words. What the hands hold must outlive the
// server.
[[nodiscard]] ControlServer::Row update_row(UpdateHands hands);

}  // namespace robustrun::supervisor
