#pragma once
// Limits of node_image, server, profile, container and container_command.

#include <chrono>
#include <cstddef>

namespace robustrun::agent {

inline constexpr std::size_t kContainerEntriesMax = 4096;
// From the start of a try until the image is ready: less than a start may take (JobSpec).
inline constexpr std::chrono::seconds kImageReadyMax{50};
inline constexpr std::chrono::seconds kContainerReadyMax{30};
inline constexpr std::chrono::milliseconds kImageServerPoll{50};
inline constexpr std::chrono::seconds kImageServerAnswerMax{5};
inline constexpr std::chrono::seconds kImageServerReadyMax{45};  // its origin may be slow to answer
inline constexpr std::chrono::seconds kImageServerQuitMax{2};
inline constexpr std::chrono::seconds kImagePeersWait{10};  // then it reads ahead without peers
// For reading the profile beside an image; then its server starts without it.
inline constexpr std::chrono::seconds kImageProfileMax{2};
// Age at which a half-written profile is removed, and the number of files searched for one.
inline constexpr std::chrono::hours kTornProfileAge{1};
inline constexpr std::size_t kImageFolderEntriesMax = 10'000;
inline constexpr std::chrono::seconds kImageEndMax{5};  // to unmount, at the end
// For killed workers that have not ended: they may wait for a server that does not answer.
inline constexpr std::chrono::milliseconds kKilledReadersMax{1000};
inline constexpr std::chrono::milliseconds kKilledReadersAnswer{500};
inline constexpr std::size_t kImageServerWordsMax = 2048;  // of its last output

}  // namespace robustrun::agent
