#pragma once
// Bounds of blocks that go from node to node, and of files that are staged.

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace robustrun::agent {

// block_asker
inline constexpr unsigned kBlockAskThreads = 16;
inline constexpr std::size_t kBlockHuntsMax = 1024;  // blocks asked for at once; further ones fail
inline constexpr std::size_t kIdleLinesMax = 128;  // connections to peers that are kept
inline constexpr std::chrono::milliseconds kBlockConnectMax{2000};
inline constexpr std::chrono::milliseconds kBlockReceiveMax{20000};  // of one block, once it comes

// block_server
inline constexpr unsigned kBlockServeThreads = 16;
inline constexpr std::size_t kBlockVisitsMax = 1024;  // connections of peers
inline constexpr std::size_t kBlockUploadsMax = 64;  // that go out at once; then: busy
inline constexpr std::chrono::milliseconds kQuestionMax{5000};  // from its first byte to its last
inline constexpr std::chrono::milliseconds kUploadMax{20000};  // of one block
inline constexpr std::chrono::milliseconds kServerTick{25};
inline constexpr std::chrono::seconds kUnknownBlobMax{10};  // it may not be known here yet

// block_server_link
inline constexpr std::size_t kServerReadBytes = std::size_t{256} << 10;
inline constexpr std::size_t kServerQuestionsMax = 256;  // at once
inline constexpr std::chrono::milliseconds kServerLifeTick{250};
inline constexpr std::chrono::milliseconds kServerSilentMax{
    750};  // since it was asked for its life

// stage_files
inline constexpr std::size_t kStageWindow = 16;  // blocks of a file that are sought at once
inline constexpr unsigned kStageOriginThreads = 8;  // may hang in a dead mount
inline constexpr unsigned kStageStoreThreads = 2;
inline constexpr std::size_t kStageQueueMax = 4096;
inline constexpr std::chrono::seconds kStageStallMax{60};  // nothing came; then the start fails

// node_code
inline constexpr std::size_t kCodeAskedMax = 4;  // blocks of the supervisor, at once
inline constexpr std::chrono::seconds kCodeAskAgain{5};  // what was not answered

}  // namespace robustrun::agent
