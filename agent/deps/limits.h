#pragma once
// Limits of node_snapshot and snapshot_exchange.

#include <chrono>
#include <cstddef>

namespace robustrun::agent {

inline constexpr std::chrono::minutes kInstallMax{60};  // for one step of an installation
inline constexpr std::chrono::seconds kAbiAnswerMax{60};  // for an interpreter on slow storage
// How often a node that waits for a lease looks, or asks its peers again.
inline constexpr std::chrono::milliseconds kLeasePoll{250};
// Without an answer from any peer after this time, this node installs the snapshot itself.
inline constexpr std::chrono::seconds kSnapshotPeersMax{20};
// Peers that lack the snapshot are asked again for this long, as they may have to read a cache.
inline constexpr std::chrono::seconds kSnapshotOffersMax{2};
inline constexpr std::size_t kInstallTailBytes = 4096;  // of its output, for an error
inline constexpr std::size_t kInstallTailLines = 6;
inline constexpr std::size_t kSnapshotQueueMax = 256;  // jobs, pieces of the log included

}  // namespace robustrun::agent
