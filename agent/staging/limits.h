#pragma once
// Limits of blocks that are passed between nodes, of staged files and of reading ahead.

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace robustrun::agent {

// block_asker
inline constexpr unsigned kBlockAskThreads = 16;
inline constexpr std::size_t kBlockFetchesMax = 1024;  // at a time; further fetches fail
inline constexpr std::size_t kIdleConnectionsMax = 128;  // idle connections to peers that are kept
inline constexpr std::chrono::milliseconds kBlockConnectMax{2000};
// For one block, from its first byte.
inline constexpr std::chrono::milliseconds kBlockReceiveMax{20000};

// block_server
inline constexpr unsigned kBlockServeThreads = 16;
inline constexpr std::size_t kBlockSessionsMax = 1024;  // connections of peers
// At a time; further requests are answered with kBusy.
inline constexpr std::size_t kBlockUploadsMax = 64;
// From a request's first byte to its last.
inline constexpr std::chrono::milliseconds kQuestionMax{5000};
inline constexpr std::chrono::milliseconds kUploadMax{20000};  // for one block
inline constexpr std::chrono::milliseconds kServerTick{25};
// How long a peer waits for a blob to become known here.
inline constexpr std::chrono::seconds kUnknownBlobMax{10};

// block_server_link
inline constexpr std::size_t kServerReadBytes = std::size_t{256} << 10;
inline constexpr std::size_t kServerQuestionsMax = 256;  // at once
inline constexpr std::chrono::milliseconds kServerLifeTick{250};
inline constexpr std::chrono::milliseconds kServerSilentMax{750};  // since the server was pinged

// stage_files
inline constexpr std::size_t kStageWindow = 16;  // blocks of one file fetched at the same time
inline constexpr unsigned kStageOriginThreads = 8;  // each may hang in a dead mount
inline constexpr unsigned kStageStoreThreads = 2;
inline constexpr std::size_t kStageQueueMax = 4096;
// Without a new block; the start then fails.
inline constexpr std::chrono::seconds kStageStallMax{60};

// node_code
// Blocks requested from the supervisor at the same time.
inline constexpr std::size_t kCodeAskedMax = 4;
inline constexpr std::chrono::seconds kCodeAskAgain{5};  // if no answer came
// hot_files
inline constexpr std::chrono::seconds kHotKnownMax{1};  // a start waits for the profile
inline constexpr std::chrono::seconds kHotMadeMax{3};  // the end of a run waits for a new profile
// From the first worker's list to the last list that counts.
inline constexpr std::chrono::seconds kHotListsWait{10};

}  // namespace robustrun::agent
