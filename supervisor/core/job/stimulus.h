#pragma once
// The stimuli that the rows of the table in job.cpp handle. For core/ and its tests.

#include <cstddef>
#include <cstdint>

namespace robustrun::supervisor {

// What the handler of an event is chosen by: the event's type, but with one stimulus for each timer
// and each kind of signal.
enum class Stimulus : std::uint8_t {
  kRunStarted,
  kAgentJoined,
  kAgentLost,
  kPortReserved,
  kWorkerStarted,
  kWorkerStartFailed,
  kWorkerExited,
  kWorkersGone,
  kProgress,
  kStepGoal,
  kEndSignal,
  kUserSignal,
  kStateTimer,
  kBackoffTimer,
  kTimeLimit,
  kUptimeTimer,
  kNodesTimer,
  kNodeOffered,
  kFaultInjected,
  kSupervisorResumed,
  kNodeEnding,
  kNodesChecked,
  kPlacementSolved,
  kDiagnosed,
  kNodeHealth,
  kUpdateRequested,
  kMetricAlarm,
  kSlowTimer,
  kNodesReplayed,
  kCheckpointNoted,
  kCheckpointDemoted,
  kBackupSolved,
  kCopiesKept,
  kHeldCopiesSaved,
  kStartStages,
  kSavingOver,
  kCheckpointMoved,
};
inline constexpr std::size_t kStimuli = 37;

}  // namespace robustrun::supervisor
