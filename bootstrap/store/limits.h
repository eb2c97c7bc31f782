#pragma once
// Every bound of the bootstrap room.

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace robustrun::bootstrap {

// hot_profile, touched_files
inline constexpr std::size_t kProfileBytesMax = std::size_t{16} << 20;
inline constexpr std::size_t kTouchedBytesMax = std::size_t{16} << 20;  // what one worker read
inline constexpr std::size_t kHotFilesMax = std::size_t{1} << 16;
inline constexpr std::size_t kHotRangesMax = 1024;  // of one file; beyond it, it counts as whole
inline constexpr std::size_t kPathBytesMax = 4096;
inline constexpr std::uint32_t kMissedMax = 3;  // recordings in a row that did not see a file

// hot_recording
inline constexpr std::uint64_t kResidentFrom = std::uint64_t{1} << 20;  // smaller files count whole
inline constexpr std::uint64_t kRangeGapMax = std::uint64_t{256} << 10;  // read over, not left out
// Of a file whose pages may not be looked at: a library, and anything else (a dataset, perhaps).
inline constexpr std::uint64_t kWholeMappedMax = std::uint64_t{2} << 30;
inline constexpr std::uint64_t kWholeReadMax = std::uint64_t{16} << 20;

// read_ahead
inline constexpr std::uint64_t kPieceBytes = std::uint64_t{1} << 20;
inline constexpr unsigned kReadsInFlight = 16;
inline constexpr std::uint64_t kChangedPartMax = 20;  // one file in so many: it is made anew

// squash_mount, mount_folder
inline constexpr std::size_t kMountTableBytesMax = std::size_t{16} << 20;
inline constexpr std::chrono::seconds kMountMax{30};  // from the order until files can be read
inline constexpr std::chrono::milliseconds kMountPoll{10};
inline constexpr std::chrono::seconds kUnmountMax{5};
inline constexpr unsigned kLoopDrawsMax = 64;  // free loop devices that others took before us
inline constexpr unsigned long kLoopReadAheadBytes = 128 << 10;  // as the kernel's default
inline constexpr std::size_t kHelperWordsMax = 1024;  // of what squashfuse said
inline constexpr unsigned kMountFoldersMax = 256;  // of one name
inline constexpr std::size_t kOwnerBytesMax = 4096;

// profile_store
inline constexpr std::size_t kProfilesMax = 64;  // of one cache; the oldest go
inline constexpr std::chrono::hours kProfileAgeMax{24 * 7};  // then it is made anew

// block_tree
inline constexpr std::size_t kTreeDegree = 4;  // who asks one node for one block
inline constexpr std::size_t kTreeResorts = 3;  // asked besides the ancestors
inline constexpr std::size_t kTreeFirstAsked = 2;  // by the first, whether they have it already

// block_quest, peer_manners
inline constexpr std::chrono::milliseconds kPatienceMin{50};
inline constexpr std::chrono::milliseconds kPatienceMax{2000};
inline constexpr std::chrono::milliseconds kPatienceFirst{300};  // nobody has ever answered us
inline constexpr int kPatienceTimes = 4;  // of what a block usually takes
inline constexpr std::chrono::milliseconds kSignEvery{100};  // who has it coming says so
inline constexpr std::chrono::milliseconds kSignPatience{400};  // with somebody who says so
inline constexpr std::size_t kAskedAtOnceMax = 3;  // peers, for one block
// Without a sign for so long it is given up.
inline constexpr std::chrono::milliseconds kSilentPeerMax{2000};
inline constexpr std::chrono::seconds kSlowPeerMax{60};  // with signs, but no block
inline constexpr int kLatesAreFailure = 3;  // without a block in between
// Who failed is not asked for so long; doubled each time, up to the second.
inline constexpr std::chrono::milliseconds kPeerOutFirst{1000};
inline constexpr std::chrono::milliseconds kPeerOutMax{30000};

// block_store
inline constexpr std::size_t kAboutBytesMax = std::size_t{16} << 10;
inline constexpr std::uint64_t kQuotaStep = std::uint64_t{256} << 20;  // then it is counted again
inline constexpr std::uint64_t kVerifyBlocks = 16;  // of one read

// http_answer
inline constexpr std::size_t kHeaderBytesMax = 4096;  // of one value that is kept

// requirement_file, snapshot_inputs
inline constexpr std::size_t kDepsFileBytesMax = std::size_t{16} << 20;  // a lock is the longest
inline constexpr std::size_t kDepsLinesMax = std::size_t{1} << 16;
inline constexpr std::size_t kDepsFilesMax = 256;  // that name each other
inline constexpr int kDepsNestingMax = 16;
inline constexpr std::size_t kLocalFilesMax = 20'000;  // of all local packages together
inline constexpr std::uint64_t kLocalBytesMax = std::uint64_t{4} << 30;
inline constexpr int kLocalDepthMax = 32;
inline constexpr std::size_t kAbiBytesMax = 4096;

// snapshot_store
inline constexpr std::size_t kSnapshotAboutBytesMax = std::size_t{64} << 10;
inline constexpr std::size_t kSnapshotsListedMax = 4096;
inline constexpr std::uint64_t kCacheBytesMax = std::uint64_t{64} << 30;  // then the oldest go
inline constexpr std::size_t kSnapshotEndBytes = std::size_t{64} << 10;  // looked at before a use
inline constexpr std::chrono::seconds kUsedElsewhereFor{900};  // since its last sign of use
inline constexpr std::chrono::seconds kUseSignInterval{300};
inline constexpr std::chrono::hours kLeftoverAge{24};  // of a file that nobody finished

// snapshot_lease
inline constexpr std::chrono::seconds kLeaseRenewal{5};
inline constexpr std::chrono::seconds kLeaseStaleAfter{30};  // without a renewal
inline constexpr std::size_t kLeaseBytesMax = 4096;

// code_store
inline constexpr std::size_t kCodePackBytesMax = std::size_t{300} << 20;  // code_tree's, and names
inline constexpr std::size_t kCodeFoldersKept = 8;  // of those that nobody uses
inline constexpr std::chrono::hours kCodeUsedElsewhereFor{1};  // since its last start

// snapshot_place
inline constexpr std::size_t kPlacesKept = 4;  // of those that nobody uses

}  // namespace robustrun::bootstrap
