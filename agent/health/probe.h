#pragma once
// One part of the machine that is checked periodically.

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "base/core/clock.h"
#include "wire/messages/node_health.h"

namespace robustrun::agent {

// Runs on a thread of the pool, never twice at a time; its memory is its own.
class HealthProbe {
 public:
  virtual ~HealthProbe() = default;
  // What has changed since the last look. Blocks as long as its subject does.
  virtual std::vector<wire::NodeHealth> look(base::Nanos now) = 0;
};

struct WatchedProbe {
  wire::NodeHealth::Source source;
  std::string subject;  // named when a look does not end
  std::chrono::milliseconds every;
  std::shared_ptr<HealthProbe> probe;
};

}  // namespace robustrun::agent
