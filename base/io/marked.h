#pragma once
// Processes of ours that a variable of their environment marks, wherever they hang in the tree of
// processes: those whose supervisor and agent have gone.

#include <chrono>
#include <string>
#include <vector>

namespace robustrun::base {

// Each of `entries` is a whole NAME=VALUE of the environment with which it was started.
struct ProcessMark {
  std::vector<std::string> entries;
  std::string argument;  // its argv[1]
};

// SIGKILLs all of them but this process, and waits until they and their children are gone, for at
// most `wait`. Processes of other users are never looked into. Returns how many were killed.
unsigned kill_marked(const ProcessMark& mark, std::chrono::milliseconds wait);

}  // namespace robustrun::base
