#pragma once
// A machine with GPUs, played on the processor for one test at a time: memory is the host's, work
// is done when it is launched and takes made-up time on a clock that advances at each reading.
// It does not model CUDA, cuBLAS and NCCL themselves.

#include <map>

#include "base/core/clock.h"

namespace robustrun::test {

enum class GpuFault {
  kNoMemory,
  kLost,         // cannot be selected
  kBroken,       // its work fails
  kHangs,        // its work never ends
  kSlow,         // half as fast
  kFlipsOnce,    // one product has another bit
  kNotANumber,   // one product is none
  kOtherBits,    // all its products
  kLosesWords,   // of what others send to it
};

struct PlayedMachine {
  int gpus = 4;
  int major = 9;
  bool driver = true;
  bool nccl = true;
  std::map<int, GpuFault> faults{};
};

// Everything that was there before is forgotten.
void play(const PlayedMachine& machine);

class PlayedClock final : public base::Clock {
 public:
  [[nodiscard]] base::Nanos now() const override;
  [[nodiscard]] base::Nanos wall_time() const override { return now(); }
};

}  // namespace robustrun::test
