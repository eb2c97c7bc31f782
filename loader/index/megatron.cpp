#include "loader/index/megatron.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <optional>
#include <type_traits>

#include "base/io/fd.h"

namespace robustrun::loader {
namespace {

constexpr std::string_view kMagic{"MMIDIDX\0\0", 9};
constexpr std::size_t kHeaderBytes = 9 + 8 + 1 + 8 + 8;
constexpr std::size_t kIndexBytesMax = std::size_t{16} << 30U;

std::unexpected<base::Error> corrupt(std::string what) {
  return base::fail(base::Errc::kCorrupt, std::move(what));
}

template <class T>
T read_at(std::string_view bytes, std::size_t offset) {
  static_assert(std::is_trivially_copyable_v<T>);
  T value{};
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

std::optional<TokenType> type_of(std::uint8_t code) {
  const bool known = (code >= 1 && code <= 5) || code == 8;
  if (!known) return std::nullopt;
  return static_cast<TokenType>(code);
}

std::string without_suffix(const std::string& path) {
  if (path.ends_with(".idx") || path.ends_with(".bin")) return path.substr(0, path.size() - 4);
  return path;
}

}  // namespace

std::uint32_t bytes_of(TokenType type) {
  switch (type) {
    case TokenType::kUint8:
    case TokenType::kInt8: return 1;
    case TokenType::kInt16:
    case TokenType::kUint16: return 2;
    case TokenType::kInt32: return 4;
    case TokenType::kInt64: return 8;
  }
  return 0;
}

base::Result<MegatronIndex> parse_megatron_index(std::string_view bytes) {
  if (bytes.size() < kHeaderBytes || !bytes.starts_with(kMagic)) {
    return corrupt("it does not begin as an index of Megatron-LM does");
  }
  const auto version = read_at<std::uint64_t>(bytes, 9);
  if (version != 1) return corrupt(fmt::format("its version is {}, only 1 is known", version));
  const auto code = read_at<std::uint8_t>(bytes, 17);
  MegatronIndex index;
  const auto type = type_of(code);
  if (!type) return corrupt(fmt::format("its type of tokens {} is no type of integers", code));
  index.type = *type;
  const auto sequences = read_at<std::uint64_t>(bytes, 18);
  const auto documents = read_at<std::uint64_t>(bytes, 26);
  const std::size_t rest = bytes.size() - kHeaderBytes;
  if (sequences > rest / 12 || documents > rest / 8 ||
      (rest != sequences * 12 + documents * 8 && rest != sequences * 13 + documents * 8)) {
    return corrupt(fmt::format("its {} bytes do not fit {} sequences and {} documents",
                               bytes.size(), sequences, documents));
  }
  index.lengths.reserve(sequences);
  index.offsets.reserve(sequences);
  const std::size_t offsets = kHeaderBytes + sequences * 4;
  for (std::uint64_t i = 0; i < sequences; ++i) {
    const auto length = read_at<std::int32_t>(bytes, kHeaderBytes + i * 4);
    const auto offset = read_at<std::int64_t>(bytes, offsets + i * 8);
    if (length < 0) return corrupt(fmt::format("sequence {} has {} tokens", i, length));
    if (offset < 0 || offset > std::numeric_limits<std::int64_t>::max() / 2) {
      return corrupt(fmt::format("sequence {} begins at byte {}", i, offset));
    }
    index.lengths.push_back(static_cast<std::uint32_t>(length));
    index.offsets.push_back(static_cast<std::uint64_t>(offset));
    index.bin_bytes =
        std::max(index.bin_bytes, static_cast<std::uint64_t>(offset) +
                                      std::uint64_t{index.lengths.back()} * bytes_of(index.type));
  }
  return index;
}

base::Result<MegatronIndex> read_megatron_index(const std::string& path) {
  const std::string prefix = without_suffix(path);
  const std::string bytes = RR_TRY(base::read_file(prefix + ".idx", kIndexBytesMax));
  auto index = parse_megatron_index(bytes);
  if (!index) return corrupt(fmt::format("cannot use {}.idx: {}", prefix, index.error().what));
  struct stat status{};
  if (::stat((prefix + ".bin").c_str(), &status) != 0) {
    return base::fail_errno(
        fmt::format("cannot find {}.bin, which belongs to {}.idx", prefix, prefix), errno);
  }
  if (static_cast<std::uint64_t>(status.st_size) < index->bin_bytes) {
    return corrupt(fmt::format("cannot use {}.bin: it has {} bytes, and its index needs {}", prefix,
                               status.st_size, index->bin_bytes));
  }
  return index;
}

}  // namespace robustrun::loader
