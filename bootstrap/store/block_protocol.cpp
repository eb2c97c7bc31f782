#include "bootstrap/store/block_protocol.h"

#include <fmt/core.h>

#include <array>
#include <type_traits>

#include "base/core/text.h"

namespace robustrun::bootstrap {
namespace {

constexpr std::size_t kStatusBytesMax = 16384;

template <class Number>
void put_number(std::string& bytes, Number value) {
  for (std::size_t i = 0; i < sizeof(Number); ++i) {
    bytes += static_cast<char>((value >> (8 * i)) & 0xFF);
  }
}

template <class Number>
Number number_at(std::string_view bytes, std::size_t at) {
  Number value = 0;
  for (std::size_t i = 0; i < sizeof(Number); ++i) {
    value |= static_cast<Number>(static_cast<unsigned char>(bytes[at + i])) << (8 * i);
  }
  return value;
}

bool is_known(std::uint32_t kind) {
  switch (static_cast<BlockFrameKind>(kind)) {
    case BlockFrameKind::kStatus:
    case BlockFrameKind::kSettled:
    case BlockFrameKind::kGet:
    case BlockFrameKind::kQuit:
    case BlockFrameKind::kPeers:
    case BlockFrameKind::kOk:
    case BlockFrameKind::kNone:
    case BlockFrameKind::kError:
    case BlockFrameKind::kWant:
    case BlockFrameKind::kEvent: return true;
  }
  return false;
}

// Visits every value of a status with its name, in the order of the text.
template <class Status, class Visit>
void status_fields(Status& status, Visit&& visit) {
  visit("key", status.key);
  visit("length", status.length);
  visit("mounted", status.is_mounted);
  visit("hot_done", status.is_hot_done);
  visit("all_done", status.is_all_done);
  visit("recording", status.is_recording);
  visit("checked", status.is_checked);
  visit("hot_blocks", status.hot_blocks);
  visit("stored_blocks", status.stored_blocks);
  visit("touched_blocks", status.touched_blocks);
  visit("store_bytes", status.store_bytes);
  visit("peer_bytes", status.peer_bytes);
  visit("origin_bytes", status.origin_bytes);
  visit("demand_fetches", status.demand_fetches);
  visit("waiting", status.waiting);
  visit("errors", status.errors);
  visit("origin_failures", status.origin_failures);
  visit("rotten", status.rotten);
  visit("passed", status.passed);
  visit("origin_latency_us", status.origin_latency_us);
  visit("origin_bytes_per_s", status.origin_bytes_per_s);
  visit("trouble", status.trouble);
}

bool take_value(std::string_view text, std::string& value) {
  value = text;
  return true;
}

bool take_value(std::string_view text, bool& value) {
  value = text == "1";
  return text == "0" || text == "1";
}

bool take_value(std::string_view text, std::uint64_t& value) {
  const auto number = base::parse_int<std::uint64_t>(text);
  if (number) value = *number;
  return number.has_value();
}

}  // namespace

std::string encode_block_frame_head(BlockFrameKind kind, std::uint64_t id, std::uint64_t block,
                                    std::size_t length) {
  RR_ASSERT(length <= kBlockPayloadMax);
  std::string head;
  head.reserve(kBlockFrameHead);
  put_number(head, kBlockMagic);
  put_number(head, static_cast<std::uint32_t>(kind));
  put_number(head, id);
  put_number(head, block);
  put_number(head, static_cast<std::uint32_t>(length));
  RR_ASSERT(head.size() == kBlockFrameHead);
  return head;
}

std::string encode_block_frame(const BlockFrame& frame) {
  return encode_block_frame_head(frame.kind, frame.id, frame.block, frame.payload.size()) +
         frame.payload;
}

void BlockFrameReader::feed(std::string_view bytes) { pending_ += bytes; }

base::Result<std::optional<BlockFrame>> BlockFrameReader::next() {
  if (pending_.size() < kBlockFrameHead) return std::optional<BlockFrame>{};
  const auto kind = number_at<std::uint32_t>(pending_, 4);
  const auto length = number_at<std::uint32_t>(pending_, 24);
  if (number_at<std::uint32_t>(pending_, 0) != kBlockMagic || !is_known(kind)) {
    return base::fail(base::Errc::kProtocol,
                      "cannot read the block server's socket: invalid frame");
  }
  if (length > kBlockPayloadMax) {
    return base::fail(base::Errc::kProtocol,
                      "cannot read the block server's socket: the frame is longer than a block");
  }
  const std::size_t whole = kBlockFrameHead + length;
  if (pending_.size() < whole) {
    pending_.reserve(whole);
    return std::optional<BlockFrame>{};
  }
  BlockFrame frame{static_cast<BlockFrameKind>(kind), number_at<std::uint64_t>(pending_, 8),
                   number_at<std::uint64_t>(pending_, 16),
                   pending_.substr(kBlockFrameHead, length)};
  pending_.erase(0, whole);
  return std::optional<BlockFrame>(std::move(frame));
}

std::string encode_block_status(const BlockServerStatus& status) {
  std::string text;
  status_fields(status, [&](std::string_view name, const auto& value) {
    if constexpr (std::is_same_v<std::decay_t<decltype(value)>, bool>) {
      text += fmt::format("{}={}\n", name, value ? 1 : 0);
    } else if constexpr (std::is_same_v<std::decay_t<decltype(value)>, std::string>) {
      text += fmt::format("{}={}\n", name, base::printable(value));
    } else {
      text += fmt::format("{}={}\n", name, value);
    }
  });
  return text;
}

base::Result<BlockServerStatus> decode_block_status(std::string_view text) {
  if (text.size() > kStatusBytesMax) {
    return base::fail(base::Errc::kProtocol, "the status of a block server is too long");
  }
  BlockServerStatus status;
  for (const std::string_view line : base::split(text, '\n')) {
    if (line.empty()) continue;
    const auto equals = line.find('=');
    bool is_right = equals != std::string_view::npos;
    status_fields(status, [&](std::string_view name, auto& value) {
      if (!is_right || line.substr(0, equals) != name) return;
      is_right = take_value(line.substr(equals + 1), value);
    });
    if (!is_right) {
      return base::fail(base::Errc::kProtocol,
                        fmt::format("the status of a block server has the invalid line '{}'",
                                    base::printable(line.substr(0, 200))));
    }
  }
  return status;
}

}  // namespace robustrun::bootstrap
