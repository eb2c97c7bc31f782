#pragma once
// Classifies a worker's stacks: why it has not entered an operation (data loader, checkpoint,
// compiler).
//
// Works on the main thread's frames, Python's and native ones. Identical stacks are grouped as in
// ByteRobust (arXiv 2509.16293, section 5): most healthy ranks have the same stack, and the fault
// is probably in the parallel group that the outliers share. Pure. Frames are outside input; they
// are only searched and shown.

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
  kOwnGpu,  // waits for its own GPU: not a cause by itself
  kControlPlane,  // in the store, or creating a process group
  kCommunication,  // in a call of torch.distributed
  kInteractive,  // debugger or prompt
  kGarbageCollection,
  kGilHeld,  // another thread holds the GIL
  kDying,  // printing an exception or running exit handlers
};

struct Whereabouts {
  Reason reason = Reason::kUnknown;
  std::string place;  // "train.py:87", of the innermost frame in the user's code; may be empty
  std::string function;  // "load_batch", of that frame; empty at module level
  std::string holder;  // kGilHeld: "thread loader-1 in feed.py:12"
  // The innermost frame is in the user's code, or waits for a lock in Python's threading.py, called
  // directly from the user's code. Independent of `reason`.
  bool is_in_own_line = false;
  bool is_in_pythons_wait = false;  // is_in_own_line, and the innermost frame is in threading.py
};

// Where the main thread is. If the worker's record shows a wait for training data, the reason is
// kDataLoader, whatever the stack shows. kUnknown if there is neither such a wait nor a stack.
[[nodiscard]] Whereabouts whereabouts(const Evidence& evidence);

// "data loader"; empty for kUnknown and kUserCode.
[[nodiscard]] std::string_view words_of(Reason reason);
// "load_batch (train.py:87)", or "train.py:87" at module level; empty if unknown.
[[nodiscard]] std::string place_text(const Whereabouts& where);
// place_text() and the reason: "load_batch (train.py:87), data loader"; empty if both are unknown.
[[nodiscard]] std::string describe(const Whereabouts& where);

// Whether the main thread is busy with something outside any operation. It enters no operation
// before this has ended, whatever is pending.
[[nodiscard]] bool is_elsewhere(Reason reason);
// Whether the script itself keeps the main thread, and not a device, the network or storage.
[[nodiscard]] bool is_in_script(Reason reason);
// Whether the reason is a long phase (R10).
[[nodiscard]] bool is_long_phase(Reason reason);

// The Python threads besides the main one.
enum class OtherThreads : std::uint8_t {
  kNone,  // none, except helpers that never wake the main thread
  kParked,  // all wait for a lock or for work
  kActive,  // one may be doing something
};
[[nodiscard]] OtherThreads other_threads(const Evidence& evidence);

// Ranks whose main threads have equal Python stacks (of a rank without one: equal native stacks),
// as ascending indices.
struct SameStack {
  std::vector<std::uint32_t> members;
  std::string place;  // describe() of the stack, or its innermost function
};

struct Stacks {
  std::vector<Whereabouts> where;  // by index
  std::vector<SameStack> same;  // largest first; ranks without a stack are in none
};
// Classifies and groups the stacks of a fleet. Each distinct stack is classified once, because most
// stacks are equal.
[[nodiscard]] Stacks read_stacks(const std::vector<const Evidence*>& evidence);

}  // namespace robustrun::tracer
