#pragma once
// One collective or point-to-point operation, as every source of ours describes it: NCCL's
// profiler events, PyTorch's Flight Recorder, the interposer.
//
// Plain data. Ordinals count from 1 within one communicator and one rank: the n-th operation of a
// rank belongs to the n-th one of every other member, whatever it is called. Point-to-point
// operations count apart, per peer and direction.

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
  kOther,  // of a name that we do not know
};
inline constexpr std::uint8_t kOpKinds = 13;

// As torch.distributed spells it: "all_reduce", …
[[nodiscard]] std::string_view to_string(OpKind kind);
// Accepts torch's ("gloo:all_reduce", "nccl:_all_gather_base", "nccl:send 1->2") and NCCL's
// spellings ("AllReduce"); kOther for anything else, kUnknown for nothing.
[[nodiscard]] OpKind op_kind_of(std::string_view name);
[[nodiscard]] bool is_point_to_point(OpKind kind);
// Nobody leaves it before everybody has entered it.
[[nodiscard]] bool synchronises_all(OpKind kind);
// Members may pass different counts to it by right.
[[nodiscard]] bool may_differ_in_size(OpKind kind);

// Numbers of ncclDataType_t, from nccl.h; torch's types are mapped to them.
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
[[nodiscard]] std::uint32_t bytes_of(DataType type);         // of one element; 0: not known

// What the members of a communicator must agree on at equal ordinals.
struct Signature {
  OpKind kind = OpKind::kUnknown;
  DataType type = DataType::kUnknown;
  std::uint64_t count = 0;   // elements of one rank's input; of a scatter, of its output
  std::int32_t root = -1;    // rank in the communicator; of send and recv the peer; -1: none
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

// One that a rank has entered and not finished.
struct Operation {
  // How far it is: inside the call (or blocked in the launch), waiting in the GPU's queue, or
  // moving data. Sources without a kernel (gloo) go from kCalled to kRunning at once.
  enum class Stage : std::uint8_t { kCalled, kLaunching, kQueued, kRunning };
  std::uint64_t ordinal = 0;
  Signature signature;
  Stage stage = Stage::kRunning;
  base::Nanos age{};              // since it was entered
  base::Nanos unchanged{};        // since anything about it moved
  std::uint32_t channels = 0;     // of its kernel; 0: not known
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

// Its data on one channel to or from one peer (NCCL's ProxyOp; Mycroft's chunk counters,
// arXiv 2509.03018 table 2). 0 ≤ done ≤ transmitted ≤ ready ≤ posted ≤ steps.
struct Flow {
  std::uint64_t ordinal = 0;      // of its operation
  std::uint32_t channel = 0;
  std::int32_t peer = -1;         // rank in the communicator
  bool is_send = false;
  std::uint32_t steps = 0;
  std::uint32_t posted = 0;       // send: slots given to the GPU; recv: buffers posted
  std::uint32_t ready = 0;        // send: filled by the GPU; recv: data has arrived
  std::uint32_t transmitted = 0;  // send: handed to the network; recv: visible to the GPU
  std::uint32_t done = 0;         // send: the network says done; recv: consumed by the GPU
  bool peer_refuses = false;      // send: data is ready, the receiver has posted no buffer
  std::uint64_t bytes = 0;        // moved so far
  base::Nanos net_wait{};         // time that its steps spent on the network, added up
  base::Nanos unchanged{};        // since any of these moved
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
