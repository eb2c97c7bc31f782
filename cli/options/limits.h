#pragma once
// Every bound of the cli room.

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace robustrun::cli {

inline constexpr std::size_t kStagedFilesMax = 64;
inline constexpr std::int64_t kCacheMaxGib = 1'048'576;
// What it ignores in a folder of code; then nothing is.
inline constexpr std::chrono::seconds kGitAnswerMax{10};
inline constexpr std::size_t kConfigBytesMax = std::size_t{1} << 20;
inline constexpr std::size_t kTopologyTomlBytesMax = std::size_t{16} << 20;
inline constexpr std::chrono::seconds kScontrolMax{10};  // the start of a run waits for it
// Of one file of faults: what a supervisor compares every failure with.
inline constexpr std::size_t kFaultRowsMax = 512;
inline constexpr std::size_t kFaultPatternsMax = 2048;
inline constexpr std::size_t kFaultNumbersMax = 64;  // of one key
inline constexpr std::size_t kFaultTextBytesMax = 300;
inline constexpr std::size_t kRungsMax = 16;  // of one ladder of the policy
inline constexpr std::uint32_t kStepTimesMax = 1000;
inline constexpr std::uint32_t kPoisonStepsMax = 1'000'000;  // of a job after a resume
inline constexpr std::uint32_t kReplayUnitMax = 65'536;  // [replay] unit
inline constexpr std::int64_t kXidMax = 999'999;
// robustrun replay: of one group's run; and until it is killed, when it does not end by itself.
inline constexpr std::chrono::minutes kReplayLimit{10};
inline constexpr std::chrono::minutes kReplayGrace{2};
inline constexpr std::size_t kLineMetricsMax = 16;  // as many as a record holds
inline constexpr std::uint32_t kWorkersPerNodeMax = 4096;
inline constexpr std::size_t kRunNameBytesMax = 128;   // of a run directory's name
inline constexpr int kRunDirectoryTries = 8;           // names tried when one is taken
inline constexpr std::int64_t kDurationSecondsMax = std::int64_t{10} * 366 * 24 * 3600;
// An interpreter that imports torch to count devices may read it from a slow file system.
inline constexpr std::chrono::seconds kDeviceQueryMax{60};
// Between two questions for a rendezvous whose name is not known yet.
inline constexpr int kLookUpAgainMs = 1000;
inline constexpr int kInvitationPollMs = 20;  // within one srun
inline constexpr std::size_t kSecretBytesMin = 16;
inline constexpr std::size_t kSecretBytesMax = 4096;
inline constexpr std::uint32_t kNodesMax = 16384;
inline constexpr std::size_t kRankRangesMax = 1024;  // of --ranks-filter
inline constexpr std::size_t kCommandWordsMax = 256;  // of --ssh-command, --sbatch
// A busy controller lets sbatch wait, and sbatch tries again.
inline constexpr std::chrono::minutes kSubmitMax{2};
// status, stop, attach: a supervisor that takes longer to answer does not answer.
inline constexpr std::chrono::seconds kSupervisorAnswerMax{3};
inline constexpr std::chrono::seconds kStatusWatchInterval{1};
inline constexpr int kJournalPollMs = 500;  // for the end of a run on another machine
// What is asked of a supervisor at a time; it answers earlier when there is something to show.
inline constexpr std::chrono::seconds kFollowWait{10};
inline constexpr std::chrono::milliseconds kFollowWaitForStart{50};
inline constexpr std::chrono::milliseconds kHeartbeatIntervalMin{100};
inline constexpr std::size_t kDiagnosedFilesMax = 65'536;  // of one folder
inline constexpr std::uint32_t kDiagnosedRanksMax = 1U << 20;
inline constexpr std::int64_t kFdMax = 1'000'000;  // of --events=fd:N
// robustrun ckpt prune: for others who hold the lock of the home.
inline constexpr std::chrono::minutes kCkptLockMax{1};
// robustrun sim
inline constexpr std::size_t kSimJournalsMax = 10'000;  // of --from-journal
inline constexpr std::int64_t kSimNodesMax = 25'000;
inline constexpr std::int64_t kSimSparesMax = 2'000;
inline constexpr std::int64_t kSimSeedsMax = 10'000;
inline constexpr double kSimDaysMax = 3'650;
inline constexpr std::chrono::hours kSimTimeMax{30 * 24};  // of a step, a load, …
inline constexpr double kSimFaultsMax = 1e6;  // of one seed
inline constexpr int kHelpColumnsMin = 60;
inline constexpr int kHelpColumnsMax = 100;

}  // namespace robustrun::cli
