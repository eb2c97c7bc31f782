#pragma once
// Limits of launcher/, except those for lists of hosts (hosts/limits.h).

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace robustrun::launcher {

// Interval between attempts to kill the processes that a killed agent left behind.
inline constexpr std::chrono::milliseconds kStraySweepInterval{5};

// Exit code of an agent whose build differs from its supervisor's (wire::Credential::build). Before
// it exits, the agent reports this on its standard error; it has not used the credential.
inline constexpr int kExitOtherBuild = 65;
// Exit code of an agent that cannot use an option of the run on its node. Before it exits, the
// agent reports which option. Not 2, because slurmstepd exits with an errno if it cannot start the
// agent.
inline constexpr int kExitBadInput = 66;
// Exit codes of an agent that did not begin its work, or of a shell that could not start the agent.
inline constexpr std::array<int, 4> kAgentStartFailures = {kExitOtherBuild, kExitBadInput, 126,
                                                           127};
inline constexpr std::string_view kAgentSays = "robustrun agent: ";  // begins each such report

// ---- Connections

// Through one jump host; sshd's default MaxStartups is 10.
inline constexpr std::uint32_t kBastionConnectionsMax = 8;
// Each dropped connection lowers the fan-out by one, at the lowest to this; each success raises it
// by one again.
inline constexpr std::uint32_t kFanoutMin = 6;
inline constexpr unsigned kConnectTriesMax = 12;
// Doubled each time; varies at random by up to half.
inline constexpr std::chrono::milliseconds kRetryDelayFirst{150};
inline constexpr std::chrono::milliseconds kRetryDelayMax{1600};
// TCP, key exchange and login of one try may take half of SshOptions::start_timeout, or this time
// if it is longer, but never more than start_timeout.
inline constexpr std::chrono::seconds kLoginMin{10};
// How much longer an attempt waits than its connection, so that the connection's own error is
// reported.
inline constexpr std::chrono::milliseconds kOwnWordsFirst{500};
// After this time a start is reported as slow; at most kSlowStartsNamedMax hosts are named.
inline constexpr std::chrono::milliseconds kSlowStartNotice{1500};
inline constexpr unsigned kSlowStartsNamedMax = 4;
inline constexpr std::chrono::milliseconds kProbeWait{1000};
inline constexpr std::chrono::milliseconds kJumpProbeWait{1400};
inline constexpr std::chrono::seconds kKeepaliveInterval{15};
inline constexpr std::chrono::seconds kKeepaliveGiveUp{45};  // time without an acknowledgement
inline constexpr std::size_t kAddressesMax = 8;  // of one host, tried one after another
// for the end of an agent that is being killed
inline constexpr std::chrono::seconds kOldAgentWait{3};

// ---- Input

inline constexpr std::size_t kErrorHeadBytes = 4096;  // of a remote command's standard error
inline constexpr std::size_t kOutputHeadBytes = 64 << 10;  // before the remote shell's mark
inline constexpr std::size_t kKnownHostsBytesMax = std::size_t{16} << 20;
inline constexpr std::size_t kKeyFileBytesMax = std::size_t{64} << 10;
inline constexpr std::size_t kSshAgentReplyMax = std::size_t{256} << 10;
inline constexpr std::size_t kSshAgentKeysMax = 64;
inline constexpr std::size_t kLoginKeysMax = 5;  // sshd's default MaxAuthTries is 6
inline constexpr std::chrono::seconds kSshClientWait{5};  // for `ssh -G`
// How long to wait for the last bytes of an ssh client that has exited, because another process may
// hold its pipes open.
inline constexpr std::chrono::milliseconds kClientPipesWait{500};
inline constexpr std::chrono::seconds kClientKillWait{5};

// ---- Pushes

inline constexpr std::uint32_t kPushesMax = 8;  // pushes at once
inline constexpr std::chrono::seconds kPushStallMax{30};  // time without an answer
inline constexpr std::size_t kSftpChunkBytes = std::size_t{32} << 10;
inline constexpr std::size_t kSftpWritesMax = 32;  // writes without an answer yet
inline constexpr std::size_t kSftpPacketBytesMax = std::size_t{256} << 10;
inline constexpr std::size_t kBundleFilesMax = 1024;
inline constexpr std::size_t kBundleBytesMax = std::size_t{256} << 20;

// ---- Slurm

inline constexpr std::size_t kSrunLineBytesMax = std::size_t{16}
                                                 << 10;  // the rest of a line is cut
// lines kept of one srun, to explain how it ended
inline constexpr std::size_t kSrunLinesMax = 256;
inline constexpr std::size_t kSrunErrorsShown = 3;
inline constexpr std::size_t kAgentLogBytesMax = std::size_t{64} << 10;  // of an agent that ended
inline constexpr std::chrono::seconds kSlurmCommandWait{10};  // for one call of a Slurm program
// for the address of a node's slurmd, then for a connection to it
inline constexpr std::chrono::milliseconds kSlurmAskWait{700};
inline constexpr std::chrono::milliseconds kSlurmdProbeWait{700};
inline constexpr std::chrono::seconds kSlurmNoticeWait{3};  // for Slurm's reason for a signal
inline constexpr std::chrono::seconds kSlurmJobEndWait{10};  // for the time at which the job ends
// Replacements (slurm/replacement.h). None is queued if the run's job has less time left than this.
inline constexpr std::chrono::minutes kReplacementTimeMin{5};
inline constexpr std::size_t kReplacementsAtOnce = 4;  // jobs queued by one order
inline constexpr std::size_t kReplacementsListedMax = 1024;
inline constexpr std::size_t kSlurmNodesAtOnce = 250;  // nodes whose states one call asks for
inline constexpr std::size_t kSlurmReasonBytesMax = 200;
// hosts that a job leaves out when it is queued again
inline constexpr std::size_t kExcludedHostsMax = 256;
inline constexpr std::uint16_t kSlurmdPort = 6818;
inline constexpr unsigned kStepsMax = 1'000'000;  // srun steps of one run directory

// Lanes of the caller's blocking pool: kLaneFirst .. kLaneFirst + kLanes - 1.
inline constexpr std::uint32_t kLaneFirst = 0x5348'0000;
inline constexpr std::uint32_t kLanes = 4;

}  // namespace robustrun::launcher
