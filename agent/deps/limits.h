#pragma once
// Bounds of node_snapshot.

#include <chrono>
#include <cstddef>

namespace robustrun::agent {

inline constexpr std::chrono::minutes kInstallMax{60};  // of one step of an installation
inline constexpr std::chrono::seconds kAbiAnswerMax{60};  // of an interpreter on slow storage
inline constexpr std::chrono::milliseconds kLeasePoll{250};  // who waits looks so often
// Then it is installed here, whoever else may have it.
inline constexpr std::chrono::seconds kSnapshotPeersMax{20};
// Nobody says that he has it, or makes it.
inline constexpr std::chrono::seconds kSnapshotOffersMax{2};
inline constexpr std::size_t kInstallTailBytes = 4096;  // of its output, for an error
inline constexpr std::size_t kInstallTailLines = 6;
inline constexpr std::size_t kSnapshotQueueMax = 256;  // jobs, pieces of the log among them

}  // namespace robustrun::agent
