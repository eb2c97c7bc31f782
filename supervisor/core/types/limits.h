#pragma once
// Bounds of the core that are not policy. Those of the policy are in policy.h, and in RestartPolicy
// and Deadlines (job_spec.h).

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

// Classification of failures (fault_class.h): bytes read of each source, bytes read of a line,
// lines read of each source, and bytes quoted.
inline constexpr std::size_t kFaultEvidenceBytesMax = std::size_t{32} << 10;
inline constexpr std::size_t kFaultLineBytesMax = 4096;
inline constexpr std::size_t kFaultLinesMax = 200;
inline constexpr std::size_t kFaultQuoteBytesMax = 200;

// Launches in a row, without a wait between them, of an agent that does not say hello.
inline constexpr std::uint32_t kAgentLaunchesMax = 2;
// A node whose agents were lost at most this often still has the first claim to its place.
inline constexpr std::uint32_t kAgentLossesForgiven = 1;
// When places are given, a repeat offender (core/status/node_standing.h), or a node that the
// scheduler drains, counts as if it had lost this many agents more.
inline constexpr std::uint32_t kLossesOfOffender = 2;
// A node whose agents were lost more often than this is no reason to restart a smaller group that
// works.
inline constexpr std::uint32_t kLossesToGrowWithMax = 3;

// The first wait, and the longest one, between restarts for a larger group while no attempt makes
// progress. Nodes that join one by one must not keep a slow start from finishing.
inline constexpr base::Nanos kGrowAgainFirst = std::chrono::seconds(10);
inline constexpr base::Nanos kGrowAgainMax = std::chrono::minutes(5);

// In an open group: the longest wait before a restart that follows the loss of a node. Only for the
// first kLostVolunteerWaits free restarts since the last progress.
inline constexpr base::Nanos kLostVolunteerWaitMax = std::chrono::seconds(5);
inline constexpr std::uint32_t kLostVolunteerWaits = 8;

// How many starts in a row may fail because of the infrastructure. Fewer than kFailedStartsAloneMax
// never end the run. On a single machine, where waiting changes nothing, this number ends it.
// Elsewhere the time since the first of these starts counts, too: the run ends after
// --wait-for-nodes or, with at least kFailedStartsMax failed starts, after kFailedStartsFor.
inline constexpr std::uint32_t kFailedStartsMax = 10;
inline constexpr base::Nanos kFailedStartsFor = std::chrono::minutes(5);
inline constexpr std::uint32_t kFailedStartsAloneMax = 3;

// A broken machine for which there is no spare is evicted after this many sure failures within
// Policy::blamed_within, or when no restart is left, provided that the run may wait for another
// machine (job/blame/broken_machine.h).
inline constexpr std::size_t kBrokenTimesMax = 2;
// How often in a run a machine that was left out may take part again because it passed a test.
inline constexpr std::uint32_t kReturnsMax = 2;

// Hangs at one place of the script (fault/hang_places.h). From the second hang on they count as the
// script's; kHangsAtLineMax of them end the run. Lines at most kHangLinesApart apart are one place,
// because a rank that polls is seen in any line of its loop.
inline constexpr std::uint32_t kHangsAtLineMax = 3;
inline constexpr std::int64_t kHangLinesApart = 5;
inline constexpr std::size_t kHangPlacesMax = 64;

// Restarts that `robustrun status` lists; the report has them all.
inline constexpr std::size_t kRestartsKept = 5;

// Uncounted port conflicts without progress between them. A race for a fresh port is not lost this
// often. So later conflicts must be about a port of the script, and count like any failure.
inline constexpr std::uint32_t kPortConflictsMax = 3;

// Versions of a run (versions.h), lines that describe the changes of a version, and bytes of such a
// line.
inline constexpr std::size_t kVersionsMax = 256;
inline constexpr std::size_t kVersionChangesMax = 64;
inline constexpr std::size_t kVersionChangeBytesMax = 300;

// How long the answer to LookBack is awaited when all workers are gone, and how many bytes of the
// failed worker's last output LookBack has.
inline constexpr base::Nanos kLookBackMax = std::chrono::milliseconds(2000);
inline constexpr std::size_t kLastWordsBytesMax = 4096;

// How many workers that ended well before another failed are remembered (job/blame/early_ends.h),
// and how many ranks a sentence lists.
inline constexpr std::size_t kEndedWellKept = 64;
inline constexpr std::size_t kRanksSaid = 8;

// The core waits this much longer for a wave of a replay than the driver, whose deadline is
// Policy::replay_limit.
inline constexpr base::Nanos kReplayMargin = std::chrono::seconds(30);

// How long to wait for a placement. After that the nodes get their places without it.
inline constexpr base::Nanos kPlacementMax = std::chrono::seconds(5);

// Time for agents to find a supervisor that took over, before deadlines of its predecessor count.
inline constexpr base::Nanos kReunionMax = std::chrono::seconds(10);

// A back-off (backoff.h) is doubled at most this often, whatever its longest wait.
inline constexpr std::uint32_t kBackoffDoublingsMax = 20;

// At the end of a run: time for processes that finished workers left running. If --shutdown-timeout
// is shorter, it counts instead.
inline constexpr base::Nanos kLeftoverGrace = std::chrono::seconds(5);

// Pre-flight check: how long the core waits for the result (the driver's own deadlines are
// shorter), then the thresholds. docs/preflight.md has the table.
inline constexpr base::Nanos kPreflightFastMax = std::chrono::seconds(45);
inline constexpr base::Nanos kPreflightFullMax = std::chrono::minutes(4);
inline constexpr base::Nanos kPreflightGpuMax = std::chrono::minutes(7);
// How many partners every node calls at most.
inline constexpr std::uint32_t kPartnersFastMax = 128;
inline constexpr std::uint32_t kPartnersFullMax = 4096;
inline constexpr base::Nanos kClockOffsetMax = std::chrono::seconds(1);
inline constexpr std::uint64_t kDiskFreeMin = std::uint64_t{64} << 20;  // less: unfit
inline constexpr std::uint64_t kDiskFreeWarn = std::uint64_t{1} << 30;
inline constexpr std::uint64_t kShmFreeMin = std::uint64_t{16} << 20;
inline constexpr std::uint64_t kShmFreeWarn = std::uint64_t{512} << 20;
inline constexpr std::uint64_t kOpenFilesMin = 1024;
inline constexpr std::uint64_t kOpenFilesPerRank = 2;  // per rank of the whole job, for sockets
inline constexpr std::uint64_t kOpenFilesOwn = 256;  // in addition
inline constexpr std::uint64_t kLockedBytesMin = std::uint64_t{1} << 30;  // with RDMA devices
inline constexpr std::uint64_t kProcessesMin = 1024;
inline constexpr std::uint64_t kProcessesPerWorker = 128;
// A node is slow if it is slower than the median by more than this factor, in both rounds.
inline constexpr double kSlowFactor = 2;
// Tests of GPUs: how many GPUs, results and faults are kept for a node. A GPU is slow if it is
// below the median of its model by more than kGpuDeviationsMax median absolute deviations, and
// below kGpuShareMin of this median.
inline constexpr std::size_t kProbedGpusMax = 64;
inline constexpr std::size_t kProbeItemsMax = 1024;
inline constexpr std::size_t kProbeFaultsMax = 16;
inline constexpr double kGpuDeviationsMax = 5;
inline constexpr double kGpuShareMin = 0.95;
inline constexpr std::size_t kFindingBytesMax = 300;
inline constexpr std::size_t kNamesShownMax = 3;

// report/time/fold.h: how many journal entries are kept for the account of a run's time, and how
// many failures of one attempt.
inline constexpr std::size_t kTimeEntriesMax = 10'000;
inline constexpr std::size_t kFailuresKept = 64;

// slow_vote.h: how many restarts' prices are remembered. A job has recovered when its steps take at
// most kPaceRecovered times as long as before.
inline constexpr std::size_t kRestartPricesKept = 16;
inline constexpr double kPaceRecovered = 1.1;
// job/saves/resume_point.h: how many checkpoints with failures are remembered; how long to wait
// until a checkpoint is marked.
inline constexpr std::size_t kSuspectCheckpointsMax = 16;
inline constexpr base::Nanos kDemotionMax = std::chrono::seconds(20);
// Copies of lost nodes in the memory of other nodes: how long the next attempt waits until they are
// saved (the agent answers within 8 s, and continues a save that takes longer); how long a slow
// machine stays because ranks have no copy elsewhere, and how often that is checked.
inline constexpr base::Nanos kHeldSaveMax = std::chrono::seconds(20);
inline constexpr base::Nanos kUnsecuredMax = std::chrono::minutes(2);
inline constexpr base::Nanos kUnsecuredLook = std::chrono::seconds(1);

// core/status/metric_watch.h: readings in a row that raise and end an alarm, and the history that
// they are compared with. A gradient may overflow many times in a row while a mixed-precision loss
// scaler seeks its scale (torch's begins at 65536 and halves). …Jump and …Rise: readings above this
// multiple of the usual value raise an alarm. …Over: readings at most this multiple of it end the
// alarm. kCost…: seconds per step, or 1 / MFU (model FLOPs utilization), as medians of windows of
// readings.
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

// report/time/stages.h: a straggler took at least 1.2 times the median, and at least half a second
// longer than the median. kStageNodesMax nodes are listed.
inline constexpr std::int64_t kStragglerTenths = 12;
inline constexpr std::chrono::milliseconds kStragglerOverMin{500};
inline constexpr std::size_t kStageNodesMax = 8;

// How many supervisors of a run are remembered with their orders (job/facts/attempt_orders.h).
// Workers of older ones are gone.
inline constexpr std::size_t kOrderTurnsMax = 256;

}  // namespace robustrun::supervisor
