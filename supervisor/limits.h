#pragma once
// Every bound of the supervisor's shell (the core has its own).

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace robustrun::supervisor {

// Files of a run directory besides the journal.
inline constexpr std::size_t kPrivateFileBytesMax = std::size_t{16} << 20;
inline constexpr std::size_t kBootIdBytesMax = 64;
inline constexpr std::size_t kLockBytesMax = 512;
// How long, and how often, the lock of a run is tried.
inline constexpr int kLockPollMs = 20;
inline constexpr int kLockTriesMax = 100;

// One line of progress in the journal per this time.
inline constexpr std::chrono::minutes kSummaryInterval{1};
// checkpoint_watch: of one kind, in the journal; checkpoints that an attempt loads.
inline constexpr std::chrono::seconds kCheckpointEventInterval{10};
inline constexpr std::size_t kLoadsMax = 16;
// copy_rounds: at most one begins in this time, unless the one before was missed; until all ranks
// hold a copy; until a round is over, at first and at most; how far ahead of the order its step is.
inline constexpr std::chrono::seconds kCopyRoundMin{1};
inline constexpr std::chrono::seconds kCopyRoundHoldMax{60};
inline constexpr std::chrono::minutes kCopyRoundMax{10};
inline constexpr std::chrono::hours kCopyRoundMostMax{24};
inline constexpr std::chrono::milliseconds kCopyRoundLeadMin{100};
inline constexpr std::chrono::milliseconds kCopyRoundLeadMax{10'000};
inline constexpr std::chrono::milliseconds kCopyPaceInterval{500};
inline constexpr std::uint64_t kCopyRoundAheadMax = 1'000'000;  // steps
// driver_blocks: from the first node's coming to the first list, where others are late: less than
// servers of images wait for it (agent/image/limits.h). From a node's coming to the next list, so
// that those who come together are in one.
inline constexpr std::chrono::seconds kBlockPeersFirst{3};
inline constexpr std::chrono::milliseconds kBlockPeersDelay{300};
// From the core's Finish to our exit: agents say goodbye, the console drains. Longer than they save
// copies of an attempt that nobody goes on from (agent/copies/limits.h).
inline constexpr std::chrono::seconds kFarewellMax{10};
// From SIGKILL of what is left to our exit.
inline constexpr std::chrono::seconds kKillMax{2};
// Looks at leases per heartbeat of ours: a lease ends at most a fraction of an interval late.
inline constexpr unsigned kLeaseChecksPerBeat = 4;
// A silent node whose peers go on doing steps is waited for, but not for ever: jobs whose ranks do
// not depend on each other would never notice its end.
inline constexpr std::chrono::seconds kSilenceWithProgressMax{60};
// Files, name look-up and ssh -G of the launcher.
inline constexpr unsigned kLauncherThreads = 4;
inline constexpr std::size_t kLauncherQueueMax = 16384;
inline constexpr std::uint32_t kPlacementLane = 0x5348'1001;  // of that pool
// Addresses of ours that an agent is told; more would only be tried in vain.
inline constexpr std::size_t kEndpointsMax = 8;
// Lines of the table of nodes on the console; the journal has them all.
inline constexpr std::size_t kTableLinesMax = 16;

// control_server: one message, how many talk to us at a time, and how long a message may take.
inline constexpr std::size_t kControlMessageBytesMax = std::size_t{64} << 10;
inline constexpr std::size_t kControlConnectionsMax = 64;
inline constexpr std::chrono::seconds kControlMessageTime{5};
// Of what a request says, as far as an answer repeats it.
inline constexpr std::size_t kShownWordBytes = 24;
// Faults on purpose that wait for a node's answer, and for how long; the command waits longer.
inline constexpr std::size_t kInjectionsMax = 64;
inline constexpr std::size_t kNodeNameBytesMax = 255;
inline constexpr std::chrono::hours kFaultTimeMax{24 * 366 * 10};
inline constexpr std::chrono::seconds kInjectionAnswerMax{20};
inline constexpr std::chrono::seconds kControlAnswerMax{30};
// control_client: an answer. The status of kNodesMax nodes fits.
inline constexpr std::size_t kControlAnswerBytesMax = std::size_t{64} << 20;
inline constexpr std::size_t kControlFileBytesMax = 4096;

// output_hub: what is kept of the console, what one answer takes of it, and who waits for more; the
// others of kControlConnectionsMax are for short questions.
inline constexpr std::size_t kOutputKeptBytes = std::size_t{1} << 20;
inline constexpr std::size_t kOutputAnswerBytes = std::size_t{32} << 10;
inline constexpr std::size_t kOutputWatchersMax = 32;
inline constexpr std::chrono::seconds kOutputWaitMax{20};
inline constexpr std::uint64_t kOutputLinesMax = 1'000'000;
// At the end: for the next question of somebody who has been shown something, and for all of them.
inline constexpr std::chrono::seconds kOutputFarewell{1};
inline constexpr std::chrono::seconds kOutputFarewellMax{2};

// The console of a detached run: a file of this size, and the one before it.
inline constexpr std::uint64_t kConsoleLogBytesMax = std::uint64_t{64} << 20;

// The speed that `robustrun status` shows.
inline constexpr std::chrono::seconds kStepRateWindow{30};
inline constexpr std::chrono::seconds kStepRateSample{1};

// `robustrun stop` may give so much time.
inline constexpr std::chrono::hours kStopGraceMax{24};

// version_store: environment and arguments of one version, in bytes.
inline constexpr std::size_t kVersionBytesMax = std::size_t{128} << 10;
inline constexpr std::chrono::hours kUpdateWithinMax{24 * 366};

// group_replay: of the others, once a node of their group has failed; longer than what the agent
// of that one gives the rest of its processes.
inline constexpr std::chrono::seconds kReplayOthersMax{12};
inline constexpr std::size_t kReplayWordsMax = 300;

// preflight_check: its steps. Each is longer than what an agent gives itself (agent/node/limits.h).
inline constexpr std::chrono::seconds kCheckReadyMax{10};
inline constexpr std::chrono::seconds kCheckFastMax{12};
inline constexpr std::chrono::seconds kCheckFullMax{100};
inline constexpr std::chrono::seconds kCheckGpuMax{320};
inline constexpr std::chrono::seconds kCheckRoundMax{15};

// hang_watch: operations that are overdue at a time; all say the same.
inline constexpr std::size_t kOverdueMax = 4096;
// A group that did this many steps, and then none for so long, or for so many of its longest
// pauses.
inline constexpr std::uint32_t kGapsToLearn = 3;
inline constexpr std::chrono::seconds kNoStepMin{10};
inline constexpr int kNoStepFactor = 3;
// One that tells of no steps and no collectives is looked at from time to time; for so long its
// stacks must have been the same to say something.
inline constexpr std::chrono::seconds kBlindLook{30};
inline constexpr std::chrono::minutes kBlindLookLater{5};
inline constexpr std::chrono::seconds kStacksSameFor{10};
// pace_watch: a window of steps, how many make a habit, and what is slower than that.
inline constexpr std::chrono::seconds kPaceWindowMin{2};
inline constexpr std::uint64_t kPaceStepsMin = 3;
inline constexpr std::size_t kPaceWindowsToLearn = 8;
inline constexpr std::size_t kPaceWindowsKept = 50;
inline constexpr std::int64_t kPacePerCent = 100;
inline constexpr std::int64_t kPaceSlowerPerCent = 30;
inline constexpr std::int64_t kPaceRecoveredPerCent = 110;
// pace_looks: from the first step to the first look, from one to the next later, to the one that
// has to confirm what was named; and at least so much between two for each rank of the job, so that
// what they send does not grow with it.
inline constexpr std::chrono::seconds kPaceLookFirst{10};
inline constexpr std::chrono::seconds kPaceLookLater{60};
inline constexpr std::chrono::seconds kPaceLookAgain{3};
inline constexpr std::chrono::milliseconds kPaceLookPerRank{50};
// Who waits for less does so as usual (Mycroft counts stragglers from 1 s, arXiv 2509.03018).
inline constexpr std::chrono::seconds kHangMin{1};
// Places where a group was held up and went on: known after so many times, for half as long again.
inline constexpr std::size_t kHabitsMax = 64;
inline constexpr std::uint32_t kHabitTimes = 2;
// From one look at all workers to the next, at first and later.
inline constexpr std::chrono::milliseconds kLookInterval{2000};
inline constexpr std::chrono::seconds kLookIntervalLater{10};
inline constexpr std::chrono::seconds kLookOftenFor{60};
// Until a suspicion that names a phase, or nobody, is said; and until one is a conviction.
inline constexpr std::chrono::seconds kVagueSaidAfter{30};
inline constexpr std::chrono::seconds kConvictFinal{5};
inline constexpr std::chrono::seconds kConvictStopped{15};
inline constexpr std::chrono::seconds kConvictStill{60};
inline constexpr int kConvictFactor = 4;
inline constexpr int kConvictAgainFactor = 2;  // where an attempt was ended before
// What an agent gets to answer, with evidence; the look is over a little later.
inline constexpr std::chrono::milliseconds kObserveWithin{2500};
inline constexpr std::chrono::milliseconds kObserveMargin{1000};
// The same without evidence, once a worker has failed; the core does not wait for more than both.
inline constexpr std::chrono::milliseconds kLookBackWithin{800};
inline constexpr std::size_t kSnapshotBytesMax = std::size_t{8} << 20;
inline constexpr std::uint32_t kAnalysisLane = 0x5348'1002;  // of the launcher's pool
inline constexpr std::uint32_t kCodeLane = 0x5348'1003;  // of the launcher's pool

// node_history.h
inline constexpr std::size_t kHistoryFilesMax = 10'000;
inline constexpr std::size_t kHistoryFileBytesMax = std::size_t{1} << 20;

}  // namespace robustrun::supervisor
