#pragma once
// Bounds of the core that are not policy (policy: policy.h; RestartPolicy and Deadlines in
// job_spec.h).

#include <cstddef>
#include <cstdint>

#include "base/core/clock.h"

namespace robustrun::supervisor {

inline constexpr std::size_t kNodesMax = 1U << 16;
inline constexpr std::uint64_t kWorkersMax = 1U << 20;

// Lines of evidence in one decision; the rest is counted.
inline constexpr std::size_t kEvidenceMax = 16;
inline constexpr std::size_t kNodeNamesBytesMax = 200;  // of several nodes in one sentence
inline constexpr std::size_t kSignatureBytesMax = 240;
inline constexpr std::size_t kColdReasonsMax = 8;  // reported in one run
inline constexpr std::size_t kBandwidthReportedMax = 64;  // rows of a report

// Classification of failures (fault_class.h): bytes and lines read of each source, bytes read of a
// line, and bytes quoted.
inline constexpr std::size_t kFaultEvidenceBytesMax = std::size_t{32} << 10;
inline constexpr std::size_t kFaultLineBytesMax = 4096;
inline constexpr std::size_t kFaultLinesMax = 200;
inline constexpr std::size_t kFaultQuoteBytesMax = 200;

// Launches in a row without a wait, of agents that do not say hello.
inline constexpr std::uint32_t kAgentLaunchesMax = 2;
// A node whose agents were lost at most this often still has the first claim to its place.
inline constexpr std::uint32_t kAgentLossesForgiven = 1;
// A repeat offender (node_standing.h) begins a run with this number of losses when places are
// given.
inline constexpr std::uint32_t kLossesOfOffender = 2;
// A node whose agents were lost more often is no reason to restart a smaller group that works.
inline constexpr std::uint32_t kLossesToGrowWithMax = 3;

// Waits between restarts for a larger group while none of them makes progress: nodes that join one
// by one must not keep a slow start from finishing.
inline constexpr base::Nanos kGrowAgainFirst = std::chrono::seconds(10);
inline constexpr base::Nanos kGrowAgainMax = std::chrono::minutes(5);

// The longest wait before a restart because of a lost node of an open group, while fewer than
// kLostVolunteerWaits free restarts in a row have brought no progress.
inline constexpr base::Nanos kLostVolunteerWaitMax = std::chrono::seconds(5);
inline constexpr std::uint32_t kLostVolunteerWaits = 8;

// Starts that failed in a row because of the infrastructure. The run never ends before the
// kFailedStartsAloneMax-th of them. From then on it ends at once on a single machine, where waiting
// changes nothing, or when --wait-for-nodes has passed since the first; otherwise when there were
// kFailedStartsMax and kFailedStartsFor has passed.
inline constexpr std::uint32_t kFailedStartsMax = 10;
inline constexpr base::Nanos kFailedStartsFor = std::chrono::minutes(5);
inline constexpr std::uint32_t kFailedStartsAloneMax = 3;

// A machine for which there is no spare is evicted all the same after this many sure failures
// within Policy::blamed_within, or when no restart is left, if the run may wait for another one
// (blame/broken_machine.h).
inline constexpr std::size_t kBrokenTimesMax = 2;
// How often a machine that was left out may take part again in a run because it passed a test:
// while the run waits for nodes, or as a spare.
inline constexpr std::uint32_t kReturnsMax = 2;

// Hangs at one place of the script (hang_places.h): from the second one on they are the script's,
// and this many end the run. Lines at most so far apart are one place: a loop that polls.
inline constexpr std::uint32_t kHangsAtLineMax = 3;
inline constexpr std::int64_t kHangLinesApart = 5;
inline constexpr std::size_t kHangPlacesMax = 64;

// Restarts that `robustrun status` lists; the report has them all.
inline constexpr std::size_t kRestartsKept = 5;

// Uncounted port conflicts in a row without progress. A fresh port is not lost to a race this
// often: later conflicts are about a port of the script, and count like any failure.
inline constexpr std::uint32_t kPortConflictsMax = 3;

// Versions of a run (versions.h); lines that describe a version's changes, and bytes of a line.
inline constexpr std::size_t kVersionsMax = 256;
inline constexpr std::size_t kVersionChangesMax = 64;
inline constexpr std::size_t kVersionChangeBytesMax = 300;

// How long after LookBack its answer is waited for, if all workers are gone.
inline constexpr base::Nanos kLookBackMax = std::chrono::milliseconds(2000);
inline constexpr std::size_t kLastWordsBytesMax = 4096;

// Workers that ended well before another failed (early_ends.h): how many are remembered; and ranks
// listed in a sentence.
inline constexpr std::size_t kEndedWellKept = 64;
inline constexpr std::size_t kRanksSaid = 8;

// A replay may take this much longer than the driver's own deadline, Policy::replay_limit.
inline constexpr base::Nanos kReplayMargin = std::chrono::seconds(30);

// How long to wait for a placement; then the nodes get their places without it.
inline constexpr base::Nanos kPlacementMax = std::chrono::seconds(5);

// Time for agents to find a supervisor that took over, before its predecessor's deadlines count.
inline constexpr base::Nanos kReunionMax = std::chrono::seconds(10);

// Doublings of a back-off (backoff.h), whatever its cap.
inline constexpr std::uint32_t kBackoffDoublingsMax = 20;

// Time for processes that finished workers left running, at the end of a run (or
// --shutdown-timeout, if that is less).
inline constexpr base::Nanos kLeftoverGrace = std::chrono::seconds(5);

// Pre-flight check: how long the core waits for its result (the driver's own deadlines are
// shorter), and the thresholds. docs/preflight.md has the table.
inline constexpr base::Nanos kPreflightFastMax = std::chrono::seconds(45);
inline constexpr base::Nanos kPreflightFullMax = std::chrono::minutes(4);
inline constexpr base::Nanos kPreflightGpuMax = std::chrono::minutes(7);
// Partners that every node calls, at most.
inline constexpr std::uint32_t kPartnersFastMax = 128;
inline constexpr std::uint32_t kPartnersFullMax = 4096;
inline constexpr base::Nanos kClockOffsetMax = std::chrono::seconds(1);
inline constexpr std::uint64_t kDiskFreeMin = std::uint64_t{64} << 20;  // less: unfit
inline constexpr std::uint64_t kDiskFreeWarn = std::uint64_t{1} << 30;
inline constexpr std::uint64_t kShmFreeMin = std::uint64_t{16} << 20;
inline constexpr std::uint64_t kShmFreeWarn = std::uint64_t{512} << 20;
inline constexpr std::uint64_t kOpenFilesMin = 1024;
inline constexpr std::uint64_t kOpenFilesPerRank = 2;  // of the whole job: its sockets
inline constexpr std::uint64_t kOpenFilesOwn = 256;  // in addition
inline constexpr std::uint64_t kLockedBytesMin = std::uint64_t{1} << 30;  // with RDMA devices
inline constexpr std::uint64_t kProcessesMin = 1024;
inline constexpr std::uint64_t kProcessesPerWorker = 128;
inline constexpr double kSlowFactor = 2;  // times the median, in both rounds of measurements
// Tests of GPUs: what is kept for a node; and when a GPU is slow among those of its model: below
// the median by more than kGpuDeviationsMax median absolute deviations, and below kGpuShareMin of
// it.
inline constexpr std::size_t kProbedGpusMax = 64;
inline constexpr std::size_t kProbeItemsMax = 1024;
inline constexpr std::size_t kProbeFaultsMax = 16;
inline constexpr double kGpuDeviationsMax = 5;
inline constexpr double kGpuShareMin = 0.95;
inline constexpr std::size_t kFindingBytesMax = 300;
inline constexpr std::size_t kNamesShownMax = 3;

// report/time/fold.h: journal entries kept for the account of a run's time, and failures of one
// attempt.
inline constexpr std::size_t kTimeEntriesMax = 10'000;
inline constexpr std::size_t kFailuresKept = 64;

// slow_vote.h: restarts whose price is remembered; a job whose steps take at most this many times
// as long as before has recovered.
inline constexpr std::size_t kRestartPricesKept = 16;
inline constexpr double kPaceRecovered = 1.1;
// resume_point.h: checkpoints with failures that are remembered; how long to wait for the mark on
// one.
inline constexpr std::size_t kSuspectCheckpointsMax = 16;
inline constexpr base::Nanos kDemotionMax = std::chrono::seconds(20);
// Copies of lost nodes in other nodes' memory: how long the next attempt waits until they are saved
// (the agent answers within 8 s; a save that is not done by then continues); how long a slow
// machine stays because ranks lack a copy, and how often that is checked.
inline constexpr base::Nanos kHeldSaveMax = std::chrono::seconds(20);
inline constexpr base::Nanos kUnsecuredMax = std::chrono::minutes(2);
inline constexpr base::Nanos kUnsecuredLook = std::chrono::seconds(1);

// metric_watch.h: readings in a row that raise and end an alarm, and the history they are compared
// with. A gradient may overflow many times in a row while a mixed-precision loss scaler seeks its
// scale (torch's begins at 65536 and halves). …Jump and …Rise: above this multiple of the usual
// value readings raise an alarm; …Over: at most this multiple ends it. kCost…: seconds per step, or
// 1 / MFU, as medians of windows of readings.
inline constexpr std::size_t kWatchedMetricsMax = 16;
inline constexpr std::uint32_t kNotANumberReadings = 3;
inline constexpr std::uint32_t kGradientOverflowsMax = 20;
inline constexpr std::uint32_t kMetricReadingsToClear = 5;
inline constexpr double kMetricJump = 5;  // times the median (ByteRobust)
inline constexpr double kMetricJumpOver = 2.5;
inline constexpr double kMetricDeviations = 6;  // scaled median absolute deviations
inline constexpr std::uint32_t kMetricJumpReadings = 5;
inline constexpr std::size_t kMetricHistoryMin = 20;
inline constexpr std::size_t kMetricHistoryMax = 64;
inline constexpr double kCostRise = 1.25;
inline constexpr double kCostRiseOver = 1.1;
inline constexpr std::size_t kCostReadingsMin = 5;  // of a window
inline constexpr std::size_t kCostReadingsMax = 256;
inline constexpr base::Nanos kCostWindowMin = std::chrono::seconds(10);
inline constexpr std::size_t kCostWindowsToLearn = 6;
inline constexpr std::size_t kCostWindowsKept = 60;
inline constexpr std::uint32_t kCostWindowsToRaise = 3;
inline constexpr std::uint32_t kCostWindowsToClear = 2;

// report/time/stages.h: a straggler took at least 12 tenths of the median, and at least half a
// second longer than the median; this many nodes are listed.
inline constexpr std::int64_t kStragglerTenths = 12;
inline constexpr std::chrono::milliseconds kStragglerOverMin{500};
inline constexpr std::size_t kStageNodesMax = 8;

// Supervisors whose orders are remembered (attempt_orders.h); of older ones no workers are left.
inline constexpr std::size_t kOrderTurnsMax = 256;

}  // namespace robustrun::supervisor
