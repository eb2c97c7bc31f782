#pragma once
// Where a job's time went. Every nanosecond of it is in exactly one phase, and the phases sum up to
// the whole, in integers: an Account that does not close is a bug (RR_ASSERT).
//
// A policy's run is a list of spans; what of training is kept, paid for checkpoints or lost follows
// from them and from when checkpoints are made: so other intervals cost no other run.

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "simulator/figure.h"

namespace robustrun::simulator {

enum class Phase : std::uint8_t {
  kProductive,  // training whose result was kept
  kCheckpoint,  // training stands still for a checkpoint
  kLost,  // training that was lost, and had to be done again
  kDetect,  // nobody knows yet; and what slow machines cost
  kCulprit,  // something is wrong, and it is found out what
  kReplace,  // workers are stopped, and the next group is formed
  kWaiting,  // for machines
  kRestart,  // workers start, until the script could train
  kLoad,  // of the checkpoint
  kResidual,  // what no published model explains, per incident
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
  // Of an incident: everything but productive time, checkpoints and the residual. 0 without any.
  [[nodiscard]] Nanos lost_per_incident() const;
  void add(Phase phase, Nanos time);
  void add(const Account& other);
};

// Training from one first step to the next stop. `slowed`: how much of it slow machines cost.
struct Episode {
  Nanos length{};
  Nanos slowed{};
  bool is_lost = false;  // ended by a fault: what came after the last checkpoint is gone
};

struct Timeline {
  std::vector<Episode> episodes;
  std::array<Nanos, kPhases> pauses{};  // all that is not training
  Nanos total{};
  std::uint64_t incidents = 0;  // that ended an episode, or a start
  std::uint32_t gave_up = 0;  // times that somebody had to start the job anew
};

// A checkpoint after each `every` of training, for which it stands still for `stall`; what was
// trained by its beginning is safe at its end. `every` > 0.
struct CheckpointPlan {
  Nanos every{};
  Nanos stall{};
};

[[nodiscard]] Account account_for(const Timeline& timeline, const CheckpointPlan& plan);

}  // namespace robustrun::simulator
