#pragma once
// The limits of the cli room.

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace robustrun::cli {

inline constexpr std::int64_t kPortMax = 65535;
inline constexpr std::int64_t kRankMax = 1'000'000;
inline constexpr std::int64_t kDataStepsMax = 100'000;  // of `data plan`
inline constexpr std::int64_t kDataSecondsMax = 3600;  // of `data bench`
inline constexpr std::size_t kStagedFilesMax = 64;
inline constexpr std::int64_t kCacheMaxGib = 1'048'576;
// If git takes longer to list ignored files, nothing counts as ignored.
inline constexpr std::chrono::seconds kGitAnswerMax{10};
inline constexpr std::size_t kConfigBytesMax = std::size_t{1} << 20;
inline constexpr std::size_t kTopologyTomlBytesMax = std::size_t{16} << 20;
inline constexpr std::chrono::seconds kScontrolMax{10};  // delays the start of a run
// For one file of faults; the supervisor compares every failure with all rows.
inline constexpr std::size_t kFaultRowsMax = 512;
inline constexpr std::size_t kFaultPatternsMax = 2048;
inline constexpr std::size_t kFaultNumbersMax = 64;  // per key
inline constexpr std::size_t kFaultTextBytesMax = 300;
inline constexpr std::size_t kRungsMax = 16;  // per ladder of the policy
inline constexpr std::uint32_t kStepTimesMax = 1000;
inline constexpr std::uint32_t kPoisonStepsMax = 1'000'000;  // after loading a checkpoint
inline constexpr std::uint32_t kReplayUnitMax = 65'536;  // of `unit` in [replay]
inline constexpr std::int64_t kXidMax = 999'999;
// robustrun replay: the default time limit of a group's run, and how much later a run is killed.
inline constexpr std::chrono::minutes kReplayLimit{10};
inline constexpr std::chrono::minutes kReplayGrace{2};
inline constexpr std::size_t kLineMetricsMax = 16;  // the capacity of a progress record
// --notify
inline constexpr std::size_t kNotifyTargetsMax = 8;
inline constexpr std::size_t kNotifyAddressBytesMax = 2000;
inline constexpr std::int64_t kSlurmStartsMax = 10'000;  // of one job, for --trackers
// --log-formats
inline constexpr std::size_t kLogFormatsMax = 64;
inline constexpr std::size_t kLogFormatTextsMax = 32;  // of one key
inline constexpr std::size_t kLogFormatTextBytesMax = 200;
// --checkpoints
inline constexpr std::size_t kCheckpointGlobsMax = 16;
inline constexpr std::uint32_t kWorkersPerNodeMax = 4096;
inline constexpr std::size_t kRunNameBytesMax = 128;   // name of a run directory
inline constexpr int kRunDirectoryTries = 8;           // names tried until one is free
inline constexpr std::int64_t kDurationSecondsMax = std::int64_t{10} * 366 * 24 * 3600;
// Time for an interpreter to import torch and count devices, perhaps from a slow file system.
inline constexpr std::chrono::seconds kDeviceQueryMax{60};
inline constexpr std::chrono::seconds kAccelerateMax{120};  // for accelerate to read its file
// Interval for resolving a rendezvous whose name is not known yet.
inline constexpr int kLookUpAgainMs = 1000;
inline constexpr int kJoinTokenPollMs = 20;  // between two looks for the join token of an srun
inline constexpr std::size_t kSecretBytesMin = 16;
inline constexpr std::size_t kSecretBytesMax = 4096;
inline constexpr std::uint32_t kNodesMax = 16384;
inline constexpr std::size_t kRankRangesMax = 1024;  // of --ranks-filter
inline constexpr std::size_t kCommandWordsMax = 256;  // of a command that is given as one text
// For sbatch and `scontrol requeue`, which themselves wait for a busy controller.
inline constexpr std::chrono::minutes kSubmitMax{2};
// For a question of `robustrun requeue` to Slurm's controller, which may be busy.
inline constexpr std::chrono::seconds kSlurmAnswerMax{10};
// `robustrun requeue` waits for Slurm's answer to a change of the job: kSlurmUpdateSlack times as
// long as a question took just before, and at least kSlurmUpdateMin.
inline constexpr int kSlurmUpdateSlack = 5;
inline constexpr std::chrono::milliseconds kSlurmUpdateMin{500};
inline constexpr std::size_t kLeftOutBytesMax = std::size_t{64} << 10;  // names of avoided hosts
inline constexpr int kRequeueTriesMax = 3;
// A job is not queued again after so many starts in a row in which no worker ran.
inline constexpr std::uint32_t kVainStartsMax = 3;
// After this time status, stop and attach treat a supervisor as not answering.
inline constexpr std::chrono::seconds kSupervisorAnswerMax{3};
inline constexpr std::chrono::seconds kStatusWatchInterval{1};
// For `robustrun top`. Time between two questions to the supervisor: about the run (kTopInterval)
// and about the chosen rank (kTopUseInterval). Time between two readings of the journal: at least
// kTopJournalPause, at most kTopJournalInterval.
inline constexpr std::chrono::milliseconds kTopInterval{500};
inline constexpr std::chrono::seconds kTopUseInterval{2};
inline constexpr std::chrono::seconds kTopJournalPause{2};
inline constexpr std::chrono::seconds kTopJournalInterval{5};
inline constexpr std::size_t kTopLogLines = 1000;
// While waiting for the end of a run on another machine: time between two looks at its journal,
// time between two questions to its supervisor, and how long that may be silent.
inline constexpr std::chrono::milliseconds kElsewherePollInterval{500};
inline constexpr std::chrono::seconds kElsewhereAskInterval{5};
inline constexpr std::chrono::seconds kElsewhereSilentMax{30};
// How long a supervisor may hold back its answer while there is no new output.
inline constexpr std::chrono::seconds kFollowWait{10};
inline constexpr std::chrono::milliseconds kFollowWaitForStart{50};
inline constexpr std::chrono::milliseconds kHeartbeatIntervalMin{100};
inline constexpr std::size_t kDiagnosedFilesMax = 65'536;  // per folder
inline constexpr std::uint32_t kDiagnosedRanksMax = 1U << 20;
inline constexpr std::int64_t kFdMax = 1'000'000;  // of --events=fd:N
// How long `robustrun ckpt prune` waits for the lock of the home.
inline constexpr std::chrono::minutes kCkptLockMax{1};
// robustrun sim
inline constexpr std::size_t kSimJournalsMax = 10'000;  // of --from-journal
inline constexpr std::int64_t kSimNodesMax = 25'000;
inline constexpr std::int64_t kSimSparesMax = 2'000;
inline constexpr std::int64_t kSimSeedsMax = 10'000;
inline constexpr double kSimDaysMax = 3'650;
inline constexpr std::chrono::hours kSimTimeMax{30 * 24};  // length of a step, a load, …
inline constexpr double kSimFaultsMax = 1e6;  // per seed
// robustrun doctor
inline constexpr std::chrono::seconds kDoctorToolMax{3};
inline constexpr std::chrono::seconds kDoctorGpusMax{10};
inline constexpr std::chrono::seconds kDoctorPythonMax{20};
inline constexpr std::size_t kDoctorKeysMax = 8;  // of ~/.ssh
// robustrun doctor --hosts. The deadlines of tools above add up to less than kDoctorHostMax.
inline constexpr std::chrono::seconds kDoctorHostMax{90};
inline constexpr std::size_t kDoctorRequestMax = std::size_t{64} << 10;
inline constexpr std::size_t kDoctorAnswerMax = std::size_t{64} << 10;
inline constexpr std::size_t kDoctorChecksMax = 64;
inline constexpr std::size_t kDoctorGroupsShown = 8;  // groups of hosts, for each check
inline constexpr unsigned kDoctorThreads = 4;
inline constexpr std::size_t kDoctorQueueMax = 16384;
inline constexpr int kHelpColumnsMin = 60;
inline constexpr int kHelpColumnsMax = 100;
inline constexpr std::size_t kFirstHelpLinesMax = 60;

}  // namespace robustrun::cli
