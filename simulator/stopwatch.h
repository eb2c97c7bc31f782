#pragma once
// Turns "what is the job doing now" into a Timeline. Before begin() nothing counts.

#include "simulator/account.h"

namespace robustrun::simulator {

class Stopwatch {
 public:
  // From `now` on, in training.
  void begin(Nanos now);
  // A pause of this kind from now on. A training that goes on until now ends with it, and is lost
  // unless `is_safe`.
  void pause(Nanos now, Phase phase, bool is_safe = false);
  void train(Nanos now);
  // While it trains, machines make its steps take `factor` times as long from now on; 1: none.
  void slow(Nanos now, double factor);
  void note_incident() { line_.incidents += runs_ ? 1 : 0; }
  void note_gave_up() { line_.gave_up += runs_ ? 1U : 0U; }
  [[nodiscard]] bool is_training() const { return trains_; }
  // Ends it; the training that goes on is not lost.
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
