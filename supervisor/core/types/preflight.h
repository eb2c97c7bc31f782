#pragma once
// A check of nodes: its facts (an event), and their meaning (a verdict). Plain data.
//
// Agents gather facts, and the driver puts them together. Pure functions judge them
// (core/preflight/verdict.h). An agent's facts may be wrong or hostile, so an agent never judges
// itself.

#include <cstdint>
#include <string>
#include <vector>

#include "base/core/clock.h"
#include "base/core/ids.h"
#include "base/core/node_facts.h"

namespace robustrun::supervisor {

// --preflight. kGpu: as kFast, and all GPUs are tested under load.
enum class PreflightDepth : std::uint8_t { kOff, kFast, kFull, kGpu };

// One round of measurements of one node. A node that did not answer has no entry for that round.
struct Speed {
  std::uint32_t round = 0;
  base::Nanos compute{};  // time for a fixed piece of work; 0: unknown
  double bytes_per_second = 0;  // in its best exchange with a partner; 0: no exchange
  template <class V>
  void fields(V& v) {
    v(1, "round", round);
    v(2, "compute", compute);
    v(3, "bytes_per_second", bytes_per_second);
  }
};

struct NodeCheck {
  base::NodeId node;
  base::Generation generation;  // of the agent that was asked
  bool answered = false;
  std::string trouble;  // why it did not answer, or cannot be called by others
  base::Nanos clock_ahead{};  // against the supervisor's wall clock; negative: behind
  base::Nanos clock_error{};  // of clock_ahead, at most
  base::NodeFacts facts;
  std::vector<base::Unreached> unreached;
  std::vector<base::NodeId> half_heard;  // nodes that called this one, but did not get its answer
  std::vector<Speed> speeds;
  template <class V>
  void fields(V& v) {
    v(1, "node", node);
    v(2, "generation", generation);
    v(3, "answered", answered);
    v(4, "trouble", trouble);
    v(5, "clock_ahead", clock_ahead);
    v(6, "clock_error", clock_error);
    v(7, "facts", facts);
    v(8, "unreached", unreached);
    v(9, "half_heard", half_heard);
    v(10, "speeds", speeds);
  }
};

// Event: the answer to CheckNodes.
struct NodesChecked {
  std::uint64_t check = 0;
  bool full = false;
  base::Nanos took{};
  std::uint32_t partners = 0;  // how many nodes each node called
  std::vector<NodeCheck> nodes;  // in the order of CheckNodes
  template <class V>
  void fields(V& v) {
    v(1, "check", check);
    v(2, "full", full);
    v(3, "took", took);
    v(4, "partners", partners);
    v(5, "nodes", nodes);
  }
};

// From best to worst. A kSlow node is left out if there is another node for its place.
enum class Fitness : std::uint8_t { kFit, kWarned, kSlow, kUnfit };

struct Finding {
  Fitness level = Fitness::kFit;
  std::string words;  // printable; the node is "it", several nodes have names
};

struct NodeVerdict {
  base::NodeId node;
  Fitness level = Fitness::kFit;  // of its worst finding
  std::vector<Finding> findings;  // the worst first
  double slowness = 0;  // of a slow node: its time divided by the median node's
};

}  // namespace robustrun::supervisor
