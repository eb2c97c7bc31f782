#include "cli/plan/network.h"

#include "base/core/build_id.h"
#include "base/io/sha256.h"
#include "launcher/slurm/replacement.h"

namespace robustrun::cli {
namespace {

using supervisor::NetworkPlan;
using Way = NodesPlan::Way;

void plan_group(const NodesPlan& nodes, supervisor::GroupPolicy& group) {
  group.min_nodes = nodes.min_nodes;
  group.max_nodes = nodes.max_nodes;
  group.open = nodes.way == Way::kRendezvous;
  group.replace = nodes.replace;
  if (nodes.way != Way::kLocal) group.wait_for_nodes = nodes.wait_for_nodes;
  if (nodes.last_call) group.last_call = *nodes.last_call;
}

// Of this machine, if it leads: the one that the user names, else those where the others meet it. A
// loopback address would be of no use to them.
std::vector<std::string> leader_addresses(const Surroundings& around, const Meeting& meeting,
                                          const Rendezvous& rendezvous) {
  if (!rendezvous.node_address.empty()) {
    if (auto named = around.network->look_up(rendezvous.node_address)) return *std::move(named);
  }
  std::vector<std::string> addresses = meeting.addresses;
  std::erase_if(addresses, [](const std::string& address) {
    return address.starts_with("127.") || address == "::1";
  });
  return addresses;
}

void plan_meeting_point(const NodesPlan& nodes, supervisor::RunRequest& request) {
  NetworkPlan& network = request.network;
  network.launch = NetworkPlan::Launch::kProcesses;
  network.run_id = nodes.meeting->id;  // nodes that join by themselves know only this id
  network.port = nodes.meeting->control.port;
  network.secret = nodes.secret;
  network.invitation = nodes.join_token;
  network.insecure = nodes.trust == Trust::kNone;
  network.munge = nodes.trust == Trust::kMunge;
  // torchrun lets the nodes' scripts and arguments differ.
  if (!request.spec.compat) network.command_digest = command_digest(request.workers);
  std::optional<std::uint32_t>& rank = request.spec.nodes.front().node_rank;
  rank = nodes.meeting->node_rank;
  // MASTER_ADDR (static) is this node's: rank 0, which has the store, must be here.
  const bool is_static = !request.spec.master_addr.empty();
  if (!rank && is_static && nodes.meeting->part != Meeting::Part::kGuest) rank = 0;
}

}  // namespace

std::string command_digest(const wire::WorkerTemplate& workers) {
  std::string all = workers.program;
  for (const std::string& argument : workers.arguments) all += '\0' + argument;
  return base::to_hex(base::sha256(all));
}

base::Status plan_network(const Surroundings& around, const NodesPlan& nodes,
                          const Rendezvous& rendezvous, const Program& program,
                          supervisor::RunRequest& request) {
  supervisor::JobSpec& spec = request.spec;
  NetworkPlan& network = request.network;
  plan_group(nodes, spec.group);
  network.lease = nodes.lease;
  network.interface = nodes.interface;
  network.copies_rate = nodes.copies_rate;
  network.peers_rate = nodes.peers_rate;
  network.run_id = spec.run_id;
  network.batch = nodes.batch;
  request.shown_ranks = nodes.shown_ranks;
  spec.nodes.clear();
  for (const launcher::Host& host : nodes.hosts) {
    if (nodes.way == Way::kLocal) break;  // set below
    spec.nodes.push_back({host.name,
                          nodes.way == Way::kProcesses ? "127.0.0.1" : host.name,
                          host.slots == 0 ? program.workers : host.slots,
                          false,
                          {},
                          nodes.offenders.contains(host.name)});
  }
  if (spec.nodes.empty()) {
    const std::string& address = rendezvous.node_address;
    spec.nodes.push_back(
        {around.host,
         address.empty() ? "127.0.0.1" : address,
         nodes.hosts.empty() || nodes.hosts[0].slots == 0 ? program.workers : nodes.hosts[0].slots,
         false,
         {}});
  }
  if (nodes.way == Way::kProcesses) network.launch = NetworkPlan::Launch::kProcesses;
  if (nodes.way == Way::kSsh || nodes.way == Way::kSlurm) {
    network.launch =
        nodes.way == Way::kSsh ? NetworkPlan::Launch::kSsh : NetworkPlan::Launch::kSlurm;
    network.hosts = nodes.hosts;
    network.ssh = nodes.ssh;
    network.slurm = nodes.slurm;
    network.slurm.run_id = spec.run_id;
    network.slurm.folder = request.run_directory + "/agents";
    if (nodes.replace > 0) network.invitation = launcher::join_file(network.slurm);
    network.build = base::build_id();
    network.count = program.count;
    network.count_interpreter = program.count_interpreter;
  }
  if (nodes.way == Way::kRendezvous) {
    plan_meeting_point(nodes, request);
    network.first_addresses = leader_addresses(around, *nodes.meeting, rendezvous);
  }
  // A single machine has no peers to pass blocks to.
  if (network.launch == NetworkPlan::Launch::kSocketPair && !spec.group.open) {
    request.workers.share_blocks = false;
  }
  return {};
}

}  // namespace robustrun::cli
