#pragma once
// Limits of node_snapshot.

#include <chrono>
#include <cstddef>

namespace robustrun::agent {

inline constexpr std::chrono::minutes kInstallMax{60};  // for one step of an installation
inline constexpr std::chrono::seconds kAbiAnswerMax{60};  // for an interpreter on slow storage
// how often a node that waits for a lease looks
inline constexpr std::chrono::milliseconds kLeasePoll{250};
// Without the snapshot from peers by then, this node installs it, even if a peer has it.
inline constexpr std::chrono::seconds kSnapshotPeersMax{20};
// Without a peer that has it or makes it by then, this node installs it.
inline constexpr std::chrono::seconds kSnapshotOffersMax{2};
inline constexpr std::size_t kInstallTailBytes = 4096;  // of its output, for an error
inline constexpr std::size_t kInstallTailLines = 6;
inline constexpr std::size_t kSnapshotQueueMax = 256;  // jobs, pieces of the log included

}  // namespace robustrun::agent
