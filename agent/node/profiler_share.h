#pragma once
// How this node's workers use NCCL's only slot for a profiler plugin, which both robustrun and the
// user may want. Plain data.

#include <string>

namespace robustrun::agent {

struct ProfilerShare {
  enum class Slot : unsigned char {
    kFree,    // robustrun's plugin takes it, unless NCCL_PROFILER_PLUGIN names another one
    kShared,  // robustrun's plugin takes it and calls the plugin `behind`
    kAlone,   // robustrun's plugin takes it, because the user's plugin cannot be used
    kLeft,    // the user's plugin keeps it, or the user wants no plugin
  };
  Slot slot = Slot::kFree;
  std::string behind{};    // absolute path of the user's plugin
  std::string versions{};  // "1 2 4": interface versions that robustrun's plugin shows to NCCL
  std::string reason{};    // of kAlone and kLeft, for the user
};

}  // namespace robustrun::agent
