#pragma once
// Bounds of the bootstrap room, except those of blocks/ (blocks/limits.h).

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace robustrun::bootstrap {

// hot_profile, touched_files
inline constexpr std::size_t kProfileBytesMax = std::size_t{16} << 20;
// Length of one worker's list of files.
inline constexpr std::size_t kTouchedBytesMax = std::size_t{16} << 20;
inline constexpr std::size_t kHotFilesMax = std::size_t{1} << 16;
// Ranges of one file; a file with more counts as a whole.
inline constexpr std::size_t kHotRangesMax = 1024;
inline constexpr std::size_t kPathBytesMax = 4096;
// A file is dropped once this many recordings in a row have missed it.
inline constexpr std::uint32_t kMissedMax = 3;

// hot_recording
// Smaller files count as a whole.
inline constexpr std::uint64_t kResidentFrom = std::uint64_t{1} << 20;
// Shorter gaps between ranges are read too.
inline constexpr std::uint64_t kRangeGapMax = std::uint64_t{256} << 10;
// Longest file that counts as a whole if its pages cannot be queried: a mapped one (a library), and
// any other (perhaps a dataset).
inline constexpr std::uint64_t kWholeMappedMax = std::uint64_t{2} << 30;
inline constexpr std::uint64_t kWholeReadMax = std::uint64_t{16} << 20;

// read_ahead
inline constexpr std::uint64_t kPieceBytes = std::uint64_t{1} << 20;
inline constexpr unsigned kReadsInFlight = 16;
// The profile is recorded again once more than 1/20 of its files have changed.
inline constexpr std::uint64_t kChangedPartMax = 20;

// squash_mount, mount_folder
inline constexpr std::size_t kMountTableBytesMax = std::size_t{16} << 20;
inline constexpr std::chrono::seconds kMountMax{30};  // until the image is mounted
inline constexpr std::chrono::milliseconds kMountPoll{10};
inline constexpr std::chrono::seconds kUnmountMax{5};
inline constexpr unsigned kLoopDrawsMax = 64;  // tries to take a free loop device
inline constexpr unsigned long kLoopReadAheadBytes = 128 << 10;  // as the kernel's default
inline constexpr std::size_t kHelperWordsMax = 1024;  // of squashfuse's output
inline constexpr unsigned kMountFoldersMax = 256;  // NAME-0, NAME-1, …

// profile_store
inline constexpr std::size_t kProfilesMax = 64;  // per cache and kind; the oldest are removed
// A list of imports: what a worker reports (at most kModulesBytesMax in wire), and a note of the
// agent.
inline constexpr std::size_t kImportsBytesMax = std::size_t{257} << 10;
inline constexpr std::chrono::hours kProfileAgeMax{24 * 7};  // older profiles are recorded again

// block_tree
inline constexpr std::size_t kTreeDegree = 4;  // how many nodes ask one node for one block
inline constexpr std::size_t kTreeResorts = 3;  // nodes asked besides the ancestors
// Nodes that the root asks first, in case they have the block.
inline constexpr std::size_t kTreeFirstAsked = 2;

// fetch_plan, peer_latency
inline constexpr std::chrono::milliseconds kPatienceMin{50};
inline constexpr std::chrono::milliseconds kPatienceMax{2000};
inline constexpr std::chrono::milliseconds kPatienceFirst{300};  // before the first block arrived
inline constexpr int kPatienceTimes = 4;  // patience = this times the usual time of a block
inline constexpr std::chrono::milliseconds kSignEvery{
    100};  // signs of life of a peer that is fetching the block
inline constexpr std::chrono::milliseconds kSignPatience{400};  // patience with such a peer
inline constexpr std::size_t kAskedAtOnceMax = 3;  // peers asked for one block at the same time
// A peer without any sign for this long is given up.
inline constexpr std::chrono::milliseconds kSilentPeerMax{2000};
// A peer that has not sent the block after this time is given up in spite of signs.
inline constexpr std::chrono::seconds kSlowPeerMax{60};
inline constexpr int kLatesAreFailure = 3;  // late replies in a row, without a block between them
// How long a failed peer is not asked; doubled with each failure up to the maximum.
inline constexpr std::chrono::milliseconds kPeerOutFirst{1000};
inline constexpr std::chrono::milliseconds kPeerOutMax{30000};

// block_store
inline constexpr std::size_t kAboutBytesMax = std::size_t{16} << 10;
// Bytes written before the store's size is computed again.
inline constexpr std::uint64_t kQuotaStep = std::uint64_t{256} << 20;
inline constexpr std::uint64_t kVerifyBlocks = 16;  // blocks that a check reads at once

// http_answer
inline constexpr std::size_t kHeaderBytesMax = 4096;  // of one header value that is kept

// deps/requirement_file, deps/inputs
// Lock files are the longest.
inline constexpr std::size_t kDepsFileBytesMax = std::size_t{16} << 20;
inline constexpr std::size_t kDepsLinesMax = std::size_t{1} << 16;
inline constexpr std::size_t kDepsFilesMax = 256;  // files that include each other
inline constexpr int kDepsNestingMax = 16;
inline constexpr std::size_t kLocalFilesMax = 20'000;  // of all local packages together
inline constexpr std::uint64_t kLocalBytesMax = std::uint64_t{4} << 30;
inline constexpr int kLocalDepthMax = 32;
inline constexpr std::size_t kAbiBytesMax = 4096;

// deps/store
inline constexpr std::size_t kSnapshotAboutBytesMax = std::size_t{64} << 10;
inline constexpr std::size_t kSnapshotsListedMax = 4096;
// Default limit for all snapshots of a cache, and for all its blobs. Beyond it, the longest unused
// are removed.
inline constexpr std::uint64_t kCacheBytesMax = std::uint64_t{64} << 30;
// Bytes at each end of a snapshot that are checked before each use.
inline constexpr std::size_t kSnapshotEndBytes = std::size_t{64} << 10;
// How long a snapshot on shared storage counts as in use after its last sign of use.
inline constexpr std::chrono::seconds kUsedElsewhereFor{900};
inline constexpr std::chrono::seconds kUseSignInterval{300};
inline constexpr std::chrono::hours kLeftoverAge{24};  // until an unfinished file is removed

// deps/lease
inline constexpr std::chrono::seconds kLeaseRenewal{5};
inline constexpr std::chrono::seconds kLeaseStaleAfter{30};  // without a renewal
inline constexpr std::size_t kLeaseBytesMax = 4096;

// code_store
// More than the limit of base/io/code_tree.h, because a pack also contains names.
inline constexpr std::size_t kCodePackBytesMax = std::size_t{300} << 20;
inline constexpr std::size_t kCodeFoldersKept = 8;  // unused folders that are kept
// How long code counts as in use after its last start.
inline constexpr std::chrono::hours kCodeUsedElsewhereFor{1};

// deps/place
inline constexpr std::size_t kPlacesKept = 4;  // unused places that are kept

}  // namespace robustrun::bootstrap
