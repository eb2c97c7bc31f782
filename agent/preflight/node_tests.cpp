#include "agent/preflight/node_tests.h"

namespace robustrun::agent {

void NodeTests::take(const wire::Message& message) {
  if (const auto* check = std::get_if<wire::CheckNode>(&message)) {
    preflight_.check(*check);
  } else if (const auto* reach = std::get_if<wire::ReachPeers>(&message)) {
    preflight_.reach(*reach);
  } else if (const auto* measure = std::get_if<wire::MeasurePeers>(&message)) {
    preflight_.measure(*measure);
  } else if (const auto* over = std::get_if<wire::EndCheck>(&message)) {
    preflight_.end(*over);
  } else if (const auto* replay = std::get_if<wire::ReplayNode>(&message)) {
    replay_.start(*replay);
  } else if (std::holds_alternative<wire::EndReplay>(message)) {
    replay_.end();
  }
}

}  // namespace robustrun::agent
