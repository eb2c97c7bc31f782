#pragma once
// The flows of a communicator whose members are all inside an operation: whose turn it is.
//
// A step of a send waits for its GPU to fill a slot, for the peer to post a buffer, then for the
// network; one of a receive for the network, then for its GPU to consume the data. Mycroft's
// counters (arXiv 2509.03018, table 2) and NCCL's proxy states say which. Borrows the view.

#include <cstdint>
#include <optional>
#include <vector>

#include "tracer/analysis/accuse.h"
#include "tracer/analysis/fleet_view.h"
#include "tracer/analysis/rules.h"

namespace robustrun::tracer {

[[nodiscard]] inline bool is_finished(const Flow& f) { return f.done >= f.steps; }
// Sends.
[[nodiscard]] inline bool waits_for_gpu(const Flow& f) { return f.is_send && f.posted > f.ready; }
[[nodiscard]] inline bool waits_for_peer(const Flow& f) {
  return f.is_send && f.ready > f.transmitted && f.peer_refuses;
}
// Of a send: handed over, not known to have arrived; of a receive: posted, nothing has come.
[[nodiscard]] inline bool waits_for_network(const Flow& f) {
  return f.is_send ? f.transmitted > f.done : f.posted > f.ready;
}
// Receives.
[[nodiscard]] inline bool waits_to_be_consumed(const Flow& f) {
  return !f.is_send && f.transmitted > f.done;
}

struct FlowAt {
  const Member* member = nullptr;
  const Flow* flow = nullptr;
};

// Of one communicator, where nothing has moved for kFlowStill.
class Transport {
 public:
  [[nodiscard]] const Wait& wait() const { return *wait_; }  // the longest in it
  [[nodiscard]] const Communicator& comm() const { return *comm_; }
  // Unfinished ones, those of one member side by side.
  [[nodiscard]] const std::vector<FlowAt>& flows() const { return flows_; }
  // Every member is seen, with all its flows.
  [[nodiscard]] bool is_complete() const { return is_complete_; }
  // The other end of a flow; nullptr: not seen.
  [[nodiscard]] const Flow* other_end(const FlowAt& flow) const;
  // To accuse a member with: what its peers wait in.
  [[nodiscard]] Blame blame(const Member& member) const;

 private:
  friend std::optional<Transport> stuck_transport(const Case& facts);
  const Wait* wait_ = nullptr;
  const Communicator* comm_ = nullptr;
  std::vector<FlowAt> flows_;
  bool is_complete_ = true;
};

// Of the longest wait in which everybody who is seen takes part; none: no such wait, no flows are
// known, or some of them move.
[[nodiscard]] std::optional<Transport> stuck_transport(const Case& facts);
// Sends whose data has left and not arrived, though the receiver is ready for it.
[[nodiscard]] std::vector<FlowAt> stuck_sends(const Transport& transport);
[[nodiscard]] Edge edge_of(const Case& facts, const Transport& transport, const FlowAt& flow);

// The first wait, longest first, whose operation everybody who is seen has entered.
[[nodiscard]] const Wait* wait_of_all(const Case& facts);

}  // namespace robustrun::tracer
