#include "agent/trainer_saves/file_marks.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "agent/node/worker_json.h"
#include "agent/trainer_saves/limits.h"

namespace robustrun::agent {
namespace {

using FileState = FileVerdict::State;

constexpr std::size_t kEndBytes = 22;  // of a zip's end record, without its comment
constexpr std::size_t kLocatorBytes = 20;  // of zip64's locator before it
constexpr std::string_view kEndSignature("PK\5\6", 4);
constexpr std::string_view kLocatorSignature("PK\6\7", 4);

std::uint64_t little_endian(std::string_view bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = bytes.size(); i > 0; --i) {
    value = value << 8 | static_cast<unsigned char>(bytes[i - 1]);
  }
  return value;
}

// Whether an end record begins at `at` of the tail. `begins`: where the tail begins in the file.
bool is_end(std::string_view tail, std::size_t at, std::uint64_t begins) {
  const std::uint64_t comment = little_endian(tail.substr(at + 20, 2));
  if (at + kEndBytes + comment != tail.size()) return false;
  const std::uint64_t bytes = little_endian(tail.substr(at + 12, 4));
  const std::uint64_t offset = little_endian(tail.substr(at + 16, 4));
  if (bytes != 0xFFFFFFFF && offset != 0xFFFFFFFF) return offset + bytes <= begins + at;
  if (at < kLocatorBytes) return false;
  const std::string_view locator = tail.substr(at - kLocatorBytes, kLocatorBytes);
  return locator.starts_with(kLocatorSignature) &&
         little_endian(locator.substr(8, 8)) < begins + at - kLocatorBytes;
}

}  // namespace

FileVerdict judge_zip(std::string_view tail, std::uint64_t size) {
  const std::uint64_t begins = size - std::min<std::uint64_t>(size, tail.size());
  for (std::size_t at = tail.rfind(kEndSignature); at != std::string_view::npos;
       at = at == 0 ? std::string_view::npos : tail.rfind(kEndSignature, at - 1)) {
    if (at + kEndBytes <= tail.size() && is_end(tail, at, begins)) return {FileState::kWhole};
  }
  return {FileState::kCutOff, "has no end-of-archive record"};
}

std::optional<std::uint64_t> safetensors_header_bytes(std::string_view head) {
  if (head.size() < 8) return std::nullopt;
  return little_endian(head.substr(0, 8));
}

FileVerdict judge_safetensors(std::uint64_t header_bytes, std::string_view header,
                              std::uint64_t size) {
  if (header_bytes > kSafetensorsHeaderMax) return {};  // the file has another format
  if (size < 8 || size - 8 < header_bytes) return {FileState::kCutOff, "ends within its header"};
  if (header_bytes == 0) return {FileState::kCutOff, "has an empty header"};
  if (header.size() < header_bytes) return {};
  const auto data = parse_safetensors_header(header.substr(0, header_bytes));
  if (!data) return {FileState::kCutOff, "has a header that is not JSON"};
  const std::uint64_t there = size - 8 - header_bytes;
  if (there == *data) return {FileState::kWhole};
  if (there > *data) return {};
  return {FileState::kCutOff, fmt::format("has {} of {} bytes of data", there, *data)};
}

FileVerdict judge_json(std::string_view text) {
  if (is_json_object(text)) return {FileState::kWhole};
  return {FileState::kCutOff, "is not whole JSON"};
}

std::optional<ShardName> parse_shard_name(std::string_view name) {
  constexpr std::size_t kDigits = 5;
  const std::size_t of = name.find("-of-");
  if (of == std::string_view::npos || of < kDigits + 1 || name[of - kDigits - 1] != '-') return {};
  const std::string_view number = name.substr(of - kDigits, kDigits);
  const std::string_view count = name.substr(of + 4, kDigits);
  const auto parse = [](std::string_view digits) -> unsigned {
    unsigned value = 0;
    const auto parsed = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    return parsed.ptr == digits.data() + digits.size() ? value : 0;
  };
  const std::string_view ending = name.substr(of + 4 + count.size());
  ShardName shard{{}, parse(number), count.size() == kDigits ? parse(count) : 0};
  if (shard.number == 0 || shard.number > shard.count || shard.count >= kShardsMax) return {};
  if (ending != ".safetensors" && ending != ".bin") return {};
  shard.series = fmt::format("{}*{}", name.substr(0, of - kDigits), name.substr(of));
  return shard;
}

std::string shard_name(const ShardName& one, unsigned number) {
  const std::size_t at = one.series.find('*');
  return fmt::format("{}{:05}{}", one.series.substr(0, at), number, one.series.substr(at + 1));
}

}  // namespace robustrun::agent
