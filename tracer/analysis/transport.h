#pragma once
// Finds which GPU, peer or link has to act next, by the flows of a communicator whose members are
// all inside an operation.
//
// A step of a send waits for its GPU to fill a slot, then for the peer to post a buffer, then for
// the network. A step of a receive waits for the network, then for its GPU to consume the data.
// Mycroft's counters (arXiv 2509.03018, table 2) and NCCL's proxy states show for which of these a
// step waits. A Transport points into the view and the wait graph of its Case, which must outlive
// it.

#include <cstdint>
#include <optional>
#include <vector>

#include "tracer/analysis/accuse.h"
#include "tracer/analysis/fleet_view.h"
#include "tracer/analysis/rules.h"

namespace robustrun::tracer {

[[nodiscard]] inline bool is_finished(const Flow& f) { return f.done >= f.steps; }
// Whether a send waits for its GPU to fill a slot.
[[nodiscard]] inline bool waits_for_gpu(const Flow& f) { return f.is_send && f.posted > f.ready; }
// Whether a send waits for its peer to post a buffer.
[[nodiscard]] inline bool waits_for_peer(const Flow& f) {
  return f.is_send && f.ready > f.transmitted && f.peer_refuses;
}
// Whether data of a send was handed to the network and is not known to have arrived, or a receive
// has posted a buffer and no data has come.
[[nodiscard]] inline bool waits_for_network(const Flow& f) {
  return f.is_send ? f.transmitted > f.done : f.posted > f.ready;
}
// Whether a receive waits for its GPU to consume data that has come.
[[nodiscard]] inline bool waits_to_be_consumed(const Flow& f) {
  return !f.is_send && f.transmitted > f.done;
}

struct FlowAt {
  const Member* member = nullptr;
  const Flow* flow = nullptr;
};

// The unfinished flows of one communicator, none of which has moved for kFlowStill.
class Transport {
 public:
  [[nodiscard]] const Wait& wait() const { return *wait_; }  // the longest in the communicator
  [[nodiscard]] const Communicator& comm() const { return *comm_; }
  // Unfinished flows, grouped by member.
  [[nodiscard]] const std::vector<FlowAt>& flows() const { return flows_; }
  // Whether every member was seen, with all of its flows.
  [[nodiscard]] bool is_complete() const { return is_complete_; }
  // The same flow as its other end sees it; nullptr: not seen.
  [[nodiscard]] const Flow* other_end(const FlowAt& flow) const;
  // A blame of `member`, for the operation in which its peers wait.
  [[nodiscard]] Blame blame(const Member& member) const;

 private:
  friend std::optional<Transport> stuck_transport(const Case& facts);
  const Wait* wait_ = nullptr;
  const Communicator* comm_ = nullptr;
  std::vector<FlowAt> flows_;
  bool is_complete_ = true;
};

// Looks through the waits in operations that all seen members have entered, longest first. Returns
// the unfinished flows of the first communicator in which none of them has moved for kFlowStill.
// nullopt: no communicator has such flows.
[[nodiscard]] std::optional<Transport> stuck_transport(const Case& facts);
// Sends whose data has left and not arrived, although the receiver is ready for it or was not seen.
[[nodiscard]] std::vector<FlowAt> stuck_sends(const Transport& transport);
// The link of a flow; from the rank to itself if the other rank was not seen.
[[nodiscard]] Edge edge_of(const Case& facts, const Transport& transport, const FlowAt& flow);

// The longest wait in an operation that all seen members have entered; nullptr: no such wait.
[[nodiscard]] const Wait* wait_of_all(const Case& facts);

}  // namespace robustrun::tracer
