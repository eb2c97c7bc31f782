#include "wire/messages/frame.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <utility>

#include "wire/messages/field_codec.h"
#include "wire/messages/limits.h"

namespace robustrun::wire {
namespace {

static_assert(std::endian::native == std::endian::little);

using base::Errc;
using base::fail;

struct FrameHeader {
  std::uint32_t payload_bytes = 0;
  std::uint8_t kind = 0;
  std::uint8_t flags = 0;
  std::uint16_t reserved = 0;
};
static_assert(sizeof(FrameHeader) == kFrameHeaderBytes);

void put_header(char* at, std::size_t payload_bytes, std::uint8_t kind, bool more) {
  const FrameHeader header{static_cast<std::uint32_t>(payload_bytes), kind,
                           more ? kFlagMore : std::uint8_t{0}, 0};
  std::memcpy(at, &header, sizeof header);
}

// From `start` on, `out` has room for one header and holds the whole payload. Makes room for the
// headers of the further frames, moving the payload's pieces back to front.
void cut_into_frames(std::string& out, std::size_t start, std::uint8_t kind) {
  const std::size_t payload = out.size() - start - kFrameHeaderBytes;
  const std::size_t frames =
      std::max<std::size_t>(1, (payload + kFrameBytesMax - 1) / kFrameBytesMax);
  out.resize(out.size() + (frames - 1) * kFrameHeaderBytes);
  for (std::size_t i = frames; i-- > 0;) {
    const std::size_t size = std::min(kFrameBytesMax, payload - i * kFrameBytesMax);
    const std::size_t source = start + kFrameHeaderBytes + i * kFrameBytesMax;
    const std::size_t target = source + i * kFrameHeaderBytes;
    if (i > 0) std::memmove(out.data() + target, out.data() + source, size);
    put_header(out.data() + target - kFrameHeaderBytes, size, kind, i + 1 < frames);
  }
}

template <std::size_t kKind>
base::Result<Message> decode_as(std::string_view payload) {
  auto message = decode<std::variant_alternative_t<kKind, Message>>(payload);
  if (!message) return std::unexpected(std::move(message).error());
  return Message(std::in_place_index<kKind>, *std::move(message));
}

using Decoder = base::Result<Message> (*)(std::string_view);

template <std::size_t... kKinds>
constexpr std::array<Decoder, sizeof...(kKinds)> make_decoders(std::index_sequence<kKinds...>) {
  return {&decode_as<kKinds>...};
}

constexpr auto kDecoders = make_decoders(std::make_index_sequence<std::variant_size_v<Message>>{});

base::Status check_header(const FrameHeader& header, std::optional<std::uint8_t> kind,
                          std::size_t payload_max) {
  if (header.reserved != 0 || (header.flags & ~kFlagMore) != 0) {
    return fail(Errc::kProtocol, "cannot read a frame: its header is not ours");
  }
  if (header.payload_bytes > payload_max) {
    return fail(Errc::kLimit, "cannot read a frame: it announces " +
                                  std::to_string(header.payload_bytes) + " bytes");
  }
  if (header.kind >= kDecoders.size()) {
    return fail(Errc::kProtocol,
                "cannot read a frame: no message has kind " + std::to_string(header.kind));
  }
  // Only full frames may have a successor, so a message takes no more frames than it needs.
  if ((header.flags & kFlagMore) != 0 && header.payload_bytes != kFrameBytesMax) {
    return fail(Errc::kProtocol, "cannot read a frame: it was cut too early");
  }
  if (kind && *kind != header.kind) {
    return fail(Errc::kProtocol, "cannot read a frame: it interrupts another message");
  }
  return {};
}

}  // namespace

base::Status append_frames(const Message& message, std::string& out) {
  const std::size_t start = out.size();
  out.append(kFrameHeaderBytes, '\0');
  std::visit([&out](const auto& alternative) { encode_to(alternative, out); }, message);
  const std::size_t payload = out.size() - start - kFrameHeaderBytes;
  if (payload > kMessageBytesMax) {
    out.resize(start);
    return fail(Errc::kLimit, "cannot send a message of " + std::to_string(payload) + " bytes");
  }
  cut_into_frames(out, start, static_cast<std::uint8_t>(message.index()));
  return {};
}

std::span<char> FrameReader::prepare(std::size_t size) {
  const std::size_t unread = end_ - begin_;
  if (capacity_ - end_ < size) {
    if (capacity_ - unread < size) {
      // At least doubled, so that a frame that comes in small pieces is not moved for each piece.
      capacity_ = std::max(unread + size, 2 * capacity_);
      auto larger = std::make_unique_for_overwrite<char[]>(capacity_);
      if (unread > 0) std::memcpy(larger.get(), buffer_.get() + begin_, unread);
      buffer_ = std::move(larger);
    } else if (unread > 0) {
      std::memmove(buffer_.get(), buffer_.get() + begin_, unread);
    }
    begin_ = 0;
    end_ = unread;
  }
  return {buffer_.get() + end_, capacity_ - end_};
}

void FrameReader::commit(std::size_t size) {
  RR_ASSERT(size <= capacity_ - end_);
  end_ += size;
}

void FrameReader::feed(std::string_view bytes) {
  if (bytes.empty()) return;
  const std::span<char> room = prepare(bytes.size());
  std::memcpy(room.data(), bytes.data(), bytes.size());
  commit(bytes.size());
}

base::Result<std::optional<Message>> FrameReader::next() {
  while (end_ - begin_ >= kFrameHeaderBytes) {
    FrameHeader header;
    std::memcpy(&header, buffer_.get() + begin_, sizeof header);
    if (auto checked = check_header(header, kind_, std::min(kFrameBytesMax, message_bytes_max_));
        !checked) {
      return std::unexpected(std::move(checked).error());
    }
    if (end_ - begin_ - kFrameHeaderBytes < header.payload_bytes) break;
    std::string_view payload(buffer_.get() + begin_ + kFrameHeaderBytes, header.payload_bytes);
    begin_ += kFrameHeaderBytes + header.payload_bytes;
    const bool more = (header.flags & kFlagMore) != 0;
    if (assembled_.size() + payload.size() > message_bytes_max_) {
      return fail(Errc::kLimit, "cannot read a message: its frames have no end");
    }
    if (more || kind_) assembled_ += payload;
    if (more) {
      kind_ = header.kind;
      continue;
    }
    std::string whole;
    if (std::exchange(kind_, std::nullopt)) {
      whole = std::exchange(assembled_, {});
      payload = whole;
    }
    auto message = kDecoders[header.kind](payload);
    if (!message) return std::unexpected(std::move(message).error());
    return std::optional<Message>(*std::move(message));
  }
  return std::optional<Message>();
}

void FrameReader::release_if_empty() {
  if (begin_ != end_) return;
  buffer_.reset();
  capacity_ = begin_ = end_ = 0;
}

}  // namespace robustrun::wire
