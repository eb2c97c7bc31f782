#pragma once
// Bounds of node_image, image_server, image_tree and container_command.

#include <chrono>
#include <cstddef>

namespace robustrun::agent {

inline constexpr std::size_t kContainerEntriesMax = 4096;
// From the beginning, at the start of the agent or anew: less than a start may take (JobSpec).
inline constexpr std::chrono::seconds kImageReadyMax{50};
inline constexpr std::chrono::seconds kContainerReadyMax{30};
inline constexpr std::chrono::milliseconds kImageServerPoll{50};
inline constexpr std::chrono::seconds kImageServerAnswerMax{5};
inline constexpr std::chrono::seconds kImageServerReadyMax{45};  // its origin may be slow to answer
inline constexpr std::chrono::seconds kImageServerQuitMax{2};
inline constexpr std::chrono::seconds kImagePeersWait{10};  // then it reads ahead without them
// For what lies beside an image to be read; then its server begins without.
inline constexpr std::chrono::seconds kImageProfileMax{2};
// A half-written one is left alone so long, and looked for among so many files.
inline constexpr std::chrono::hours kTornProfileAge{1};
inline constexpr std::size_t kImageFolderEntriesMax = 10'000;
inline constexpr std::chrono::seconds kImageEndMax{5};  // to unmount, at the end
// Workers that were killed and are still there: they may wait for a server that does not answer.
inline constexpr std::chrono::milliseconds kKilledReadersMax{1000};
inline constexpr std::chrono::milliseconds kKilledReadersAnswer{500};
inline constexpr std::size_t kImageServerWordsMax = 2048;  // of what it said last

}  // namespace robustrun::agent
