#pragma once
// Limits of node_image, server, profile, container and container_command.

#include <chrono>
#include <cstddef>

namespace robustrun::agent {

inline constexpr std::size_t kContainerEntriesMax = 4096;
// For one try to make the image ready; less than a start of workers may take (JobSpec).
inline constexpr std::chrono::seconds kImageReadyMax{50};
inline constexpr std::chrono::seconds kContainerReadyMax{30};
inline constexpr std::chrono::milliseconds kImageServerPoll{50};
inline constexpr std::chrono::seconds kImageServerAnswerMax{5};
inline constexpr std::chrono::seconds kImageServerReadyMax{45};  // the image's source may be slow
inline constexpr std::chrono::seconds kImageServerQuitMax{2};
// How long the block server waits for peers before it reads ahead without them.
inline constexpr std::chrono::seconds kImagePeersWait{10};
// For reading the profile beside an image; after this time the server starts without a profile.
inline constexpr std::chrono::seconds kImageProfileMax{2};
// A half-written profile of this age is removed.
inline constexpr std::chrono::hours kTornProfileAge{1};
inline constexpr std::size_t kImageFolderEntriesMax = 10'000;  // searched for such profiles
inline constexpr std::chrono::seconds kImageEndMax{5};  // for unmounting at the end of the run
// After workers were killed, a FUSE server counts as hanging if their reads still wait after
// kKilledReadersMax, or if a block server does not answer within kKilledReadersAnswer.
inline constexpr std::chrono::milliseconds kKilledReadersMax{1000};
inline constexpr std::chrono::milliseconds kKilledReadersAnswer{500};
// Bytes of output, of a block server or bubblewrap, that are looked at.
inline constexpr std::size_t kImageServerWordsMax = 2048;

}  // namespace robustrun::agent
