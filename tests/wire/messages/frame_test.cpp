#include "wire/messages/frame.h"

#include <doctest/doctest.h>

#include "tests/wire/examples.h"
#include "wire/messages/field_codec.h"
#include "wire/messages/limits.h"

namespace frame_test {

using namespace robustrun::wire;
using robustrun::base::Errc;
using robustrun::test::example_messages;

namespace {

std::string frames_of(const Message& message) {
  std::string out;
  REQUIRE(append_frames(message, out));
  return out;
}

std::string header(std::uint32_t size, int kind, int flags = 0, int reserved = 0) {
  std::string out;
  for (int i = 0; i < 4; ++i) out += static_cast<char>(size >> (8 * i));
  out += static_cast<char>(kind);
  out += static_cast<char>(flags);
  out += static_cast<char>(reserved);
  out += static_cast<char>(reserved >> 8);
  return out;
}

Output output(std::size_t size) {
  Output message;
  message.bytes.resize(size);
  for (std::size_t i = 0; i < size; ++i) message.bytes[i] = static_cast<char>(i % 251);
  return message;
}

Message only_message(const std::string& bytes) {
  FrameReader reader;
  reader.feed(bytes);
  auto message = reader.next();
  REQUIRE(message);
  REQUIRE(message->has_value());
  CHECK_FALSE(reader.next().value().has_value());
  return **std::move(message);
}

Errc error_of(const std::string& bytes) {
  FrameReader reader;
  reader.feed(bytes);
  while (true) {
    auto message = reader.next();
    if (!message) return message.error().code;
    REQUIRE(message->has_value());
  }
}

constexpr int kKinds = static_cast<int>(std::variant_size_v<Message>);
constexpr int kOutputKind = 14;

}  // namespace

TEST_CASE("a frame is length, kind, flags, reserved and payload in little endian") {
  const std::string bytes = frames_of(SignalWorkers{.attempt = {1}, .signal = 10});
  CHECK(bytes == header(4, 8) + "\x08\x01\x10\x0a");
  CHECK(frames_of(Bye{}) == header(0, 16));
}

TEST_CASE("messages come back in order from a stream cut into single bytes") {
  std::string stream;
  for (const auto& example : example_messages()) REQUIRE(append_frames(example.message, stream));
  FrameReader reader;
  std::vector<Message> got;
  for (const char byte : stream) {
    reader.feed({&byte, 1});
    while (auto message = reader.next().value()) got.push_back(*std::move(message));
  }
  REQUIRE(got.size() == example_messages().size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    CHECK(frames_of(got[i]) == frames_of(example_messages()[i].message));
  }
}

TEST_CASE("messages come back in order from one piece") {
  std::string stream;
  for (const auto& example : example_messages()) REQUIRE(append_frames(example.message, stream));
  FrameReader reader;
  reader.feed(stream);
  std::string again;
  while (auto message = reader.next().value()) REQUIRE(append_frames(*message, again));
  CHECK(again == stream);
}

TEST_CASE("a message larger than a frame is cut and put together again") {
  const std::size_t overhead = encode(output(kFrameBytesMax)).size() - kFrameBytesMax;
  for (const std::size_t size :
       {kFrameBytesMax - overhead, kFrameBytesMax - overhead + 1, 2 * kFrameBytesMax - overhead,
        3 * kFrameBytesMax, kMessageBytesMax - overhead - 1}) {
    CAPTURE(size);
    const std::string bytes = frames_of(output(size));
    const std::size_t payload = encode(output(size)).size();
    const std::size_t frames = (payload + kFrameBytesMax - 1) / kFrameBytesMax;
    CHECK(bytes.size() == payload + frames * kFrameHeaderBytes);
    const Message message = only_message(bytes);
    CHECK(std::get<Output>(message).bytes == output(size).bytes);
  }
}

TEST_CASE("a message above the limit is refused and leaves nothing behind") {
  std::string out = "before";
  const auto refused = append_frames(output(kMessageBytesMax), out);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == Errc::kLimit);
  CHECK(out == "before");
}

TEST_CASE("frames that never end are refused before they fill the memory") {
  FrameReader reader;
  const std::string more =
      header(kFrameBytesMax, kOutputKind, kFlagMore) + std::string(kFrameBytesMax, '\0');
  const std::size_t allowed = kMessageBytesMax / kFrameBytesMax;
  for (std::size_t i = 0; i < allowed; ++i) {
    reader.feed(more);
    REQUIRE_FALSE(reader.next().value().has_value());
  }
  reader.feed(more);
  CHECK(reader.next().error().code == Errc::kLimit);
}

TEST_CASE("an oversized frame is refused by its header alone") {
  CHECK(error_of(header(kFrameBytesMax + 1, kOutputKind)) == Errc::kLimit);
  CHECK(error_of(header(0xFFFFFFFF, kOutputKind)) == Errc::kLimit);
}

TEST_CASE("foreign headers are protocol errors") {
  CHECK(error_of(header(0, kKinds)) == Errc::kProtocol);
  CHECK(error_of(header(0, 255)) == Errc::kProtocol);
  CHECK(error_of(header(0, 0, 2)) == Errc::kProtocol);
  CHECK(error_of(header(0, 0, 0, 1)) == Errc::kProtocol);
  CHECK(error_of(header(5, kOutputKind, kFlagMore)) == Errc::kProtocol);  // cut too early
  const std::string first =
      header(kFrameBytesMax, kOutputKind, kFlagMore) + std::string(kFrameBytesMax, '\0');
  CHECK(error_of(first + header(0, 16)) == Errc::kProtocol);  // interrupted by another kind
}

TEST_CASE("a damaged payload is an error, also after good messages") {
  CHECK(error_of(frames_of(Bye{}) + header(1, 0) + "\x0b") == Errc::kCorrupt);
}

TEST_CASE("an empty reader keeps no buffer and still works") {
  FrameReader reader;
  reader.release_if_empty();
  reader.feed(frames_of(Bye{}));
  reader.release_if_empty();  // not empty: nothing is lost
  CHECK(reader.next().value().has_value());
  reader.release_if_empty();
  reader.feed(frames_of(Dismiss{}));
  CHECK(std::holds_alternative<Dismiss>(*reader.next().value()));
}

}  // namespace frame_test
