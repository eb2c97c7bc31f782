#pragma once
// Durations of robustrun's stages. Measured figures are from small scale (docs/figures.md). The
// core itself makes the decisions between the stages and sets its timers. Plain data.

#include <utility>
#include <vector>

#include "simulator/figure.h"

namespace robustrun::simulator {

struct OwnTimes {
  Figure<Nanos> device_fault{milliseconds(480), Origin::kMeasured,
                             "Xid to the order to evict, at most (bench/run health)"};
  Figure<Nanos> worker_death{milliseconds(50), Origin::kMeasured,
                             "our part of a restart, 8 ranks (bench/run restart)"};
  Figure<Nanos> machine_death{seconds(10), Origin::kAssumed,
                              "the default of --node-lost-after: at the latest"};
  Figure<Nanos> hang_suspected{seconds(5), Origin::kMeasured,
                               "90 % of hangs of small jobs (bench/run tracer)"};
  Figure<Nanos> hang_convicted{seconds(16), Origin::kMeasured,
                               "what a hang of a small job costs (bench/run ettr)"};
  Figure<std::uint32_t> hang_steps{2, Origin::kAssumed,
                                   "added to both times of a hang: long steps delay its signs"};
  Figure<Nanos> slow_suspected{seconds(10), Origin::kMeasured,
                               "slow ranks and links (bench/run tracer)"};
  Figure<std::uint32_t> slow_steps{5, Origin::kAssumed,
                                   "added to the time of slowness: long steps delay its signs"};
  Figure<Nanos> look{milliseconds(100), Origin::kMeasured,
                     "analysis of 16,384 ranks 0.04 s (bench/run tracer)"};
  Figure<Nanos> stop{seconds(1), Origin::kAssumed,
                     "0.05 s was measured with two ranks; thousands are assumed to take longer"};
  Figure<Nanos> stop_hung{seconds(1), Origin::kAssumed,
                          "the same; workers that do not stop are killed after --shutdown-timeout"};
  Figure<Nanos> start{seconds(1), Origin::kAssumed,
                      "orders and standby workers; 0.1 s was measured with 64 agents"};
  Figure<Nanos> agent{seconds(1), Origin::kAssumed,
                      "start of an agent; 0.8 s at most in small groups"};
  Figure<Nanos> check{seconds(5), Origin::kAssumed,
                      "of all nodes between two attempts; 0.92 s was measured with 64"};
  Figure<Nanos> replay{minutes(5), Origin::kAssumed, "one wave of a dual-phase replay"};
  Figure<Nanos> tested{hours(1), Origin::kAssumed,
                       "of an evicted machine with which nothing is wrong, until it is back"};
  Figure<Nanos> device_again{
      seconds(5), Origin::kAssumed,
      "from the start of an attempt until a broken device that stayed in the group ends a worker"};
  Figure<Nanos> hang_again{seconds(30), Origin::kAssumed,
                           "from the first step until a machine that hung hangs again"};
  Figure<Nanos> requeue{minutes(10), Origin::kPublished,
                        "454 to 768 s (arXiv 2509.16293, Table 7): when a run ends, the job is "
                        "started anew"};
};

}  // namespace robustrun::simulator
