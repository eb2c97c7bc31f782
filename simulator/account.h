#pragma once
// Where a job's time went. Every nanosecond is in exactly one phase, and the phases sum exactly to
// the whole; account_for() asserts this.
//
// A policy's run is a list of time spans. Which part of training was kept, spent on checkpoints or
// lost follows from these spans and a CheckpointPlan, so other checkpoint intervals need no new
// run.

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "simulator/figure.h"

namespace robustrun::simulator {

enum class Phase : std::uint8_t {
  kProductive,  // training whose result was kept
  kCheckpoint,  // training pauses for a checkpoint
  kLost,  // training that was lost and repeated
  kDetect,  // until the failure is noticed; also the time lost to slow machines
  kCulprit,  // looking for the culprit of a known failure
  kReplace,  // workers are stopped and the next group is formed
  kWaiting,  // for machines that are missing
  kRestart,  // workers start, until the script could train
  kLoad,  // the checkpoint is loaded
  kResidual,  // per incident: time that no model explains (JobTerms::residual)
};
inline constexpr std::size_t kPhases = 10;
const char* to_string(Phase phase);  // "productive", …
const char* words_of(Phase phase);  // for people

struct Account {
  std::array<Nanos, kPhases> by_phase{};
  Nanos total{};
  std::uint64_t incidents = 0;

  [[nodiscard]] Nanos at(Phase phase) const { return by_phase[static_cast<std::size_t>(phase)]; }
  [[nodiscard]] double ettr() const;
  // Per incident: all time except productive time, checkpoints and the residual. 0 without
  // incidents.
  [[nodiscard]] Nanos lost_per_incident() const;
  void add(Phase phase, Nanos time);
  void add(const Account& other);
};

// Training from a first step to the next stop. `slowed`: how much of this time was lost to slow
// machines.
struct Episode {
  Nanos length{};
  Nanos slowed{};
  bool is_lost = false;  // a fault ended it: training after the last checkpoint is lost
};

struct Timeline {
  std::vector<Episode> episodes;
  std::array<Nanos, kPhases> pauses{};  // all time without training
  Nanos total{};
  std::uint64_t incidents = 0;  // faults that ended an episode or a start of the workers
  std::uint32_t gave_up = 0;  // how often the job had to be started anew
};

// After each `every` of training (> 0), a checkpoint pauses the job for `stall`. Training done
// before the pause is safe after it.
struct CheckpointPlan {
  Nanos every{};
  Nanos stall{};
};

[[nodiscard]] Account account_for(const Timeline& timeline, const CheckpointPlan& plan);

}  // namespace robustrun::simulator
