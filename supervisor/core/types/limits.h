#pragma once
// Every bound of the core that is not policy (policy: RestartPolicy and Deadlines in job_spec.h).

#include <cstddef>
#include <cstdint>

#include "base/core/clock.h"

namespace robustrun::supervisor {

inline constexpr std::size_t kNodesMax = 1U << 16;
inline constexpr std::uint64_t kWorkersMax = 1U << 20;

// Lines of evidence in one decision; the rest is counted.
inline constexpr std::size_t kEvidenceMax = 16;
inline constexpr std::size_t kSignatureBytesMax = 240;
inline constexpr std::size_t kColdReasonsMax = 8;  // reported in one run

// Classification of failures (fault_class.h): of each source, and of one of its lines; and what of
// it is quoted.
inline constexpr std::size_t kFaultEvidenceBytesMax = std::size_t{32} << 10;
inline constexpr std::size_t kFaultLineBytesMax = 4096;
inline constexpr std::size_t kFaultLinesMax = 200;
inline constexpr std::size_t kFaultQuoteBytesMax = 200;

// Agents started for a node in a row, at once, of which none said hello.
inline constexpr std::uint32_t kAgentLaunchesMax = 2;
// Losses of a node's agents after which it still has the first claim to its place.
inline constexpr std::uint32_t kAgentLossesForgiven = 1;
// A node that failed earlier runs counts as lost so often before it is, when a place is free.
inline constexpr std::uint32_t kLossesOfOffender = 2;
// A node whose agents were lost more often is no reason to restart a smaller group that works.
inline constexpr std::uint32_t kLossesToGrowWithMax = 3;

// A larger group that made no progress is no reason not to try a still larger one, but with a
// growing distance: nodes that come one by one must not keep a slow start from its end.
inline constexpr base::Nanos kGrowAgainFirst = std::chrono::seconds(10);
inline constexpr base::Nanos kGrowAgainMax = std::chrono::minutes(5);

// Starts that failed in a row and are put down to infrastructure: the run is over
// after so many, but not before kFailedStartsFor, unless nodes are not waited for that long. Where
// waiting changes nothing (one machine) fewer are enough.
inline constexpr std::uint32_t kFailedStartsMax = 10;
inline constexpr base::Nanos kFailedStartsFor = std::chrono::minutes(5);
inline constexpr std::uint32_t kFailedStartsAloneMax = 3;

// Sure failures of a machine that the run needs, within Policy::blamed_within: from this one on it
// is given up all the same, where another one may be waited for.
inline constexpr std::size_t kBrokenTimesMax = 2;
// How often a machine that was left out takes part again in a run, because it passed a test: while
// the run waited for nodes, or as a spare, beside it.
inline constexpr std::uint32_t kReturnsMax = 2;

// Hangs at one line of the script (hang_places.h): from the second one on they are the script's,
// and this many end the run.
inline constexpr std::uint32_t kHangsAtLineMax = 3;
inline constexpr std::size_t kHangPlacesMax = 64;

// Restarts that `robustrun status` names; the report has them all.
inline constexpr std::size_t kRestartsKept = 5;

// Port conflicts in a row without progress that are not counted. A fresh port is not lost to a
// race this often: after them it is the script's own port, and counts like any failure.
inline constexpr std::uint32_t kPortConflictsMax = 3;

// Versions of a run (versions.h), and of one what it changes, in lines and words.
inline constexpr std::size_t kVersionsMax = 256;
inline constexpr std::size_t kVersionChangesMax = 64;
inline constexpr std::size_t kVersionChangeBytesMax = 300;

// How long what workers called before one failed is waited for, once all of them are gone.
inline constexpr base::Nanos kLookBackMax = std::chrono::milliseconds(1500);
inline constexpr std::size_t kLastWordsBytesMax = 4096;

// Workers that ended with exit code 0 before another failed: known by rank; and ranks in a
// sentence.
inline constexpr std::size_t kEndedWellKept = 64;
inline constexpr std::size_t kRanksSaid = 8;

// How long a placement may be worked out; then the nodes get their places without it.
// replay: what the shell takes longer than its own deadline.
inline constexpr base::Nanos kReplayMargin = std::chrono::seconds(30);

inline constexpr base::Nanos kPlacementMax = std::chrono::seconds(5);

// What agents need to find a supervisor that took over, before a deadline of the one before counts.
inline constexpr base::Nanos kReunionMax = std::chrono::seconds(10);

// Doublings of the back-off: keeps the shift in range, the cap does the rest.
inline constexpr std::uint32_t kBackoffDoublingsMax = 20;

// What workers that ended well left running gets this long at the end of a run (or
// --shutdown-timeout, if that is less).
inline constexpr base::Nanos kLeftoverGrace = std::chrono::seconds(5);

// Pre-flight check: how long the core waits for its result (the shell's own deadlines are shorter),
// and what is found too little. docs/preflight.md has the table.
inline constexpr base::Nanos kPreflightFastMax = std::chrono::seconds(45);
inline constexpr base::Nanos kPreflightFullMax = std::chrono::minutes(4);
inline constexpr base::Nanos kPreflightGpuMax = std::chrono::minutes(7);
// Partners that every node calls: all, as long as there are no more.
inline constexpr std::uint32_t kPartnersFastMax = 128;
inline constexpr std::uint32_t kPartnersFullMax = 4096;
inline constexpr base::Nanos kClockOffsetMax = std::chrono::seconds(1);
inline constexpr std::uint64_t kDiskFreeMin = std::uint64_t{64} << 20;  // less: unfit
inline constexpr std::uint64_t kDiskFreeWarn = std::uint64_t{1} << 30;
inline constexpr std::uint64_t kShmFreeMin = std::uint64_t{16} << 20;
inline constexpr std::uint64_t kShmFreeWarn = std::uint64_t{512} << 20;
inline constexpr std::uint64_t kOpenFilesMin = 1024;
inline constexpr std::uint64_t kOpenFilesPerRank = 2;  // of the whole job: its sockets
inline constexpr std::uint64_t kOpenFilesOwn = 256;  // beside those
inline constexpr std::uint64_t kLockedBytesMin = std::uint64_t{1} << 30;  // with RDMA devices
inline constexpr std::uint64_t kProcessesMin = 1024;
inline constexpr std::uint64_t kProcessesPerWorker = 128;
inline constexpr double kSlowFactor = 2;  // times the median, twice
// Tests of GPUs: what is kept of one node's, and who is slow beside others of its model: below the
// median by more than so many times the median absolute deviation, and by more than a share.
inline constexpr std::size_t kProbedGpusMax = 64;
inline constexpr std::size_t kProbeItemsMax = 1024;
inline constexpr std::size_t kProbeFaultsMax = 16;
inline constexpr double kGpuDeviationsMax = 5;
inline constexpr double kGpuShareMin = 0.95;
inline constexpr std::size_t kFindingBytesMax = 300;
inline constexpr std::size_t kNamesShownMax = 3;

// time_fold: what is kept of a run's journal for its account of time; failures of one attempt.
inline constexpr std::size_t kTimeEntriesMax = 10'000;
inline constexpr std::size_t kFailuresKept = 64;

// slow_vote: restarts whose price is remembered, and steps that are as fast as before again.
inline constexpr std::size_t kRestartPricesKept = 16;
// resume_point: checkpoints with failures behind them; how long the mark on one is waited for.
inline constexpr std::size_t kSuspectCheckpointsMax = 16;
inline constexpr base::Nanos kDemotionMax = std::chrono::seconds(20);
inline constexpr double kPaceRecovered = 1.1;
// Copies of lost nodes in others' memory: how long the next attempt waits until they are saved (the
// agent begins nothing after 8 s); how long a slow machine stays because some have none yet.
inline constexpr base::Nanos kHeldSaveMax = std::chrono::seconds(20);
inline constexpr base::Nanos kUnsecuredMax = std::chrono::minutes(2);
inline constexpr base::Nanos kUnsecuredLook = std::chrono::seconds(1);

// metric_watch: readings in a row that raise and end an alarm, and what they are compared with. A
// gradient may overflow often in a row while a loss scaler of mixed precision seeks its scale
// (torch's begins at 65536 and halves).
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

// report_stages: a straggler took 12 tenths of the median and half a second more; so many are told.
inline constexpr std::int64_t kStragglerTenths = 12;
inline constexpr std::chrono::milliseconds kStragglerOverMin{500};
inline constexpr std::size_t kStageNodesMax = 8;

// Supervisors of which is remembered what they ordered (attempt_orders.h); of older ones nothing
// is left to be told apart.
inline constexpr std::size_t kOrderTurnsMax = 256;

}  // namespace robustrun::supervisor
