#include "checkpoint/format/extent_header.h"

#include <algorithm>
#include <set>

#include "base/core/text.h"
#include "checkpoint/format/byte_codec.h"
#include "checkpoint/format/dtype.h"
#include "checkpoint/format/json_scan.h"
#include "checkpoint/format/limits.h"

namespace robustrun::checkpoint {
namespace {

using base::Errc;
using base::fail;
using base::Result;
using base::Status;

std::unexpected<base::Error> bad_header(std::string_view cause) {
  return fail(Errc::kCorrupt, "the header of the file is damaged: " + std::string(cause));
}

void put_numbers(std::string& json, std::span<const std::uint64_t> numbers) {
  json += '[';
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    if (i > 0) json += ',';
    json += std::to_string(numbers[i]);
  }
  json += ']';
}

std::vector<std::uint64_t> read_numbers(JsonScan& in) {
  std::vector<std::uint64_t> numbers;
  in.expect('[');
  if (in.accept(']')) return numbers;
  do {
    numbers.push_back(in.number());
  } while (in.ok() && numbers.size() <= kDimensionsMax && in.accept(','));
  in.expect(']');
  return numbers;
}

void pass_metadata(JsonScan& in) {
  in.expect('{');
  if (in.accept('}')) return;
  do {
    (void)in.string(kHeaderBytesMax);
    in.expect(':');
    (void)in.string(kHeaderBytesMax);
  } while (in.ok() && in.accept(','));
  in.expect('}');
}

// Reads the value of an entry. Returns false if it is malformed.
bool read_entry(JsonScan& in, HeaderEntry& entry) {
  bool has_dtype = false;
  bool has_shape = false;
  bool has_offsets = false;
  in.expect('{');
  do {
    const std::string key = in.string(16);
    in.expect(':');
    if (key == "dtype" && !has_dtype) {
      entry.dtype = in.string(16);
      has_dtype = true;
    } else if (key == "shape" && !has_shape) {
      entry.shape = read_numbers(in);
      has_shape = true;
    } else if (key == "data_offsets" && !has_offsets) {
      const auto offsets = read_numbers(in);
      if (offsets.size() != 2) return false;
      entry.begin = offsets[0];
      entry.end = offsets[1];
      has_offsets = true;
    } else {
      return false;
    }
  } while (in.ok() && in.accept(','));
  in.expect('}');
  return in.ok() && has_dtype && has_shape && has_offsets;
}

Status check_entries(std::vector<HeaderEntry>& entries, std::uint64_t data_bytes) {
  std::ranges::stable_sort(entries, [](const HeaderEntry& a, const HeaderEntry& b) {
    return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
  });
  std::set<std::string_view> names;
  std::uint64_t covered = 0;
  for (const HeaderEntry& entry : entries) {
    const std::string name = "'" + base::printable(entry.name) + "'";
    if (!names.insert(entry.name).second) return bad_header("two entries are called " + name);
    if (entry.begin != covered || entry.end < entry.begin || entry.end > data_bytes) {
      return bad_header("invalid offsets of " + name);
    }
    std::uint64_t size = 0;
    const std::uint64_t each = element_bytes(entry.dtype);
    if (each == 0 || entry.shape.size() > kDimensionsMax || !product(entry.shape, size) ||
        __builtin_mul_overflow(size, each, &size) || size != entry.end - entry.begin) {
      return bad_header("type, shape and size of " + name + " do not match");
    }
    covered = entry.end;
  }
  if (covered != data_bytes) return bad_header("data that belongs to no entry");
  return {};
}

}  // namespace

bool is_padding(std::string_view name) { return name.starts_with("__pad_"); }

std::string encode_header(std::span<const HeaderEntry> entries) {
  std::string json = R"({"__metadata__":{"format":"pt"})";
  for (const HeaderEntry& entry : entries) {
    json += ',' + base::json_string(entry.name) + R"(:{"dtype":")" + entry.dtype + R"(","shape":)";
    put_numbers(json, entry.shape);
    json += R"(,"data_offsets":)";
    put_numbers(json, std::vector{entry.begin, entry.end});
    json += '}';
  }
  json += '}';
  json.append((kAlignment - (json.size() + 8) % kAlignment) % kAlignment, ' ');
  ByteWriter out;
  out.number(std::uint64_t{json.size()});
  out.raw(json);
  return out.take();
}

Result<std::vector<HeaderEntry>> decode_header(std::string_view bytes, std::uint64_t file_bytes) {
  ByteReader start(bytes);
  const auto size = start.number<std::uint64_t>();
  if (!start.ok() || size > kHeaderBytesMax || size > file_bytes || file_bytes - size < 8) {
    return bad_header("invalid length");
  }
  const std::string_view json = start.raw(size);
  if (!start.ok()) return bad_header("it is cut off");
  if (!json.starts_with('{')) return bad_header("it is not a JSON object");
  JsonScan in(json);
  std::vector<HeaderEntry> entries;
  bool metadata = false;
  in.expect('{');
  if (!in.accept('}')) {
    do {
      HeaderEntry entry;
      entry.name = in.string(2 * kNameBytesMax);
      in.expect(':');
      if (entry.name == "__metadata__") {
        if (metadata) return bad_header("duplicate __metadata__");
        metadata = true;
        pass_metadata(in);
      } else if (read_entry(in, entry)) {
        entries.push_back(std::move(entry));
      } else {
        return bad_header("invalid entry '" + base::printable(entry.name) + "'");
      }
    } while (in.ok() && in.accept(','));
    in.expect('}');
  }
  if (!in.ended()) return bad_header("it is not the JSON that safetensors writes");
  RR_TRY(check_entries(entries, file_bytes - 8 - size));
  return entries;
}

}  // namespace robustrun::checkpoint
