#pragma once
// Sets of states, for the rows of the table in job.cpp.

#include <cstdint>
#include <initializer_list>

#include "supervisor/core/job/job.h"

namespace robustrun::supervisor {

class States {
 public:
  constexpr States(std::initializer_list<JobState> states) {
    for (const JobState state : states) bits_ |= bit(state);
  }
  constexpr States operator+(States other) const { return States(bits_ | other.bits_); }
  constexpr States operator+(JobState state) const { return States(bits_ | bit(state)); }
  constexpr States operator-(States other) const { return States(bits_ & ~other.bits_); }
  constexpr States operator-(JobState state) const { return States(bits_ & ~bit(state)); }
  [[nodiscard]] constexpr bool has(JobState state) const { return (bits_ & bit(state)) != 0; }

 private:
  explicit constexpr States(std::uint32_t bits) : bits_(bits) {}
  static constexpr std::uint32_t bit(JobState state) {
    return 1U << static_cast<std::uint32_t>(state);
  }
  std::uint32_t bits_ = 0;
};

// From kJoining to the order to start workers: no worker runs. kBackoff, the wait before kJoining,
// is not included.
inline constexpr States kForming = {JobState::kJoining, JobState::kChecking, JobState::kReplaying,
                                    JobState::kPlacing, JobState::kReserving};
inline constexpr States kWorking = {JobState::kStarting, JobState::kRunning};
inline constexpr States kWithWorkers = kWorking + JobState::kStopping;
inline constexpr States kUnderWay = kForming + kWithWorkers + JobState::kBackoff;

}  // namespace robustrun::supervisor
