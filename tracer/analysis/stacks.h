#pragma once
// What a worker's stacks say about why it does not come: the data loader, a checkpoint, a compiler.
//
// Works on the main thread's Python frames, innermost first, then on its native ones. Identical
// stacks are put together as ByteRobust does (arXiv 2509.16293, section 5): most healthy ranks
// look alike, and the parallel group that the outliers share is where to look. Pure; frames are
// outside input and only ever searched and shown.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tracer/analysis/snapshot.h"

namespace robustrun::tracer {

enum class Reason : std::uint8_t {
  kUnknown,  // no stack
  kUserCode,  // none of the others
  kDataLoader,
  kCheckpoint,
  kEvaluation,
  kCompile,
  kOwnGpu,  // waits for its own GPU: no cause by itself
  kControlPlane,  // in the store, or making a process group
  kCommunication,  // in a call of torch.distributed
  kInteractive,  // debugger or prompt
  kGarbageCollection,
  kGilHeld,  // another thread has the GIL
  kDying,  // prints an exception, runs exit handlers
};

struct Whereabouts {
  Reason reason = Reason::kUnknown;
  std::string place;  // "train.py:87", the innermost frame of the user's own; may be empty
  std::string holder;  // kGilHeld: "thread loader-1 in feed.py:12"
};

[[nodiscard]] Whereabouts whereabouts(const Evidence& evidence);

// "data loader"; empty for kUnknown and kUserCode.
[[nodiscard]] std::string_view words_of(Reason reason);
// "train.py:87 data loader"; empty when nothing is known.
[[nodiscard]] std::string describe(const Whereabouts& where);

// The main thread is not in an operation, whatever else is pending: it will not come before it is
// done with that.
[[nodiscard]] bool is_elsewhere(Reason reason);
// What keeps it there is a matter of the script: no device, network or storage.
[[nodiscard]] bool is_the_scripts_own(Reason reason);
// Takes long by right: R10.
[[nodiscard]] bool is_long_phase(Reason reason);

// Ranks whose main threads' stacks are the same, by index, ascending.
struct SameStack {
  std::vector<std::uint32_t> members;
  std::string place;  // describe() of it, or its innermost function
};

struct Stacks {
  std::vector<Whereabouts> where;  // by index
  std::vector<SameStack> same;  // the largest first; those without a stack are in none
};
// Most stacks of a fleet are the same: each different one is classified once.
[[nodiscard]] Stacks read_stacks(const std::vector<const Evidence*>& evidence);

}  // namespace robustrun::tracer
