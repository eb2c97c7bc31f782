#pragma once
// A collective or point-to-point operation, in one form for all sources: NCCL's profiler events,
// PyTorch's Flight Recorder, and an interposer in c10d's dispatcher.
//
// Plain data. Ordinals count from 1 per communicator and rank: the n-th collective of one rank
// corresponds to the n-th collective of every other member, even if these are different ones.
// Point-to-point operations count separately, per peer and direction.

#include <cstdint>
#include <string>
#include <string_view>

#include "base/core/clock.h"

namespace robustrun::tracer {

// Append only: numbers are on the wire and in progress records.
enum class OpKind : std::uint8_t {
  kUnknown,
  kAllReduce,
  kBroadcast,
  kReduce,
  kAllGather,
  kReduceScatter,
  kAllToAll,
  kGather,
  kScatter,
  kBarrier,
  kSend,
  kRecv,
  kOther,  // a name that is not known
};
inline constexpr std::uint8_t kOpKinds = 13;

// As torch.distributed spells it: "all_reduce", …
[[nodiscard]] std::string_view to_string(OpKind kind);
// Accepts torch's spellings ("gloo:all_reduce", "nccl:_all_gather_base", "nccl:send 1->2") and
// NCCL's ("AllReduce"). kOther for any other name, kUnknown for an empty one.
[[nodiscard]] OpKind op_kind_of(std::string_view name);
[[nodiscard]] bool is_point_to_point(OpKind kind);
// Whether no member can leave the operation before all members have entered it.
[[nodiscard]] bool synchronises_all(OpKind kind);
// Whether members may pass different counts.
[[nodiscard]] bool may_differ_in_size(OpKind kind);

// Sizes and bandwidths are as nccl-tests defines them (its page on performance, and the …GetBw() of
// each test). Algorithm bandwidth is a collective's size divided by its time. Bus bandwidth is
// algorithm bandwidth times bus_factor(), and can be compared with the hardware's bandwidth.

// The size of a collective to which one rank passes `bytes` (Signature::bytes()). 0: nccl-tests
// does not measure this kind, or `members` is 0 (all_reduce, broadcast and reduce ignore it).
[[nodiscard]] constexpr std::uint64_t measured_bytes(OpKind kind, std::uint64_t bytes,
                                                     std::uint64_t members) {
  using enum OpKind;
  if (kind == kAllReduce || kind == kBroadcast || kind == kReduce) return bytes;
  if (kind == kReduceScatter || kind == kAllToAll) return members == 0 ? 0 : bytes;
  // `bytes` is one member's part.
  if (kind == kAllGather || kind == kGather || kind == kScatter) return bytes * members;
  return 0;
}
// 0: unknown.
[[nodiscard]] constexpr double bus_factor(OpKind kind, std::uint64_t members) {
  if (kind == OpKind::kBroadcast || kind == OpKind::kReduce) return 1;
  if (members == 0 || measured_bytes(kind, 1, members) == 0) return 0;
  const double all_but_one = static_cast<double>(members - 1) / static_cast<double>(members);
  return kind == OpKind::kAllReduce ? 2 * all_but_one : all_but_one;
}

// Numbers as in ncclDataType_t of nccl.h; torch's types are mapped to them.
enum class DataType : std::uint8_t {
  kInt8 = 0,
  kUint8 = 1,
  kInt32 = 2,
  kUint32 = 3,
  kInt64 = 4,
  kUint64 = 5,
  kFloat16 = 6,
  kFloat32 = 7,
  kFloat64 = 8,
  kBfloat16 = 9,
  kFloat8e4m3 = 10,
  kFloat8e5m2 = 11,
  kOther = 254,
  kUnknown = 255,
};
[[nodiscard]] std::string_view to_string(DataType type);
[[nodiscard]] DataType data_type_of(std::string_view name);  // "ncclFloat32", "Float", "float"
[[nodiscard]] std::uint32_t bytes_of(DataType type);  // of one element; 0: unknown

// What the members of a communicator must agree on at equal ordinals.
struct Signature {
  OpKind kind = OpKind::kUnknown;
  DataType type = DataType::kUnknown;
  std::uint64_t count = 0;  // elements in one rank's input; for a scatter, in its output
  std::int32_t root = -1;  // rank in the communicator; for send and recv the peer; -1: none
  friend bool operator==(const Signature&, const Signature&) = default;
  template <class V>
  void fields(V& v) {
    v(1, "kind", kind);
    v(2, "type", type);
    v(3, "count", count);
    v(4, "root", root);
  }
  [[nodiscard]] std::uint64_t bytes() const { return count * bytes_of(type); }
};

// An operation that a rank has entered and not finished.
struct Operation {
  // Its progress: inside the call, blocked in the launch, waiting in the GPU's queue, or moving
  // data. Operations of sources without kernels (gloo) go from kCalled directly to kRunning.
  enum class Stage : std::uint8_t { kCalled, kLaunching, kQueued, kRunning };
  std::uint64_t ordinal = 0;
  Signature signature;
  Stage stage = Stage::kRunning;
  base::Nanos age{};  // since it was entered
  base::Nanos unchanged{};  // since it last made progress
  std::uint32_t channels = 0;  // of its kernel; 0: unknown
  std::uint32_t channels_started = 0;
  std::uint32_t channels_stopped = 0;
  template <class V>
  void fields(V& v) {
    v(1, "ordinal", ordinal);
    v(2, "signature", signature);
    v(3, "stage", stage);
    v(4, "age", age);
    v(5, "unchanged", unchanged);
    v(6, "channels", channels);
    v(7, "channels_started", channels_started);
    v(8, "channels_stopped", channels_stopped);
  }
};

// An operation's data on one channel to or from one peer (NCCL's ProxyOp; Mycroft's chunk counters,
// arXiv 2509.03018, table 2). 0 ≤ done ≤ transmitted ≤ ready ≤ posted ≤ steps.
struct Flow {
  std::uint64_t ordinal = 0;  // of its operation
  std::uint32_t channel = 0;
  std::int32_t peer = -1;  // rank in the communicator
  bool is_send = false;
  std::uint32_t steps = 0;
  std::uint32_t posted = 0;  // send: slots given to the GPU; recv: buffers posted
  std::uint32_t ready = 0;  // send: filled by the GPU; recv: data has arrived
  std::uint32_t transmitted = 0;  // send: handed to the network; recv: visible to the GPU
  std::uint32_t done = 0;  // send: completed by the network; recv: consumed by the GPU
  bool peer_refuses = false;  // send: data is ready, but the receiver has posted no buffer
  std::uint64_t bytes = 0;  // moved so far
  base::Nanos net_wait{};  // time of its steps on the network, summed
  base::Nanos unchanged{};  // since any of the counters changed
  template <class V>
  void fields(V& v) {
    v(1, "ordinal", ordinal);
    v(2, "channel", channel);
    v(3, "peer", peer);
    v(4, "is_send", is_send);
    v(5, "steps", steps);
    v(6, "posted", posted);
    v(7, "ready", ready);
    v(8, "transmitted", transmitted);
    v(9, "done", done);
    v(10, "peer_refuses", peer_refuses);
    v(11, "bytes", bytes);
    v(12, "net_wait", net_wait);
    v(13, "unchanged", unchanged);
  }
};

}  // namespace robustrun::tracer
