#pragma once
// The bounds of the launcher room, except those of host names (hosts/limits.h).

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace robustrun::launcher {

// Interval between sweeps of what a killed agent left behind.
inline constexpr std::chrono::milliseconds kStraySweepInterval{5};

// The agent's build differs from its supervisor's (wire::Credential::build): it reports that on its
// standard error and exits with this code, before it has used the credential.
inline constexpr int kExitOtherBuild = 65;
// An option of the run cannot be used on this node: the agent reports which one, and exits with
// this code. 2 would be taken for an errno of slurmstepd, which could not start it.
inline constexpr int kExitBadInput = 66;
// Codes of an agent that has not started, or of the shell that could not start it.
inline constexpr std::array<int, 4> kAgentStartFailures = {kExitOtherBuild, kExitBadInput, 126,
                                                           127};
inline constexpr std::string_view kAgentSays = "robustrun agent: ";  // before each such report

// connections
inline constexpr std::uint32_t kBastionConnectionsMax = 8;  // MaxStartups of a stock sshd is 10
// Each dropped connection lowers the fan-out by one, down to this; each success raises it again.
inline constexpr std::uint32_t kFanoutMin = 6;
inline constexpr unsigned kConnectTriesMax = 12;
inline constexpr std::chrono::milliseconds kRetryDelayFirst{150};  // doubled each time, +- half
inline constexpr std::chrono::milliseconds kRetryDelayMax{1600};
// TCP, key exchange and login of one try may take half of SshOptions::start_timeout, or this if it
// is more.
inline constexpr std::chrono::seconds kLoginMin{10};
inline constexpr std::chrono::milliseconds kOwnWordsFirst{500};
// When a start that takes long is reported, and how many hosts are named then.
inline constexpr std::chrono::milliseconds kSlowStartNotice{1500};
inline constexpr unsigned kSlowStartsNamedMax = 4;
inline constexpr std::chrono::milliseconds kProbeWait{1000};
inline constexpr std::chrono::milliseconds kJumpProbeWait{1400};
inline constexpr std::chrono::seconds kKeepaliveInterval{15};
inline constexpr std::chrono::seconds kKeepaliveGiveUp{45};  // nothing acknowledged for this long
inline constexpr std::size_t kAddressesMax = 8;  // of one host, tried in turn
inline constexpr std::chrono::seconds kOldAgentWait{3};  // for an agent that is being killed

// what is read
inline constexpr std::size_t kErrorHeadBytes = 4096;  // of a remote command's standard error
inline constexpr std::size_t kOutputHeadBytes = 64 << 10;  // before the remote shell's mark
inline constexpr std::size_t kKnownHostsBytesMax = std::size_t{16} << 20;
inline constexpr std::size_t kKeyFileBytesMax = std::size_t{64} << 10;
inline constexpr std::size_t kSshAgentReplyMax = std::size_t{256} << 10;
inline constexpr std::size_t kSshAgentKeysMax = 64;
inline constexpr std::size_t kLoginKeysMax = 5;  // MaxAuthTries of a stock sshd is 6
inline constexpr std::chrono::seconds kSshClientWait{5};  // for `ssh -G`
// How long to wait for the last bytes of an ssh client that has exited; another process may hold
// its pipes.
inline constexpr std::chrono::milliseconds kClientPipesWait{500};
inline constexpr std::chrono::seconds kClientKillWait{5};

// pushing
inline constexpr std::uint32_t kPushesMax = 8;  // at once
inline constexpr std::chrono::seconds kPushStallMax{30};  // without an answer
inline constexpr std::size_t kSftpChunkBytes = std::size_t{32} << 10;
inline constexpr std::size_t kSftpWritesMax = 32;  // unanswered
inline constexpr std::size_t kSftpPacketBytesMax = std::size_t{256} << 10;
inline constexpr std::size_t kBundleFilesMax = 1024;
inline constexpr std::size_t kBundleBytesMax = std::size_t{256} << 20;

// Slurm
inline constexpr std::size_t kSrunLineBytesMax = std::size_t{16}
                                                 << 10;  // the rest of a line is cut
inline constexpr std::size_t kSrunLinesMax = 256;  // of one srun, kept to explain how it ended
inline constexpr std::size_t kSrunErrorsShown = 3;
inline constexpr std::size_t kAgentLogBytesMax = std::size_t{64} << 10;  // of an agent that ended
inline constexpr std::chrono::seconds kSlurmCommandWait{10};  // for a call of Slurm's programs
// for the address of a node's slurmd
inline constexpr std::chrono::milliseconds kSlurmAskWait{700};
inline constexpr std::chrono::milliseconds kSlurmdProbeWait{700};
inline constexpr std::chrono::seconds kSlurmNoticeWait{3};  // for the reason of a signal
inline constexpr std::chrono::seconds kSlurmJobEndWait{10};  // for the end of the job's time
// Jobs for nodes in place of lost ones (slurm/replacement.h).
inline constexpr std::chrono::minutes kReplacementTimeMin{5};  // less is not worth a job
inline constexpr std::size_t kReplacementsAtOnce = 4;  // queued by one order
inline constexpr std::size_t kReplacementsListedMax = 1024;
inline constexpr std::size_t kSlurmNodesAtOnce = 250;  // whose states one call asks for
inline constexpr std::size_t kSlurmReasonBytesMax = 200;
inline constexpr std::size_t kExcludedHostsMax = 256;  // of a job that is queued again
inline constexpr std::uint16_t kSlurmdPort = 6818;
inline constexpr unsigned kStepsMax = 1'000'000;  // of one run directory

// Lanes of the caller's blocking pool: kLaneFirst .. kLaneFirst + kLanes - 1.
inline constexpr std::uint32_t kLaneFirst = 0x5348'0000;
inline constexpr std::uint32_t kLanes = 4;

}  // namespace robustrun::launcher
