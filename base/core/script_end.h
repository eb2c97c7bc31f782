#pragma once
// How far a worker's script had come when its process ended. The numbers are stored in journals
// and messages: append only.

#include <cstdint>

namespace robustrun::base {

enum class ScriptEnd : std::uint8_t {
  kNotSeen,   // it still ran, or its progress is unknown
  kReturned,  // its last line had run; threads and exit handlers perhaps had not ended
  kFinished,  // its non-daemon threads had been joined and its exit handlers had run
};

}  // namespace robustrun::base
