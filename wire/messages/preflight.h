#pragma once
// The pre-flight check of a node, as orders and answers.
//
//   supervisor                         agent
//   CheckNode     →   opens a listener for its peers; ← CheckReady; begins to look at its machine
//   ReachPeers    →   calls the peers it is told; ← NodeChecked, when both are done
//   MeasurePeers  →   computes and exchanges with some; ← PeersMeasured    (full; for each round)
//   EndCheck      →   closes the listener
// All of one check carry its number; an agent answers the newest alone. The first two orders may
// come twice, and are answered twice. How peers call each other is in peer_proof.h;
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
  bool full = false;       // versions are asked for by importing, whatever that takes
  std::string address;     // of the data interface: where it listens; empty: it need not
  std::string nonce;       // what calls between peers prove that they know
  bool gpus = false;       // are put to work and tested: nothing else may need them
  template <class V>
  void fields(V& v) {
    v(1, "check", check);
    v(2, "full", full);
    v(3, "address", address);
    v(4, "nonce", nonce);
    v(5, "gpus", gpus);
  }
};

// Said at once: the time between CheckNode and this is that of the messages alone.
struct CheckReady {
  std::uint64_t check = 0;
  std::uint32_t port = 0;     // of the listener; 0: none
  std::string error;          // why there is none
  base::Nanos wall_time{};    // Unix time here
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
  std::string address;   // numeric
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
  std::vector<Peer> peers;   // in this order, some at a time
  template <class V>
  void fields(V& v) {
    v(1, "check", check);
    v(2, "peers", peers);
  }
};

struct NodeChecked {
  std::uint64_t check = 0;
  base::NodeFacts facts;
  std::vector<base::Unreached> unreached;   // of the peers
  // Of the peers: who began to call here, and never got our answer. Looked for only when a call of
  // our own timed out.
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
  std::vector<Peer> calls;  // to exchange with, one after the other
  std::uint32_t awaits = 0;  // as many others call here for it
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
  base::Nanos compute{};  // for a fixed piece of work
  double bytes_per_second = 0;  // received, in the best exchange of the round; 0: none
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
