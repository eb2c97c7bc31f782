#pragma once
// What can happen to the agent of a node, as events of the core. Plain data.

#include <cstdint>
#include <string>

#include "base/core/clock.h"

namespace robustrun::supervisor {

struct AgentJoined {
  std::int32_t pid = 0;
  std::string address;       // numeric; empty: as in its NodeSpec
  std::uint32_t slots = 0;   // workers that it offers; used if NodeSpec::slots is 0
  std::string listens{};  // numeric endpoint for a supervisor on another machine; empty: none
  std::string bulk{};  // numeric endpoint to which other agents send copies; empty: none
  base::Nanos asked{};  // when it was launched, by the supervisor's clock; 0: it came by itself
  base::Nanos began{};  // when its process began, by the supervisor's clock; 0: unknown
  template <class V>
  void fields(V& v) {
    v(1, "pid", pid);
    v(2, "address", address);
    v(3, "slots", slots);
    v(4, "listens", listens);
    v(5, "bulk", bulk);
    v(6, "asked", asked);
    v(7, "began", began);
  }
};

// The agent died, its channel broke, or it could not be started.
struct AgentLost {
  std::string why;
  bool node_answers = true;  // false: the whole machine seems to be lost
  base::Nanos silent{};      // time since it was last heard of
  // `why` in short, if another try would fail alike until a person changes something; the same for
  // all nodes with this trouble ("its host key is unknown"). Empty: another try may help.
  std::string lasting{};
  bool bad_input = false;  // a wrong option of the run is to blame
  bool gone = false;  // the run has lost the node for good
  template <class V>
  void fields(V& v) {
    v(1, "why", why);
    v(2, "node_answers", node_answers);
    v(3, "silent", silent);
    v(4, "lasting", lasting);
    v(5, "bad_input", bad_input);
    v(6, "gone", gone);
  }
};

}  // namespace robustrun::supervisor
