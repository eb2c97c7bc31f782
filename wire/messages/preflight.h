#pragma once
// The preflight check of a node: orders of the supervisor and answers of the agent.
//
//   supervisor                         agent
//   CheckNode     →   opens a listener for its peers; ← CheckReady; starts to examine its machine
//   ReachPeers    →   calls the peers in the order; ← NodeChecked, when both are done
//   MeasurePeers  →   computes, exchanges with some peers; ← PeersMeasured    (full; each round)
//   EndCheck      →   closes the listener
// MeasurePeers comes only in a full check, once per round. All messages carry the check's number;
// an agent answers only the newest check. If CheckNode or ReachPeers comes twice, an answer that
// was already sent is sent again. wire/tls/peer_proof.h says how peers call each other;
// docs/formats/robustrun.proto has the messages in protobuf's schema language.

#include <cstdint>
#include <string>
#include <vector>

#include "base/core/clock.h"
#include "base/core/ids.h"
#include "base/core/node_facts.h"

namespace robustrun::wire {

struct CheckNode {
  std::uint64_t check = 0;
  bool full = false;  // finds versions of libraries by importing them, which may take a minute
  std::string address;  // of the data interface, to listen on; empty: do not listen
  std::string nonce;  // a secret; two peers prove to each other that they know it
  bool gpus = false;  // tests the GPUs under load; nothing else may use them meanwhile
  template <class V>
  void fields(V& v) {
    v(1, "check", check);
    v(2, "full", full);
    v(3, "address", address);
    v(4, "nonce", nonce);
    v(5, "gpus", gpus);
  }
};

// Sent at once, so that the supervisor can compare its clock with `wall_time`.
struct CheckReady {
  std::uint64_t check = 0;
  std::uint32_t port = 0;  // of the listener; 0: none
  std::string error;  // why there is no listener
  base::Nanos wall_time{};  // Unix time on the agent's machine
  template <class V>
  void fields(V& v) {
    v(1, "check", check);
    v(2, "port", port);
    v(3, "error", error);
    v(4, "wall_time", wall_time);
  }
};

struct Peer {
  base::NodeId node;
  std::string address;  // numeric
  std::uint32_t port = 0;
  template <class V>
  void fields(V& v) {
    v(1, "node", node);
    v(2, "address", address);
    v(3, "port", port);
  }
};

struct ReachPeers {
  std::uint64_t check = 0;
  std::vector<Peer> peers;  // called in this order, several at a time
  template <class V>
  void fields(V& v) {
    v(1, "check", check);
    v(2, "peers", peers);
  }
};

struct NodeChecked {
  std::uint64_t check = 0;
  base::NodeFacts facts;
  std::vector<base::Unreached> unreached;  // of the peers
  // Those of `unreached` that began to call this node but never got its answer.
  std::vector<base::NodeId> half_heard;
  template <class V>
  void fields(V& v) {
    v(1, "check", check);
    v(2, "facts", facts);
    v(3, "unreached", unreached);
    v(4, "half_heard", half_heard);
  }
};

struct MeasurePeers {
  std::uint64_t check = 0;
  std::uint32_t round = 0;
  std::vector<Peer> calls;  // peers to exchange with, one after the other
  std::uint32_t awaits = 0;  // how many other peers call this node to exchange
  template <class V>
  void fields(V& v) {
    v(1, "check", check);
    v(2, "round", round);
    v(3, "calls", calls);
    v(4, "awaits", awaits);
  }
};

struct PeersMeasured {
  std::uint64_t check = 0;
  std::uint32_t round = 0;
  base::Nanos compute{};  // time for a fixed piece of work
  double bytes_per_second = 0;  // of data received in the round's best exchange; 0: no exchange
  template <class V>
  void fields(V& v) {
    v(1, "check", check);
    v(2, "round", round);
    v(3, "compute", compute);
    v(4, "bytes_per_second", bytes_per_second);
  }
};

struct EndCheck {
  std::uint64_t check = 0;
  template <class V>
  void fields(V& v) {
    v(1, "check", check);
  }
};

}  // namespace robustrun::wire
