#pragma once
// How this node's workers share NCCL's one slot for a profiler plugin. Plain data.

#include <string>

namespace robustrun::agent {

struct ProfilerShare {
  enum class Slot : unsigned char {
    kFree,    // our plugin takes it, unless the variable names another one
    kShared,  // our plugin takes it and calls the plugin `behind`
    kAlone,   // our plugin takes it: the user's cannot be used
    kLeft,    // the user's plugin keeps it, or the user wants none
  };
  Slot slot = Slot::kFree;
  std::string behind{};    // absolute path
  std::string versions{};  // "1 2 4": of the interface, those that our plugin shows to NCCL
  std::string reason{};    // of kAlone and kLeft, for the user
};

}  // namespace robustrun::agent
