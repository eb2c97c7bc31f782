#pragma once
// Every bound of robustrun-blocks.

#include <chrono>
#include <cstddef>

namespace robustrun::bootstrap {

// block_supply
inline constexpr unsigned kLocalThreads = 8;     // reads of the store
inline constexpr unsigned kDemandThreads = 16;   // requests to the origin besides prefetching
inline constexpr unsigned kHotInFlightMax = 32;  // of --in-flight
inline constexpr unsigned kHotInFlight = 24;
inline constexpr unsigned kHotInFlightBusy = 12;  // while a reader waits for the origin
inline constexpr unsigned kColdInFlight = 2;
inline constexpr std::chrono::milliseconds kColdQuiet{500};  // since a read had to wait,
inline constexpr std::chrono::seconds kColdRest{5};          // and since any read at all,
inline constexpr std::chrono::seconds kColdPatience{60};     // but no longer than that
inline constexpr unsigned kWantsInFlight = 32;   // blocks that peers are asked for at once
inline constexpr std::chrono::seconds kPeerDeadline{10};
inline constexpr std::chrono::milliseconds kRetryFirst{100};  // doubled each time
inline constexpr std::chrono::seconds kRetryPauseMax{5};
inline constexpr std::chrono::seconds kPrefetchPause{5};  // after a round in which some failed
inline constexpr std::chrono::seconds kFullPause{30};  // nothing is read ahead to a full disk
inline constexpr std::chrono::milliseconds kSupplyTick{20};

// source_opening
inline constexpr std::chrono::seconds kNamedPatience{5};  // with a source whose blob is known

// blob_reads
inline constexpr std::size_t kReadsWaitingMax = 4096;  // more are answered with EIO at once
inline constexpr std::size_t kReadBytesMax = std::size_t{4} << 20;
inline constexpr std::chrono::seconds kFailureLogEvery{1};
inline constexpr std::chrono::seconds kFailedFor{1};  // a block that could not be had
inline constexpr std::size_t kFailedMax = 4096;       // such blocks

// content_check
inline constexpr std::chrono::seconds kCheckPause{30};  // when a block was missing after all
inline constexpr int kCheckNice = 19;

// http_origin
inline constexpr long kConnectSeconds = 10;
inline constexpr long kStallSeconds = 10;  // with less than kStallBytes a second
inline constexpr long kStallBytes = 1024;
inline constexpr long kRedirectsMax = 5;

// image_mount
inline constexpr unsigned kFuseThreads = 4;
inline constexpr unsigned kFuseReadBytes = 1U << 20;
inline constexpr unsigned kFuseBackground = 64;  // reads ahead that the kernel has under way
inline constexpr unsigned kReadAheadKib = 8192;

// block_clients
inline constexpr std::size_t kClientsMax = 32;
inline constexpr std::size_t kClientRepliesMax = 64;  // frames that wait for a slow client
inline constexpr std::size_t kClientGetsMax =
    128;    // unanswered, of one client: an agent asks for all its peers
inline constexpr std::chrono::milliseconds kClientFlush{1000};
inline constexpr std::size_t kEventBytesMax = 1000;

}  // namespace robustrun::bootstrap
