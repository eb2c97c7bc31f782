#pragma once
// Builds a Timeline while a job changes between training and pauses. Nothing counts before begin().

#include "simulator/account.h"

namespace robustrun::simulator {

class Stopwatch {
 public:
  // Starts at `now`, in training.
  void begin(Nanos now);
  // Ends training or the current pause, and starts a pause of this phase at `now`. If training
  // ends, its part after the last checkpoint is lost (Episode::is_lost), unless `is_safe`.
  void pause(Nanos now, Phase phase, bool is_safe = false);
  void train(Nanos now);
  // From `now` on, while training, steps take `factor` times as long; 1: normal.
  void slow(Nanos now, double factor);
  void note_incident() { line_.incidents += runs_ ? 1 : 0; }
  void note_gave_up() { line_.gave_up += runs_ ? 1U : 0U; }
  [[nodiscard]] bool is_training() const { return trains_; }
  // Ends the timeline; training that goes on is not lost.
  [[nodiscard]] Timeline end(Nanos now);

 private:
  void settle(Nanos now);

  Timeline line_;
  Nanos began_{}, last_{};
  Episode episode_;
  Phase phase_ = Phase::kRestart;
  double factor_ = 1;
  bool runs_ = false, trains_ = false;
};

}  // namespace robustrun::simulator
