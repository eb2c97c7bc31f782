#pragma once
// A probe examines one part of the machine periodically.

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "base/core/clock.h"
#include "wire/messages/node_health.h"

namespace robustrun::agent {

// A probe must not share memory with other threads.
class HealthProbe {
 public:
  virtual ~HealthProbe() = default;
  // Returns the changes since the last look. Called on a thread of a pool, never twice at the same
  // time. Blocks as long as its subject does.
  virtual std::vector<wire::NodeHealth> look(base::Nanos now) = 0;
};

struct WatchedProbe {
  wire::NodeHealth::Source source;
  std::string subject;  // named in a finding which says that a look does not end
  std::chrono::milliseconds every;  // interval of the looks
  std::shared_ptr<HealthProbe> probe;
};

}  // namespace robustrun::agent
