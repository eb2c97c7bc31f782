#pragma once
// Limits of node_snapshot and snapshot_exchange.

#include <chrono>
#include <cstddef>

namespace robustrun::agent {

inline constexpr std::chrono::minutes kInstallMax{60};  // for one step of an installation
inline constexpr std::chrono::seconds kAbiAnswerMax{60};  // for an interpreter on slow storage
// How often a node that waits for another node's installation looks at the lease, or asks its
// peers.
inline constexpr std::chrono::milliseconds kLeasePoll{250};
// If no peer has answered after this time, this node installs the dependencies itself.
inline constexpr std::chrono::seconds kSnapshotPeersMax{20};
// Peers that lack the snapshot are asked again for this long, because they may still be looking
// into their caches.
inline constexpr std::chrono::seconds kSnapshotOffersMax{2};
// Of an installer's output, for an error message.
inline constexpr std::size_t kInstallTailBytes = 4096;
inline constexpr std::size_t kInstallTailLines = 6;
inline constexpr std::size_t kSnapshotQueueMax = 256;  // jobs for threads; one per piece of log

}  // namespace robustrun::agent
