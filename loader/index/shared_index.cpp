#include "loader/index/shared_index.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <numeric>
#include <optional>
#include <span>
#include <utility>

#include "base/core/hash.h"
#include "base/io/fd.h"

namespace robustrun::loader {
namespace {

constexpr std::array<char, 8> kIndexMagic = {'R', 'R', 'D', 'A', 'T', 'A', 'I', '2'};

// All numbers are 64 bits wide and little-endian. Then, for each source: its fingerprint; its files
// (SharedFile); the lengths of its samples, 32 bits each, padded to 8 bytes; the offsets of its
// samples.
struct SharedHead {
  std::array<char, 8> magic = kIndexMagic;
  std::uint64_t key = 0;
  std::uint64_t bytes = 0;  // of the whole file
};

struct SharedFile {
  std::uint64_t samples = 0;
  std::uint64_t type = 0;  // TokenType
};

// Size, time and identity of a file; empty if it cannot be looked at.
std::string file_stamp(const std::string& path) {
  struct stat status{};
  if (::stat(path.c_str(), &status) != 0) return "";
  return fmt::format("{} {}.{} {}.{} {}\n", path, status.st_mtim.tv_sec, status.st_mtim.tv_nsec,
                     status.st_dev, status.st_ino, status.st_size);
}

// Nothing if a part of it cannot be looked at: then read_index() has the error.
std::optional<std::uint64_t> key_of(const TokenSets& sets) {
  std::string text;
  for (const auto& source : sets) {
    text += "source\n";
    for (const std::string& prefix : source) {
      for (const char* ending : {".idx", ".bin"}) {
        const std::string stamp = file_stamp(prefix + ending);
        if (stamp.empty()) return std::nullopt;
        text += stamp;
      }
    }
  }
  return base::hash64(text);
}

std::uint64_t padded(std::uint64_t bytes) { return (bytes + 7) / 8 * 8; }

std::uint64_t bytes_of_arrays(std::uint64_t samples) { return padded(samples * 4) + samples * 8; }

class Mapping {
 public:
  // The whole file; empty if it cannot be mapped.
  explicit Mapping(int fd) {
    struct stat status{};
    if (::fstat(fd, &status) != 0 || status.st_size <= 0) return;
    size_ = static_cast<std::size_t>(status.st_size);
    start_ = ::mmap(nullptr, size_, PROT_READ, MAP_SHARED, fd, 0);
  }
  ~Mapping() {
    if (start_ != MAP_FAILED) ::munmap(start_, size_);
  }
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;

  [[nodiscard]] std::span<const char> bytes() const {
    if (start_ == MAP_FAILED) return {};
    return {static_cast<const char*>(start_), size_};
  }

 private:
  void* start_ = MAP_FAILED;
  std::size_t size_ = 0;
};

// Takes what is in a mapped file one after the other. `T`s begin at multiples of 8 bytes.
class Taker {
 public:
  explicit Taker(std::span<const char> bytes) : bytes_(bytes) {}
  template <class T>
  std::optional<std::span<const T>> take(std::uint64_t count) {
    if (count > bytes_.size() / sizeof(T) || padded(count * sizeof(T)) > bytes_.size()) {
      return std::nullopt;
    }
    const std::span<const T> found(reinterpret_cast<const T*>(bytes_.data()), count);
    bytes_ = bytes_.subspan(padded(count * sizeof(T)));
    return found;
  }
  [[nodiscard]] std::size_t left() const { return bytes_.size(); }

 private:
  std::span<const char> bytes_;
};

bool is_known(std::uint64_t type) {
  return type <= 0xFF && bytes_of(static_cast<TokenType>(type)) != 0;
}

std::optional<SourceIndex> take_source(Taker& taker, const std::vector<std::string>& prefixes) {
  const auto hash = taker.take<std::uint64_t>(1);
  const auto files = hash ? taker.take<SharedFile>(prefixes.size()) : std::nullopt;
  if (!files) return std::nullopt;
  SourceIndex index;
  index.known_fingerprint = hash->front();
  std::uint64_t samples = 0;
  for (std::size_t i = 0; i < prefixes.size(); ++i) {
    const SharedFile& file = (*files)[i];
    if (!is_known(file.type) || file.samples > taker.left()) return std::nullopt;
    index.files.push_back({prefixes[i] + ".bin", samples, static_cast<TokenType>(file.type), {}});
    samples += file.samples;
  }
  const auto lengths = taker.take<std::uint32_t>(samples);
  const auto offsets = lengths ? taker.take<std::uint64_t>(samples) : std::nullopt;
  if (!offsets) return std::nullopt;
  for (std::size_t i = 0; i < prefixes.size(); ++i) {
    index.files[i].offsets = offsets->subspan(index.files[i].first, (*files)[i].samples);
  }
  index.lengths = *lengths;
  return index;
}

// Nothing if no rank has written the file yet, or it is not whole.
std::optional<std::vector<SourceIndex>> mapped(const std::string& path, std::uint64_t key,
                                               const TokenSets& sets) {
  const base::Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!file) return std::nullopt;
  const auto memory = std::make_shared<const Mapping>(file.get());
  auto sources = shared_sources(memory->bytes(), key, sets);
  if (!sources) return std::nullopt;
  for (SourceIndex& source : *sources) {
    if (fingerprint(source) != source.known_fingerprint) return std::nullopt;
    source.memory = memory;
  }
  return sources;
}

template <class T>
base::Status put(int fd, std::span<const T> values) {
  const std::size_t bytes = values.size() * sizeof(T);
  RR_TRY(base::write_all(fd, {reinterpret_cast<const char*>(values.data()), bytes}));
  return base::write_all(fd, std::string(padded(bytes) - bytes, '\0'));
}

base::Status put_source(int fd, const SourceIndex& source) {
  std::vector<SharedFile> files;
  for (const IndexedFile& file : source.files) {
    files.push_back({file.offsets.size(), static_cast<std::uint64_t>(file.type)});
  }
  const std::uint64_t hash = fingerprint(source);
  RR_TRY(put<std::uint64_t>(fd, {&hash, 1}));
  RR_TRY(put<SharedFile>(fd, files));
  RR_TRY(put(fd, source.lengths));
  for (const IndexedFile& file : source.files) RR_TRY(put(fd, file.offsets));
  return {};
}

std::uint64_t shared_bytes(const std::vector<SourceIndex>& sources) {
  std::uint64_t bytes = sizeof(SharedHead);
  for (const SourceIndex& source : sources) {
    bytes += sizeof(std::uint64_t) + source.files.size() * sizeof(SharedFile) +
             bytes_of_arrays(source.lengths.size());
  }
  return bytes;
}

// `path` is there once it is whole.
base::Status write_shared(const std::string& path, std::uint64_t key,
                          const std::vector<SourceIndex>& sources) {
  const std::string partial = path + ".part";
  const base::Fd file(
      ::open(partial.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!file) return base::fail_errno("cannot create " + partial, errno);
  const SharedHead head{.key = key, .bytes = shared_bytes(sources)};
  base::Status written = put<SharedHead>(file.get(), {&head, 1});
  for (const SourceIndex& source : sources) {
    if (written) written = put_source(file.get(), source);
  }
  if (written && ::rename(partial.c_str(), path.c_str()) != 0) {
    written = base::fail_errno("cannot rename " + partial, errno);
  }
  if (!written) ::unlink(partial.c_str());
  return written;
}

base::Result<std::vector<SourceIndex>> read_alone(const Spec& spec, const std::string& folder) {
  std::vector<SourceIndex> sources;
  for (const Source& source : spec.sources) {
    sources.push_back(RR_TRY(read_index(spec, source, folder, Lengths::kExact)));
  }
  return sources;
}

// As read_indices(), with all sources whole and a folder that is shared.
base::Result<std::vector<SourceIndex>> read_shared(const Spec& spec, const std::string& folder,
                                                   const std::string& shared) {
  TokenSets sets;
  for (const Source& source : spec.sources) {
    auto prefixes = RR_TRY(token_sets_of(spec, source, folder));
    if (!prefixes) return read_alone(spec, folder);
    sets.push_back(*std::move(prefixes));
  }
  const auto key = key_of(sets);
  if (!key) return read_alone(spec, folder);
  const std::string path = fmt::format("{}/data-index-{:016x}", shared, *key);
  if (auto found = mapped(path, *key, sets)) return *std::move(found);
  // One rank reads; the others wait for it, and for the next one if it ends before it is done.
  const base::Fd lock(
      ::open((path + ".lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  int locked = -1;
  do {
    locked = lock ? ::flock(lock.get(), LOCK_EX) : -1;
  } while (locked != 0 && lock && errno == EINTR);
  if (locked != 0) return read_alone(spec, folder);
  if (auto found = mapped(path, *key, sets)) return *std::move(found);
  auto sources = RR_TRY(read_alone(spec, folder));
  // The data may have changed while it was read: the file would then have another's name.
  if (key_of(sets) != key || !write_shared(path, *key, sources)) return sources;
  if (auto found = mapped(path, *key, sets)) return *std::move(found);
  return sources;
}

}  // namespace

std::optional<std::vector<SourceIndex>> shared_sources(std::span<const char> bytes,
                                                       std::uint64_t key, const TokenSets& sets) {
  RR_ASSERT(reinterpret_cast<std::uintptr_t>(bytes.data()) % 8 == 0);
  Taker taker(bytes);
  const auto head = taker.take<SharedHead>(1);
  if (!head || head->front().magic != kIndexMagic || head->front().key != key ||
      head->front().bytes != bytes.size()) {
    return std::nullopt;
  }
  std::vector<SourceIndex> sources;
  for (const auto& prefixes : sets) {
    auto source = take_source(taker, prefixes);
    if (!source) return std::nullopt;
    sources.push_back(*std::move(source));
  }
  if (taker.left() > 0) return std::nullopt;
  return sources;
}

base::Result<std::vector<SourceIndex>> read_indices(const Spec& spec, const std::string& folder,
                                                    const std::string& shared) {
  if (shared.empty()) return read_alone(spec, folder);
  const auto in_pieces = [](const Source& source) { return !source.texts.empty(); };
  if (std::ranges::none_of(spec.sources, in_pieces)) return read_shared(spec, folder, shared);
  // The index of a source in pieces is small, and not shared.
  Spec whole = spec;
  std::erase_if(whole.sources, in_pieces);
  std::vector<SourceIndex> known;
  if (!whole.sources.empty()) known = RR_TRY(read_shared(whole, folder, shared));
  std::vector<SourceIndex> sources;
  auto next = known.begin();
  for (const Source& source : spec.sources) {
    sources.push_back(in_pieces(source) ? RR_TRY(read_index(spec, source, folder, Lengths::kExact))
                                        : std::move(*next++));
  }
  return sources;
}

}  // namespace robustrun::loader
