#include "loader/read/token_files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace robustrun::loader {
namespace {

template <class T>
void widen_from(const char* bytes, std::span<std::int64_t> out) {
  for (std::size_t i = 0; i < out.size(); ++i) {
    T value{};
    std::memcpy(&value, bytes + i * sizeof(T), sizeof(T));
    out[i] = static_cast<std::int64_t>(value);
  }
}

}  // namespace

void RawTokens::widen(std::size_t first, std::span<std::int64_t> out) const {
  RR_ASSERT(first + out.size() <= count_);
  const char* bytes = bytes_ + first * bytes_of(type_);
  switch (type_) {
    case TokenType::kUint8: return widen_from<std::uint8_t>(bytes, out);
    case TokenType::kInt8: return widen_from<std::int8_t>(bytes, out);
    case TokenType::kInt16: return widen_from<std::int16_t>(bytes, out);
    case TokenType::kUint16: return widen_from<std::uint16_t>(bytes, out);
    case TokenType::kInt32: return widen_from<std::int32_t>(bytes, out);
    case TokenType::kInt64: return widen_from<std::int64_t>(bytes, out);
  }
}

class TokenFiles::Reading {
 public:
  Reading(std::atomic<std::uint64_t>& word, const Key& key) : word_(word) {
    word_.store((std::uint64_t{key.first} + 1) << 32U | key.second, std::memory_order_relaxed);
  }
  ~Reading() { word_.store(0, std::memory_order_relaxed); }
  Reading(const Reading&) = delete;
  Reading& operator=(const Reading&) = delete;

 private:
  std::atomic<std::uint64_t>& word_;
};

std::optional<FileRead> TokenFiles::reading() const {
  const std::uint64_t word = reading_.load(std::memory_order_relaxed);
  if (word == 0) return std::nullopt;
  const auto source = static_cast<std::uint32_t>((word >> 32U) - 1);
  return FileRead{source, sources_[source].files[word & 0xFFFFFFFFU].path};
}

std::size_t TokenFiles::file_of(std::uint32_t source, std::uint64_t sample) const {
  const auto& files = sources_[source].files;
  const auto after = std::ranges::upper_bound(files, sample, {}, &IndexedFile::first);
  return static_cast<std::size_t>(after - files.begin()) - 1;
}

base::Result<std::uint32_t> TokenFiles::length(std::uint32_t source, std::uint64_t sample) {
  const SourceIndex& index = sources_[source];
  if (!index.in_pieces) return index.lengths[sample];
  const Pieces::Piece& piece = *RR_TRY(pieces_.of(source, sample));
  return piece.index.lengths[sample - piece.first];
}

base::Result<TokenFiles::Place> TokenFiles::place_of(std::uint32_t source, std::uint64_t sample,
                                                     std::uint64_t end) {
  const SourceIndex& index = sources_[source];
  if (!index.in_pieces) {
    const std::size_t number = file_of(source, sample);
    const IndexedFile& file = index.files[number];
    const std::uint64_t within = sample - file.first;
    return Place{{source, number}, &file.path, file.type, file.offsets[within], within};
  }
  const Pieces::Piece& piece = *RR_TRY(pieces_.of(source, sample));
  const std::uint64_t within = sample - piece.first;
  if (end > piece.index.lengths[within]) {  // Feed could not see it when the state was loaded
    return base::fail(base::Errc::kCorrupt, "the state has a document that is not there");
  }
  return Place{
      {source, piece.first}, &piece.path, piece.index.type, piece.index.offsets[within], within};
}

base::Result<int> TokenFiles::opened(const Key& key, const std::string& path) {
  const auto found = files_.find(key);
  if (found != files_.end()) return found->second.get();
  base::Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file) return base::fail_errno(fmt::format("cannot open {}", path), errno);
  if (order_.size() == kOpenFilesMax) {
    files_.erase(order_.front());
    order_.pop_front();
  }
  order_.push_back(key);
  return files_.emplace(key, std::move(file)).first->second.get();
}

base::Result<RawTokens> TokenFiles::read(std::uint32_t source, std::uint64_t sample,
                                         std::uint32_t offset, std::size_t count) {
  const Place place = RR_TRY(place_of(source, sample, offset + count));
  const Reading marked(reading_, {source, file_of(source, sample)});
  const int fd = RR_TRY(opened(place.key, *place.path));
  const std::size_t width = bytes_of(place.type);
  const std::size_t size = count * width;
  if (bytes_.size() < size) bytes_.resize(size);
  std::uint64_t at = place.offset + std::uint64_t{offset} * width;
  for (std::size_t done = 0; done < size;) {
    const ssize_t got = ::pread(fd, bytes_.data() + done, size - done, static_cast<off_t>(at));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return base::fail_errno(fmt::format("cannot read {}", *place.path), errno);
    if (got == 0) {
      return base::fail(base::Errc::kCorrupt,
                        fmt::format("cannot read sample {} of {}: the file has become shorter",
                                    place.within, *place.path));
    }
    done += static_cast<std::size_t>(got);
    at += static_cast<std::uint64_t>(got);
  }
  return RawTokens(place.type, bytes_.data(), count);
}

void TokenFiles::read_ahead(std::uint32_t source, std::uint64_t sample, std::uint32_t offset,
                            std::uint32_t tokens) {
  if (sources_[source].in_pieces) return;  // they have just been written
  const std::size_t number = file_of(source, sample);
  const auto found = files_.find({source, number});
  if (found == files_.end()) return;
  const IndexedFile& file = sources_[source].files[number];
  const std::uint64_t width = bytes_of(file.type);
  const Reading marked(reading_, {source, number});
  static_cast<void>(::posix_fadvise(
      found->second.get(), static_cast<off_t>(file.offsets[sample - file.first] + offset * width),
      static_cast<off_t>(tokens * width), POSIX_FADV_WILLNEED));
}

}  // namespace robustrun::loader
