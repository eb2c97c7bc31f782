#pragma once
// Kills processes of robustrun that have lost their supervisor and agent. Environment variables
// identify them, wherever they are in the process tree.

#include <chrono>
#include <string>
#include <vector>

namespace robustrun::base {

// Each of `entries` is a complete NAME=VALUE of the environment that the process was started with.
struct ProcessMark {
  std::vector<std::string> entries;
  std::string argument;  // its argv[1]
};

// Kills (SIGKILL) all marked processes but this one, and waits at most `wait` until they and their
// children are gone. A process whose environment this user may not read is left alone. Returns the
// number killed.
unsigned kill_marked(const ProcessMark& mark, std::chrono::milliseconds wait);

}  // namespace robustrun::base
