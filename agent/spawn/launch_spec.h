#pragma once
// What the process of a worker is started with. Plain data.

#include <sys/types.h>

#include <string>
#include <vector>

#include "wire/messages/worker_template.h"

namespace robustrun::agent {

struct LaunchSpec {
  std::vector<std::string> argv;
  std::vector<std::string> environment;  // NAME=VALUE, complete
  std::string working_directory;
  std::string cpus, memory;  // as in ShimOptions
  int in_fd = -1;            // as in ShimOptions
  pid_t container = 0;       // as in ShimOptions
  wire::StreamRoute out = wire::StreamRoute::kDiscard;
  wire::StreamRoute err = wire::StreamRoute::kDiscard;
  friend bool operator==(const LaunchSpec&, const LaunchSpec&) = default;
};

}  // namespace robustrun::agent
