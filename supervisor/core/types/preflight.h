#pragma once
// The check of nodes before a run: what was found out (an event), and what it means (a verdict).
//
// Facts are gathered by agents, put together by the shell, and judged here, by pure functions:
// preflight_verdict.h. Everything an agent says may be wrong or hostile; it never judges itself.

#include <cstdint>
#include <string>
#include <vector>

#include "base/core/clock.h"
#include "base/core/ids.h"
#include "base/core/node_facts.h"

namespace robustrun::supervisor {

// --preflight. kGpu: kFast, and all GPUs are put to work.
enum class PreflightDepth : std::uint8_t { kOff, kFast, kFull, kGpu };

// One round of measuring, of one node. A node that gave no answer has no entry.
struct Speed {
  std::uint32_t round = 0;
  base::Nanos compute{};         // for a fixed piece of work; 0: not known
  double bytes_per_second = 0;   // its best exchange; 0: none came about
  template <class V>
  void fields(V& v) {
    v(1, "round", round);
    v(2, "compute", compute);
    v(3, "bytes_per_second", bytes_per_second);
  }
};

struct NodeCheck {
  base::NodeId node;
  base::Generation generation;   // of the agent that was asked
  bool answered = false;
  std::string trouble;           // why it did not, or why it cannot be called by others
  base::Nanos clock_ahead{};     // of the supervisor's wall clock; negative: behind
  base::Nanos clock_error{};     // at most
  base::NodeFacts facts;
  std::vector<base::Unreached> unreached;
  std::vector<base::NodeId> half_heard;   // wire/messages/preflight.h
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

// Event: the check that CheckNodes asked for is over.
struct NodesChecked {
  std::uint64_t check = 0;
  bool full = false;
  base::Nanos took{};
  std::uint32_t partners = 0;      // that every node called
  std::vector<NodeCheck> nodes;    // in the order of CheckNodes
  template <class V>
  void fields(V& v) {
    v(1, "check", check);
    v(2, "full", full);
    v(3, "took", took);
    v(4, "partners", partners);
    v(5, "nodes", nodes);
  }
};

// From best to worst. kSlow: unfit when there is another node for its place.
enum class Fitness : std::uint8_t { kFit, kWarned, kSlow, kUnfit };

struct Finding {
  Fitness level = Fitness::kFit;
  std::string words;   // printable; of the node ("it"), or with names where there are several
};

struct NodeVerdict {
  base::NodeId node;
  Fitness level = Fitness::kFit;   // of its worst finding
  std::vector<Finding> findings;   // the worst first
  double slowness = 0;             // times the median node, of one that is slow
};

}  // namespace robustrun::supervisor
