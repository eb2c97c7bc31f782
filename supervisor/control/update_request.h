#pragma once
// The row "update" of the control server's table: `robustrun update` requests another version of
// the run's code, environment or arguments.

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
  // Name of the folder in which the command has prepared the new version (make_stage() of
  // run_dir/version_store.h); empty: roll back.
  std::string stage{};
  // The version to roll back to. nullopt: if an update waits for the next attempt, the version that
  // the workers have; otherwise an older version that may work (Versions::older()).
  std::optional<std::uint32_t> back_to{};
  bool now = false;
  base::Nanos within{};  // the workers are restarted after this time at the latest; 0: no limit
};

[[nodiscard]] ControlFields to_fields(const UpdateOrder& order);
[[nodiscard]] base::Result<UpdateOrder> read_update_order(const ControlFields& fields);

struct UpdateHands {
  std::function<const Job&()> job;
  std::function<void(UpdateRequested)> record;
  std::string run_directory;
  bool many_machines = false;  // some machines may not see the run directory
};

// Answers with `version`, and a sentence `text` about what happens with this version. Everything
// that the hands use must outlive the server.
[[nodiscard]] ControlServer::Row update_row(UpdateHands hands);

}  // namespace robustrun::supervisor
