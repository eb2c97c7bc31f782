#pragma once
// Every limit of wire/.

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace robustrun::wire {

inline constexpr std::size_t kFrameBytesMax = std::size_t{1} << 20;     // one frame's payload
inline constexpr std::size_t kMessageBytesMax = std::size_t{16} << 20;  // all frames of one message
inline constexpr int kNestingMax = 8;  // of messages within messages
inline constexpr std::size_t kFieldsMax = std::size_t{1} << 20;  // fields in one message
// Bytes that a channel requests per read, and that it moves before other channels get a turn.
inline constexpr std::size_t kReadBytes = std::size_t{256} << 10;
inline constexpr std::size_t kReadTurnBytes = std::size_t{1} << 20;
inline constexpr std::size_t kWriteTurnBytes = std::size_t{1} << 20;
// Senders of much data on a channel (worker output) pause above kCongestedBytes of queued data, and
// resume below kDrainedBytes.
inline constexpr std::size_t kCongestedBytes = std::size_t{1} << 20;
inline constexpr std::size_t kDrainedBytes = kCongestedBytes / 2;
// An idle channel releases send buffers that are larger than this.
inline constexpr std::size_t kIdleBufferBytes = std::size_t{64} << 10;
// A send queue above this closes the channel: the peer does not read.
inline constexpr std::size_t kSendQueueBytesMax = std::size_t{64} << 20;
// How long a channel's close() continues to write its queue, and waits for the peer's end.
inline constexpr std::chrono::milliseconds kCloseLinger{1000};

// The first message of a peer that has not identified itself, and the bytes per read from it.
inline constexpr std::size_t kFirstMessageBytesMax = std::size_t{64} << 10;
inline constexpr std::size_t kFirstReadBytes = std::size_t{4} << 10;
// Connections of peers that have not identified themselves; further ones wait
// (wire/net/bounded_listener.h).
inline constexpr std::size_t kHandshakesMax = 256;
// A listener has kKnownHandshakesMax places for connections from addresses of admitted or expected
// agents. At most kWaitingStrangersMax other connections wait for one of the
// kHandshakesMax places. The listener remembers at most kKnownAddressesMax addresses.
inline constexpr std::size_t kKnownHandshakesMax = 64;
inline constexpr std::size_t kWaitingStrangersMax = 512;
inline constexpr std::size_t kKnownAddressesMax = 65'536;
// How long a silent connection keeps its place while others wait: before its TLS hello, and after
// it (an agent may be slow).
inline constexpr std::chrono::milliseconds kSilentBeforeHelloMax{200};
inline constexpr std::chrono::milliseconds kSilentAfterHelloMax{2000};
// How long an unidentified peer keeps its place while others wait: at rank 0's store, and for bulk
// data and preflight calls.
inline constexpr std::chrono::milliseconds kSlotPatience{2000};
inline constexpr std::size_t kNodeAddressesMax = 64;  // of one node, in Hello
// Addresses in StartWorkers from which rank 0's store may be used. If there are more, StartWorkers
// has none, and the store accepts every address.
inline constexpr std::size_t kStoreClientsMax = 65536;
inline constexpr int kListenBacklog = 4096;
// Connections that a listener accepts before other handlers of the loop get a turn.
inline constexpr int kAcceptsPerTurn = 32;
// As kAcceptsPerTurn, for a listener that keeps places for known peers. It accepts more, because
// many strangers may be ahead of a known peer in the kernel's queue, and between two turns all
// pending handshakes may need the loop.
inline constexpr int kAcceptsPerTurnOfMany = 512;
// To reach an endpoint: kConnectMax for TCP, then kHandshakeMax for TLS and the first exchange.
inline constexpr std::chrono::milliseconds kConnectMax{3000};
inline constexpr std::chrono::milliseconds kHandshakeMax{10000};
// Pause before accepting again when descriptors or memory have run out.
inline constexpr std::chrono::milliseconds kAcceptRetry{100};
// Dialer::answer(): connections that other hosts have opened to this agent, while it checks whether
// its supervisor is at the other end.
inline constexpr std::size_t kAnswersMax = 8;
inline constexpr int kRefusalLinesPerMinute = 10;
inline constexpr std::size_t kRefusalTextBytesMax = 300;
// A peer is dead if its kernel acknowledges no data for kTcpUserTimeout. An idle connection is
// probed after kKeepaliveIdleS seconds, and then every kKeepaliveIntervalS seconds.
inline constexpr std::chrono::milliseconds kTcpUserTimeout{20000};
inline constexpr int kKeepaliveIdleS = 10;
inline constexpr int kKeepaliveIntervalS = 5;

// Texts of NodeHealth; both sides cut longer ones.
inline constexpr std::size_t kHealthSubjectBytesMax = 128;
inline constexpr std::size_t kHealthLineBytesMax = 512;

// Bounds of a worker's reports about checkpoints; its agent refuses reports that exceed them.
inline constexpr std::size_t kCheckpointTokenBytesMax = 64;
inline constexpr std::size_t kCheckpointSourceBytesMax = 32;
inline constexpr std::size_t kCheckpointPathBytesMax = 4096;
inline constexpr std::size_t kCheckpointDirectoriesMax = 16;
inline constexpr std::size_t kMovedPathBytesMax = 4096;  // of CheckpointMoved; longer ones are cut

// A list of modules that workers import (torch: 50 KB); longer ones are not sent.
inline constexpr std::size_t kModulesBytesMax = std::size_t{256} << 10;

// Calls between peers during a preflight check: connections whose peers have not proved themselves.
inline constexpr std::size_t kPeerPendingMax = 256;  // further ones wait in the kernel's queue
// How long a peer may take to prove itself.
inline constexpr std::chrono::milliseconds kPeerPendingTimeMax{5000};
inline constexpr std::size_t kPeerNonceBytes = 32;

// Bulk data between agents.
inline constexpr std::size_t kBulkPendingMax = 32;  // connections without a request yet
inline constexpr std::chrono::milliseconds kBulkPendingTimeMax{5000};  // until a request has come
inline constexpr std::uint64_t kBulkBytesMax = std::uint64_t{1} << 42;  // of one copy
// A stream on which no byte moves in either direction for this long is closed.
inline constexpr std::chrono::milliseconds kBulkSilenceMax{10000};
// how often a waiting stream checks for hang_up()
inline constexpr std::chrono::milliseconds kBulkLookEvery{100};
// After a pause, a sender may catch up on this much time (pace.h).
inline constexpr std::chrono::milliseconds kBulkBurst{20};

// A block that nodes pass on to each other.
inline constexpr std::uint32_t kBlockBytesMax = std::uint32_t{128} << 10;
// Peers in one BlockPeers list: 40 KiB for every node, however large the run.
inline constexpr std::size_t kBlockPeersMax = 1024;

inline constexpr std::size_t kCredentialBytesMax = std::size_t{4} << 20;  // the whole line
inline constexpr std::size_t kPlacesMax = 16384;  // of one credential
inline constexpr std::size_t kEndpointsMax = 64;
inline constexpr std::size_t kRunIdBytesMax = 256;
inline constexpr std::size_t kPemBytesMax = std::size_t{16} << 10;  // one key, certificate, request
inline constexpr std::size_t kTokenBytes = 32;
inline constexpr std::size_t kNonceBytesMin = 16;

}  // namespace robustrun::wire
