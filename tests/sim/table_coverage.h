#pragma once
// Which cells of the core's table (supervisor/core/job/job.cpp: states across, stimuli down) a run
// has reached: a valid stimulus in a state that does not ignore it.

#include <array>
#include <bitset>
#include <string>

#include "supervisor/core/job/job.h"

namespace robustrun::sim {

namespace core = supervisor;

inline constexpr std::size_t kCells = core::kStimuli * core::kJobStates;
using Cells = std::bitset<kCells>;

[[nodiscard]] inline std::size_t cell_of(core::JobState state, core::Stimulus stimulus) {
  return static_cast<std::size_t>(stimulus) * core::kJobStates + static_cast<std::size_t>(state);
}

inline constexpr std::array<const char*, core::kStimuli> kStimulusWords = {
    "RunStarted",      "AgentJoined",       "AgentLost",         "PortReserved",
    "WorkerStarted",   "WorkerStartFailed", "WorkerExited",      "WorkersGone",
    "Progress",        "StepGoalReached",   "end signal",        "user signal",
    "state timer",     "back-off timer",    "time limit",        "uptime timer",
    "nodes timer",     "NodeOffered",       "FaultInjected",     "SupervisorResumed",
    "NodeEnding",      "NodesChecked",      "PlacementSolved",   "Diagnosed",
    "NodeHealth",      "UpdateRequested",   "MetricAlarm",       "slow timer",
    "NodesReplayed",   "CheckpointNoted",   "CheckpointDemoted", "BackupSolved",
    "CopiesKept",      "HeldCopiesSaved",   "StartStages",       "SavingOver",
    "CheckpointMoved",
};

// "NodeEnding while replaying"
inline std::string words_of_cell(std::size_t cell) {
  const auto state = static_cast<core::JobState>(cell % core::kJobStates);
  return std::string(kStimulusWords[cell / core::kJobStates]) + " while " + core::to_string(state);
}

// Call before the core gets the event.
inline void note_cell(Cells& cells, const core::Job& job, const core::Event& event) {
  if (const auto stimulus = job.acts_on(event)) cells.set(cell_of(job.state(), *stimulus));
}

}  // namespace robustrun::sim
