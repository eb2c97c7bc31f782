#pragma once
// What robustrun-blocks and its clients (the agent, bench/run) tell each other over its Unix
// socket: docs/formats/block-server.md. Pure, bounded, fuzzed.
//
// A frame, all numbers little-endian:
//     u32 magic 'RRBK' | u32 kind | u64 id | u64 block | u32 length | payload
// Answers carry the id of their question. Each side numbers its own questions.

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
  kStatus = 1,   // answered with kOk: a status as text
  kSettled = 2,  // the first step is done, so the recording is over; kOk
  kGet = 3,      // a block; payload: one byte of flags; kOk with its bytes, kNone or kError
  kQuit = 4,     // kOk, then it unmounts and ends
  kPeers = 5,    // this connection answers kWant from now on; kOk
  // both ways: answers
  kOk = 101,
  kNone = 102,   // not there, and not asked for elsewhere
  kError = 103,  // a sentence
  // server to client
  kWant = 110,   // on the peers' connection; answered with kOk and the block's bytes, or kNone
  kEvent = 120,  // a sentence; id 0; in the place of the block: a BlockEvent
};

// What an event tells. An older client takes them all for news.
enum class BlockEvent : std::uint64_t {
  kNews = 0,       // of the source
  kReadsFail = 1,  // with EIO, as parts that are not here cannot be had
  kReadsGoOn = 2,  // the source answers again
  kWrongContent = 3,  // it is not what was asked for: every read fails
};

inline constexpr std::uint32_t kBlockMagic = 0x4B425252;  // "RRBK"
inline constexpr std::size_t kBlockFrameHead = 28;
inline constexpr std::size_t kBlockPayloadMax = kBlockBytes;
inline constexpr char kGetMayAskOrigin = 1;  // flag of kGet

struct BlockFrame {
  BlockFrameKind kind = BlockFrameKind::kStatus;
  std::uint64_t id = 0;
  std::uint64_t block = 0;
  std::string payload;
  bool operator==(const BlockFrame&) const = default;
};

// The payload must not be longer than kBlockPayloadMax.
[[nodiscard]] std::string encode_block_frame(const BlockFrame& frame);
// The head alone, for a payload of `length` bytes that is written behind it.
[[nodiscard]] std::string encode_block_frame_head(BlockFrameKind kind, std::uint64_t id,
                                                  std::uint64_t block, std::size_t length);

// Cuts a stream of bytes into frames. Holds at most one frame and what was given behind it.
class BlockFrameReader {
 public:
  void feed(std::string_view bytes);
  // The next whole frame; nothing: more bytes are needed. After an error (kProtocol: no such frame,
  // or too long) the connection is of no more use.
  [[nodiscard]] base::Result<std::optional<BlockFrame>> next();

 private:
  std::string pending_;
};

// The answer to kStatus: lines NAME=VALUE. Unknown names are passed over, so that an older client
// understands a newer server.
struct BlockServerStatus {
  std::string key;
  std::uint64_t length = 0;
  bool is_mounted = false;
  bool is_hot_done = false;  // everything that the profile names is in the store
  bool is_all_done = false;  // every block is
  bool is_recording = false;
  bool is_checked = false;  // all of it has the digest that was asked for
  std::uint64_t hot_blocks = 0;  // of the profile
  std::uint64_t stored_blocks = 0;  // in the store now
  std::uint64_t touched_blocks = 0;  // that were read through the mount
  std::uint64_t store_bytes = 0;  // delivered from the store,
  std::uint64_t peer_bytes = 0;  // fetched from peers,
  std::uint64_t origin_bytes = 0;  // fetched from the origin
  std::uint64_t demand_fetches = 0;  // blocks that a read through the mount had to fetch or await
  std::uint64_t waiting = 0;  // reads through the mount that are not answered yet
  std::uint64_t errors = 0;  // reads that were answered with EIO
  std::uint64_t origin_failures =
      0;  // requests to the origin that failed, before they were retried
  std::uint64_t rotten = 0;  // blocks of the store that were fetched again
  std::uint64_t passed = 0;  // blocks that were delivered but could not be kept
  std::uint64_t origin_latency_us = 0;  // usual time to the first byte
  std::uint64_t origin_bytes_per_s = 0;  // over the last seconds in which it was asked
  std::string trouble;  // why the origin cannot be read at present; empty: it can
  bool operator==(const BlockServerStatus&) const = default;
};
[[nodiscard]] std::string encode_block_status(const BlockServerStatus& status);
// kProtocol when a line is none or a known name's value is none.
[[nodiscard]] base::Result<BlockServerStatus> decode_block_status(std::string_view text);

}  // namespace robustrun::bootstrap
