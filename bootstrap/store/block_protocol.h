#pragma once
// The protocol between robustrun-blocks and its clients (the agent, bench/run) over its Unix
// socket: docs/formats/block-server.md. Pure, bounded, fuzzed.
//
// A frame, all numbers little-endian:
//     u32 magic 'RRBK' | u32 kind | u64 id | u64 block | u32 length | payload
// A reply has the id of its request. Each side numbers its own requests.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/core/result.h"
#include "bootstrap/store/blob.h"

namespace robustrun::bootstrap {

enum class BlockFrameKind : std::uint32_t {
  // client to server
  kStatus = 1,   // requests the status; reply: kOk with the status as text
  kSettled = 2,  // the first step is done, so the recording ends; reply: kOk or kError
  // Requests a block. Payload: a byte of flags. Reply: kOk with the block's bytes, kNone or kError.
  kGet = 3,
  kQuit = 4,  // reply: kOk; then the server unmounts and ends
  kPeers = 5,  // this connection answers kWant from now on; reply: kOk
  // both ways: replies
  kOk = 101,
  // To kGet without kGetMayAskOrigin: the block is not in the store. To kWant: no peer has it.
  kNone = 102,
  kError = 103,  // payload: a sentence
  // server to client
  kWant = 110,  // requests a block from peers; reply: kOk with its bytes, or kNone
  kEvent = 120,  // payload: a sentence; id 0; `block` is a BlockEvent
};

// The kind of an event. An older client treats unknown kinds as kNews.
enum class BlockEvent : std::uint64_t {
  kNews = 0,  // about the source
  kReadsFail = 1,  // reads fail with EIO, because missing blocks cannot be fetched
  kReadsGoOn = 2,  // the source answers again
  kWrongContent = 3,  // the content has the wrong digest: every read fails
};

inline constexpr std::uint32_t kBlockMagic = 0x4B425252;  // "RRBK"
inline constexpr std::size_t kBlockFrameHead = 28;
inline constexpr std::size_t kBlockPayloadMax = kBlockBytes;
inline constexpr char kGetMayAskOrigin = 1;  // flag of kGet: a missing block is fetched

struct BlockFrame {
  BlockFrameKind kind = BlockFrameKind::kStatus;
  std::uint64_t id = 0;
  std::uint64_t block = 0;
  std::string payload;
  bool operator==(const BlockFrame&) const = default;
};

// `frame.payload` must not exceed kBlockPayloadMax.
[[nodiscard]] std::string encode_block_frame(const BlockFrame& frame);
// Encodes only the head; the caller sends `length` bytes of payload after it.
[[nodiscard]] std::string encode_block_frame_head(BlockFrameKind kind, std::uint64_t id,
                                                  std::uint64_t block, std::size_t length);

// Splits a byte stream into frames. Buffers at most one frame and the bytes fed after it.
class BlockFrameReader {
 public:
  void feed(std::string_view bytes);
  // The next whole frame; nullopt: more bytes are needed. kProtocol: an invalid or too long frame;
  // the connection is then unusable.
  [[nodiscard]] base::Result<std::optional<BlockFrame>> next();

 private:
  std::string pending_;
};

// The reply to kStatus, as text: lines NAME=VALUE. Unknown names are ignored, so that an older
// client understands a newer server.
struct BlockServerStatus {
  std::string key;  // of the blob
  std::uint64_t length = 0;  // of the blob, in bytes
  bool is_mounted = false;
  bool is_hot_done = false;  // everything that the profile names is in the store
  bool is_all_done = false;  // every block is in the store
  bool is_recording = false;
  bool is_checked = false;  // the content has the requested digest
  std::uint64_t hot_blocks = 0;  // in the profile
  std::uint64_t stored_blocks = 0;  // in the store now
  std::uint64_t touched_blocks = 0;  // blocks read through the mount
  std::uint64_t store_bytes = 0;  // bytes delivered from the store
  std::uint64_t peer_bytes = 0;  // bytes fetched from peers
  std::uint64_t origin_bytes = 0;  // bytes fetched from the origin
  std::uint64_t demand_fetches = 0;  // blocks that reads through the mount had to wait for
  std::uint64_t waiting = 0;  // pending reads through the mount
  std::uint64_t errors = 0;  // reads that failed with EIO
  std::uint64_t origin_failures = 0;  // failed requests to the origin, retried or not
  std::uint64_t rotten = 0;  // damaged blocks of the store, fetched again
  std::uint64_t passed = 0;  // blocks delivered but not stored
  std::uint64_t origin_latency_us = 0;  // typical time to the first byte, in microseconds
  std::uint64_t origin_bytes_per_s = 0;  // over the last seconds with requests
  std::string trouble;  // why the origin cannot be read at present; empty: readable
  bool operator==(const BlockServerStatus&) const = default;
};
[[nodiscard]] std::string encode_block_status(const BlockServerStatus& status);
// kProtocol: a malformed line, or an invalid value of a known name.
[[nodiscard]] base::Result<BlockServerStatus> decode_block_status(std::string_view text);

}  // namespace robustrun::bootstrap
