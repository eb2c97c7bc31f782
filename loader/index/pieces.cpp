#include "loader/index/pieces.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/futex.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <utility>

#include "base/io/fd.h"

namespace robustrun::loader {
namespace {

constexpr std::size_t kIndexHeadBytes = 9 + 8 + 1 + 8 + 8;  // megatron.h
constexpr std::size_t kIndexBytesPerRecord = 4 + 8 + 8;
constexpr std::uint64_t kSampleBits = 48;
constexpr long kLookEveryNs = 20'000'000;

// Nothing if there is no such file yet.
base::Result<std::optional<MegatronIndex>> read_piece(const std::string& path,
                                                      std::uint64_t records) {
  const base::Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file && errno == ENOENT) return std::nullopt;
  struct stat status{};
  if (!file || ::fstat(file.get(), &status) != 0) {
    return base::fail_errno(fmt::format("cannot read {}", path), errno);
  }
  std::string bytes(piece_index_bytes(records), '\0');
  std::size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t got = ::read(file.get(), bytes.data() + done, bytes.size() - done);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return base::fail_errno(fmt::format("cannot read {}", path), errno);
    if (got == 0) break;
    done += static_cast<std::size_t>(got);
  }
  bytes.resize(done);
  auto index = parse_piece(bytes, records, static_cast<std::uint64_t>(status.st_size));
  if (!index) {
    return base::fail(base::Errc::kCorrupt,
                      fmt::format("cannot use {}: {}; remove it, and it is made again", path,
                                  index.error().what));
  }
  return *std::move(index);
}

// On a network file system a file that was looked for is not found for a while after another
// machine has made it, unless its folder is opened again.
void look_anew(const std::string& folder) {
  const base::Fd opened(::open(folder.c_str(), O_RDONLY | O_CLOEXEC | O_DIRECTORY));
}

}  // namespace

std::size_t piece_index_bytes(std::uint64_t records) {
  RR_ASSERT(records >= 1 && records <= kPieceRecords);
  return kIndexHeadBytes + records * kIndexBytesPerRecord + sizeof(std::uint64_t);
}

base::Result<MegatronIndex> parse_piece(std::string_view bytes, std::uint64_t records,
                                        std::uint64_t file_bytes) {
  MegatronIndex index = RR_TRY(parse_megatron_index(bytes));
  if (index.lengths.size() != records) {
    return base::fail(base::Errc::kCorrupt,
                      fmt::format("it has {} records, not {}", index.lengths.size(), records));
  }
  if (file_bytes < bytes.size() || file_bytes - bytes.size() < index.bin_bytes) {
    return base::fail(base::Errc::kCorrupt,
                      fmt::format("it has {} bytes, and its index needs {}", file_bytes,
                                  bytes.size() + index.bin_bytes));
  }
  for (std::uint64_t& offset : index.offsets) offset += bytes.size();
  return index;
}

bool PieceWait::pause(const Sample& sample) {
  if (!waits_ || stopped_ != 0) return false;
  RR_ASSERT(sample.number < std::uint64_t{1} << kSampleBits);
  awaited_ = (std::uint64_t{sample.source} + 1) << kSampleBits | sample.number;
  const timespec longest{0, kLookEveryNs};
  ::syscall(SYS_futex, &stopped_, FUTEX_WAIT_PRIVATE, 0, &longest, nullptr, 0);
  return stopped_ == 0;
}

std::optional<PieceWait::Sample> PieceWait::awaited() const {
  const std::uint64_t word = awaited_;
  if (word == 0) return std::nullopt;
  const std::uint64_t mask = (std::uint64_t{1} << kSampleBits) - 1;
  return Sample{static_cast<std::uint32_t>((word >> kSampleBits) - 1), word & mask};
}

void PieceWait::stop() {
  stopped_ = 1;
  ::syscall(SYS_futex, &stopped_, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
}

base::Result<const Pieces::Piece*> Pieces::of(std::uint32_t source, std::uint64_t sample) {
  const SourceIndex& index = sources_[source];
  RR_ASSERT(index.in_pieces && sample < *index.in_pieces);
  const auto after = std::ranges::upper_bound(index.files, sample, {}, &IndexedFile::first);
  const IndexedFile& file = *std::prev(after);
  const std::uint64_t end = after == index.files.end() ? *index.in_pieces : after->first;
  const std::uint64_t number = (sample - file.first) / kPieceRecords;
  const std::uint64_t first = file.first + number * kPieceRecords;
  Kept& kept = kept_[source];
  if (const auto found = kept.pieces.find(first); found != kept.pieces.end()) {
    return &found->second;
  }
  Piece piece{fmt::format("{}/{}", file.pieces, number), first, {}};
  const std::uint64_t records = std::min(kPieceRecords, end - first);
  for (;;) {
    auto read = RR_TRY(read_piece(piece.path, records));
    if (read) {
      piece.index = *std::move(read);
      break;
    }
    if (!wait_->pause({source, sample})) {
      wait_->found();
      const std::uint64_t record = first - file.first;
      return base::fail(base::Errc::kNotFound,
                        fmt::format("records {} to {} of {} have not been tokenized yet; run "
                                    "`robustrun data prepare`",
                                    record + 1, record + records, file.path));
    }
    look_anew(file.pieces);
  }
  wait_->found();
  kept.samples += records;
  kept.order.push_back(first);
  const auto added = kept.pieces.emplace(first, std::move(piece)).first;
  while (kept.samples > kept_max_ && kept.order.size() > 1) {
    const auto oldest = kept.pieces.find(kept.order.front());
    kept.samples -= oldest->second.index.lengths.size();
    kept.pieces.erase(oldest);
    kept.order.pop_front();
  }
  return &added->second;
}

}  // namespace robustrun::loader
