#pragma once
// Bounds of robustrun-blocks.

#include <chrono>
#include <cstddef>

namespace robustrun::bootstrap {

// block_supply
inline constexpr unsigned kLocalThreads = 8;     // reads of the store
// Concurrent requests to the origin, besides prefetching.
inline constexpr unsigned kDemandThreads = 16;
// Prefetching: first the hot blocks, those of the profile; then the cold ones, all others.
inline constexpr unsigned kHotInFlightMax = 32;  // maximum of --in-flight
inline constexpr unsigned kHotInFlight = 24;     // its default
inline constexpr unsigned kHotInFlightBusy = 12;  // while a reader waits for a peer or the origin
inline constexpr unsigned kColdInFlight = 2;
// Pause of cold prefetching after a read of a block that was missing or not verified yet.
inline constexpr std::chrono::milliseconds kColdQuiet{500};
// A longer pause, after any read; not made any more once all hot blocks have been present for
// kColdPatience.
inline constexpr std::chrono::seconds kColdRest{5};
inline constexpr std::chrono::seconds kColdPatience{60};
inline constexpr unsigned kWantsInFlight = 32;  // concurrent block requests to peers
inline constexpr std::chrono::seconds kPeerDeadline{10};
inline constexpr std::chrono::milliseconds kRetryFirst{100};  // doubled each time
inline constexpr std::chrono::seconds kRetryPauseMax{5};
inline constexpr std::chrono::seconds kPrefetchPause{5};  // after a failure
inline constexpr std::chrono::seconds kFullPause{30};  // no prefetching to a full disk
inline constexpr std::chrono::milliseconds kSupplyTick{20};

// source_opening
inline constexpr std::chrono::seconds kNamedPatience{5};  // wait for a source whose blob is known

// blob_reads
inline constexpr std::size_t kReadsWaitingMax = 4096;  // further reads fail with EIO at once
inline constexpr std::size_t kReadBytesMax = std::size_t{4} << 20;
inline constexpr std::chrono::seconds kFailureLogEvery{1};
// For this long, reads of a block that could not be fetched fail at once.
inline constexpr std::chrono::seconds kFailedFor{1};
inline constexpr std::size_t kFailedMax = 4096;  // remembered failed blocks

// content_check
inline constexpr std::chrono::seconds kCheckPause{30};  // after a block turned out to be missing
inline constexpr int kCheckNice = 19;

// http_origin
inline constexpr long kConnectSeconds = 10;
inline constexpr long kStallSeconds = 10;  // with less than kStallBytes per second
inline constexpr long kStallBytes = 1024;
inline constexpr long kRedirectsMax = 5;

// image_mount
inline constexpr unsigned kFuseThreads = 4;
inline constexpr unsigned kFuseReadBytes = 1U << 20;
inline constexpr unsigned kFuseBackground = 64;  // concurrent read-ahead requests of the kernel
inline constexpr unsigned kReadAheadKib = 8192;

// block_clients
inline constexpr std::size_t kClientsMax = 32;
inline constexpr std::size_t kClientRepliesMax = 64;  // frames queued for a slow client
// Pending requests of one client; an agent asks on behalf of all its peers.
inline constexpr std::size_t kClientGetsMax = 128;
inline constexpr std::chrono::milliseconds kClientFlush{1000};
inline constexpr std::size_t kEventBytesMax = 1000;

}  // namespace robustrun::bootstrap
