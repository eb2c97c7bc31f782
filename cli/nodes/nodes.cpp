#include "cli/nodes/nodes.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "base/core/text.h"
#include "base/core/words.h"
#include "cli/nodes/batch_hosts.h"
#include "cli/nodes/history.h"
#include "cli/nodes/hosts.h"
#include "cli/nodes/node_range.h"
#include "cli/nodes/slurm.h"
#include "cli/nodes/slurm_nodes.h"
#include "cli/options/command_words.h"
#include "cli/options/limits.h"
#include "cli/options/values.h"
#include "launcher/hosts/host_list.h"

namespace robustrun::cli {
namespace {

using base::Errc;
using base::fail;
using base::Result;
using Way = NodesPlan::Way;

constexpr const char* kMungeSocket = "/run/munge/munge.socket.2";
constexpr std::size_t kInterfaceNameMax = 15;  // IFNAMSIZ

OptionId hosts_option(const Settings& settings) {
  return settings.text(OptionId::kHosts).empty() ? OptionId::kHostfile : OptionId::kHosts;
}

Result<Way> choose_way(const Settings& settings, const Surroundings& around, const NodesPlan& plan,
                       const SlurmPlan& slurm, std::uint32_t most) {
  if (slurm.part == SlurmPlan::Part::kLaunch) return Way::kSlurm;
  if (slurm.part == SlurmPlan::Part::kMeet) return Way::kRendezvous;
  const std::string asked = settings.text(OptionId::kLauncher);
  const bool named = !plan.hosts.empty();
  const bool only_here = plan.hosts.size() == 1 && is_this_machine(plan.hosts.front(), around);
  if (asked == "processes") return Way::kProcesses;
  if (asked == "ssh") {
    if (named) return Way::kSsh;
    return cannot_use(settings, OptionId::kLauncher,
                      "no hosts are named; add --hosts=LIST or --hostfile=FILE");
  }
  if (asked == "join") {
    if (!named) return Way::kRendezvous;
    return cannot_use(settings, OptionId::kLauncher,
                      "hosts are named, and their agents are started from here; leave it out");
  }
  if (asked == "local" && named && !only_here) {
    return cannot_use(settings, OptionId::kLauncher,
                      "the hosts are not this machine alone; leave it out");
  }
  if (asked == "local") return Way::kLocal;
  if (named) return only_here ? Way::kLocal : Way::kSsh;
  const bool alone = most == 1 || settings.flag(OptionId::kStandalone);
  return alone ? Way::kLocal : Way::kRendezvous;
}

// Refuses options that contradict named hosts.
base::Status check_with_hosts(const Settings& settings, NodesPlan& plan) {
  if (plan.hosts.empty()) return {};
  const std::string hosts = settings.written(hosts_option(settings));
  if (!settings.text(OptionId::kRdzvEndpoint).empty()) {
    return cannot_use(settings, OptionId::kRdzvEndpoint,
                      fmt::format("{} names the machines, and their agents are started from here; "
                                  "leave one of them out",
                                  hosts));
  }
  if (settings.flag(OptionId::kStandalone) && (plan.way == Way::kSsh || plan.way == Way::kSlurm)) {
    return cannot_use(settings, OptionId::kStandalone,
                      fmt::format("it means this machine alone, and {} names others", hosts));
  }
  if (settings.integer(OptionId::kNodeRank).value_or(0) != 0) {
    plan.warnings.push_back(fmt::format("{} is ignored: ranks follow the order of the hosts",
                                        settings.written(OptionId::kNodeRank)));
  }
  if (settings.given(OptionId::kLocalAddr) && plan.way != Way::kLocal) {
    plan.warnings.push_back(fmt::format("{} is ignored: every host has its own; --iface chooses it",
                                        settings.written(OptionId::kLocalAddr)));
  }
  return {};
}

// --nodes-min, within the range of --nnodes.
base::Status plan_least(const Settings& settings, bool range_given, NodesPlan& plan) {
  const auto least = settings.integer(OptionId::kNodesMin);
  if (!least) return {};
  if (*least > plan.max_nodes) {
    return cannot_use(settings, OptionId::kNodesMin,
                      fmt::format("the run has at most {} nodes", plan.max_nodes));
  }
  if (range_given && *least != plan.min_nodes) {
    return cannot_use(settings, OptionId::kNodesMin,
                      fmt::format("{} has the minimum {}; leave one of them out",
                                  settings.written(OptionId::kNnodes), plan.min_nodes));
  }
  plan.min_nodes = static_cast<std::uint32_t>(*least);
  return {};
}

// Divides the named hosts into working ones, spares and unused ones.
base::Status count_hosts(const Settings& settings, const Surroundings& around, std::uint32_t least,
                         std::uint32_t most, NodesPlan& plan) {
  const auto total = static_cast<std::int64_t>(plan.hosts.size());
  const bool given = settings.given(OptionId::kNnodes);
  const auto asked = settings.integer(OptionId::kSpares);
  const std::int64_t working = given ? std::int64_t{most} : total - asked.value_or(0);
  if (working > total) {
    return cannot_use(settings, OptionId::kNnodes,
                      fmt::format("{} named; name more, or lower it",
                                  total == 1 ? "one host is" : fmt::format("{} hosts are", total)));
  }
  if (working < 1 || working + asked.value_or(0) > total) {
    return cannot_use(
        settings, OptionId::kSpares,
        fmt::format("of {}, {} must work", base::counted(static_cast<std::uint64_t>(total), "host"),
                    given ? std::to_string(working) : "at least one"));
  }
  plan.max_nodes = static_cast<std::uint32_t>(working);
  plan.min_nodes = given ? least : plan.max_nodes;
  plan.spares = static_cast<std::uint32_t>(asked.value_or(total - working));
  if (plan.way == Way::kSsh || plan.way == Way::kSlurm) {
    plan_history(settings, around, plan.max_nodes, plan);
  }
  const auto rest = plan.hosts.begin() + working + plan.spares;
  plan.unused.assign(rest, plan.hosts.end());
  plan.hosts.erase(rest, plan.hosts.end());
  return plan_least(settings, given && least != most, plan);
}

// Agents on this machine, under generated names.
base::Status count_processes(const Settings& settings, const Surroundings& around,
                             std::uint32_t least, std::uint32_t most, NodesPlan& plan) {
  if (!plan.hosts.empty()) return count_hosts(settings, around, least, most, plan);
  const auto spares = settings.integer(OptionId::kSpares).value_or(0);
  if (most + spares > kNodesMax) {
    return cannot_use(settings, OptionId::kSpares,
                      fmt::format("there would be more than {} agents", kNodesMax));
  }
  plan.max_nodes = most;
  plan.min_nodes = least;
  plan.spares = static_cast<std::uint32_t>(spares);
  for (std::uint32_t i = 0; i < most + plan.spares; ++i) {
    plan.hosts.push_back({fmt::format("{}-{}", around.host, i), "", 0, 0});
  }
  return plan_least(settings, least != most, plan);
}

base::Status count_here(const Settings& settings, std::uint32_t least, std::uint32_t most,
                        const NodesPlan& plan) {
  const bool elastic = least == 1 && settings.flag(OptionId::kStandalone);
  if (most > 1 && !elastic) {
    return cannot_use(settings, OptionId::kNnodes,
                      plan.hosts.empty() ? "this machine alone is one node"
                                         : "one host is named; name more, or lower it");
  }
  if (settings.integer(OptionId::kSpares).value_or(0) > 0) {
    return cannot_use(settings, OptionId::kSpares,
                      "there is one machine; name more with --hosts=LIST");
  }
  if (settings.integer(OptionId::kNodesMin).value_or(1) > 1) {
    return cannot_use(settings, OptionId::kNodesMin, "there is one node");
  }
  const bool is_static =
      settings.text(OptionId::kRdzvBackend) == "static" && !settings.flag(OptionId::kStandalone);
  if (plan.hosts.empty() && is_static && settings.integer(OptionId::kNodeRank).value_or(0) > 0) {
    return cannot_use(settings, OptionId::kNodeRank, "there is one node, and its rank is 0");
  }
  return {};
}

base::Status plan_secret(const Settings& settings, const Surroundings& around, NodesPlan& plan) {
  const std::string path = settings.text(OptionId::kSecretFile);
  if (!path.empty()) {
    auto secret = around.machine->read_secret(path);
    if (!secret) return cannot_use(settings, OptionId::kSecretFile, secret.error().what);
    if (secret->size() < kSecretBytesMin || secret->size() > kSecretBytesMax) {
      return cannot_use(
          settings, OptionId::kSecretFile,
          fmt::format("a secret must have {} to {} bytes", kSecretBytesMin, kSecretBytesMax));
    }
    plan.secret = *std::move(secret);
    plan.trust = Trust::kSecret;
  } else if (around.machine->kind(kMungeSocket) == PathKind::kSocket &&
             !settings.flag(OptionId::kInsecureRdzv)) {
    plan.trust = Trust::kMunge;
  }
  if (plan.trust == Trust::kSecret && settings.flag(OptionId::kInsecureRdzv)) {
    plan.warnings.push_back(fmt::format("{} has no effect: {} is given",
                                        settings.written(OptionId::kInsecureRdzv),
                                        settings.written(OptionId::kSecretFile)));
  }
  if (plan.trust != Trust::kNone || settings.flag(OptionId::kInsecureRdzv)) return {};
  const std::string danger = fmt::format("any process that reaches port {} of {} can join this run",
                                         plan.meeting->control.port, plan.meeting->control.host);
  if (settings.compat()) {
    plan.warnings.push_back(danger + ", as with torchrun; --secret-file=FILE prevents it");
    return {};
  }
  return fail(Errc::kPermission,
              fmt::format("cannot let other machines in: {}; make a secret for all of them with "
                          "`head -c 32 /dev/urandom > FILE; chmod 600 FILE`, and add "
                          "--secret-file=FILE on each (or --insecure-rdzv, in a network that you "
                          "trust)",
                          danger));
}

base::Status plan_joining(const Settings& settings, const Surroundings& around, std::uint32_t least,
                          std::uint32_t most, NodesPlan& plan) {
  if (settings.flag(OptionId::kStandalone)) {
    return cannot_use(settings, OptionId::kStandalone, "it means this machine alone");
  }
  if (settings.has(OptionId::kSpares)) {
    return cannot_use(settings, OptionId::kSpares,
                      "no hosts are named; machines that join beyond --nnodes are spares anyway");
  }
  plan.max_nodes = most;
  plan.min_nodes = least;
  RR_TRY(plan_least(settings, least != most, plan));
  plan.meeting = RR_TRY(plan_meeting(settings, around));
  plan.last_call = plan.meeting->last_call;
  if (plan.meeting->join_timeout && !settings.given(OptionId::kWaitForNodes)) {
    plan.wait_for_nodes = *plan.meeting->join_timeout;
  }
  return plan_secret(settings, around, plan);
}

base::Status plan_lease(const Settings& settings, NodesPlan& plan) {
  supervisor::LeaseTimes& lease = plan.lease;
  const auto time = [&](OptionId id, base::Nanos& value) {
    value = settings.duration(id).value_or(value);
  };
  time(OptionId::kHeartbeatInterval, lease.interval);
  time(OptionId::kNodeSuspectAfter, lease.suspect_after);
  time(OptionId::kNodeLostAfter, lease.lost_after);
  time(OptionId::kOrphanGrace, lease.orphan_grace);
  time(OptionId::kWaitForNodes, plan.wait_for_nodes);
  if (lease.interval < kHeartbeatIntervalMin) {
    return cannot_use(settings, OptionId::kHeartbeatInterval,
                      fmt::format("it must be at least {} ms", kHeartbeatIntervalMin.count()));
  }
  if (lease.suspect_after < 2 * lease.interval) {
    return cannot_use(settings, OptionId::kNodeSuspectAfter,
                      "it must be at least twice --heartbeat-interval");
  }
  if (lease.lost_after <= lease.suspect_after) {
    return cannot_use(settings, OptionId::kNodeLostAfter,
                      "it must be longer than --node-suspect-after");
  }
  return {};
}

base::Status plan_rest(const Settings& settings, NodesPlan& plan) {
  plan.interface = settings.text(OptionId::kIface);
  const bool fine = std::ranges::all_of(
      plan.interface, [](unsigned char c) { return std::isgraph(c) != 0 && c != '/'; });
  if (!fine || plan.interface.size() > kInterfaceNameMax) {
    return cannot_use(settings, OptionId::kIface, "not a name of a network interface");
  }
  plan.copies_rate = static_cast<std::uint64_t>(settings.integer(OptionId::kCopiesRate).value_or(0))
                     << 20U;
  plan.peers_rate = static_cast<std::uint64_t>(settings.integer(OptionId::kPeersRate).value_or(0))
                    << 20U;
  plan.fold_lines = settings.flag(OptionId::kFoldLines);
  auto ranks = parse_rank_ranges(settings.text(OptionId::kRanksFilter));
  if (!ranks) return cannot_use(settings, OptionId::kRanksFilter, ranks.error().what);
  plan.shown_ranks = *std::move(ranks);
  if (const auto world = settings.integer(OptionId::kExpectWorld)) {
    plan.expect_world = static_cast<std::uint64_t>(*world);
  }
  return {};
}

}  // namespace

Where NodesPlan::where() const {
  switch (way) {
    case Way::kLocal:
    case Way::kProcesses: return Where::kHere;
    case Way::kSsh:
    case Way::kSlurm: return Where::kHosts;
    // The tasks of a step have no port in common.
    case Way::kRendezvous: return join_token.empty() ? Where::kMeeting : Where::kHosts;
  }
  return Where::kHere;
}

Result<launcher::SshOptions> plan_ssh(const Settings& settings, const Surroundings& around) {
  using enum launcher::SshTransport;
  launcher::SshOptions ssh;
  const std::string transport = settings.text(OptionId::kSshTransport);
  ssh.transport = transport == "libssh2" ? kLibssh2 : transport == "openssh" ? kOpenSsh : kAuto;
  if (const std::string command = settings.text(OptionId::kSshCommand); !command.empty()) {
    auto words = command_words(command);
    if (!words) return cannot_use(settings, OptionId::kSshCommand, words.error().what);
    // The built-in client uses the command only to read the user's configuration (ssh -G).
    if (ssh.transport != kLibssh2) ssh.transport = kOpenSsh;
    ssh.ssh_command = *std::move(words);
  }
  ssh.fanout = static_cast<std::uint32_t>(settings.integer(OptionId::kSshFanout).value_or(1));
  ssh.start_timeout = std::chrono::duration_cast<std::chrono::milliseconds>(
      settings.duration(OptionId::kSshTimeout).value_or(ssh.start_timeout));
  ssh.executable = around.executable;
  ssh.home = around.variable("HOME").value_or("");
  ssh.agent_socket = around.variable("SSH_AUTH_SOCK").value_or("");
  return ssh;
}

Result<std::vector<RankRange>> parse_rank_ranges(std::string_view text) {
  std::vector<RankRange> ranges;
  if (base::trim(text).empty()) return ranges;
  for (const std::string_view piece : base::split(text, ',')) {
    const auto dash = piece.find('-');
    const auto first = base::parse_int<std::uint32_t>(base::trim(piece.substr(0, dash)));
    auto last = first;
    if (dash != std::string_view::npos) {
      last = base::parse_int<std::uint32_t>(base::trim(piece.substr(dash + 1)));
    }
    if (!first || !last || *first > *last) {
      return fail(Errc::kInvalidArgument, fmt::format("'{}' is neither a rank nor a range; write "
                                                      "0,8-15",
                                                      base::printable(piece)));
    }
    ranges.push_back({*first, *last});
    if (ranges.size() > kRankRangesMax) {
      return fail(Errc::kLimit, fmt::format("it has more than {} ranges", kRankRangesMax));
    }
  }
  std::ranges::sort(ranges, {}, &RankRange::first);
  std::vector<RankRange> merged;
  for (const RankRange& range : ranges) {
    if (merged.empty() || range.first > std::uint64_t{merged.back().last} + 1) {
      merged.push_back(range);
    } else {
      merged.back().last = std::max(merged.back().last, range.last);
    }
  }
  return merged;
}

namespace {

// Which scheduler's job this is, if the variables of several are set, and what its programs do.
void note_batch_job(const Settings& settings, const Surroundings& around, const SlurmPlan& slurm,
                    const BatchHosts& job, NodesPlan& plan) {
  const bool is_slurm = slurm.part != SlurmPlan::Part::kNone;
  const std::string system(is_slurm ? "Slurm" : to_string(job.job.system));
  const std::string ignored(is_slurm ? to_string(batch_job_of(around).system) : job.ignored);
  if (!ignored.empty() && settings.text(OptionId::kAllocation) == "auto") {
    plan.warnings.push_back(
        fmt::format("the variables of {0} and of {1} are set; {0} names the hosts; "
                    "--allocation=NAME chooses",
                    system, ignored));
  }
  if (!job.warning.empty()) plan.warnings.push_back(job.warning);
  const bool is_of_any = is_slurm || !job.job.id.empty() || !leaves_hosts_open(settings);
  if (!is_of_any && !slurm.job.empty() && slurm.node_list.empty()) {
    plan.warnings.push_back(
        fmt::format("SLURM_JOB_ID={} is set, but SLURM_JOB_NODELIST names no node: this machine "
                    "alone is used; start robustrun within sbatch or salloc, or name --hosts",
                    base::printable(slurm.job)));
  }
  if (slurm.part == SlurmPlan::Part::kLaunch && slurm.components > 1) {
    plan.warnings.push_back(
        fmt::format("Slurm job {} is heterogeneous: of its {} components, only the nodes of the "
                    "first one ({}) are used",
                    slurm.job, slurm.components, slurm.node_list));
  }
  plan.batch = job.job;
  plan.batch.poll = settings.duration(OptionId::kSlurmPoll).value_or(base::Nanos{});
}

// The scheduler's own way onto a host, if its program is there, and the user names no other.
void use_remote_shell(const Settings& settings, const Surroundings& around, NodesPlan& plan) {
  std::vector<std::string> words = launcher::remote_shell(plan.batch.system);
  if (words.empty() || plan.ssh.transport != launcher::SshTransport::kAuto ||
      settings.has(OptionId::kSshCommand)) {
    return;
  }
  const auto found =
      around.machine->find_executable(words.front(), around.variable("PATH").value_or(""));
  if (!found) return;
  words.front() = *found;
  plan.ssh.transport = launcher::SshTransport::kOpenSsh;
  plan.ssh.ssh_command = std::move(words);
}

}  // namespace

Result<NodesPlan> plan_nodes(const Settings& settings, const Surroundings& around) {
  const auto [least, most] = RR_TRY(node_counts(settings));
  NodesPlan plan;
  const SlurmPlan slurm = RR_TRY(plan_slurm(settings, around));
  BatchHosts job;
  if (slurm.part == SlurmPlan::Part::kNone) job = RR_TRY(plan_batch_hosts(settings, around));
  note_batch_job(settings, around, slurm, job, plan);
  plan.hosts = RR_TRY(plan_hosts(settings, around, job.hosts.empty() ? slurm.nodes : job.hosts));
  if (!settings.given(OptionId::kNprocPerNode)) plan.gpus_per_node = slurm.gpus_per_node;
  RR_TRY(plan_lease(settings, plan));
  RR_TRY(plan_rest(settings, plan));
  plan.way = RR_TRY(choose_way(settings, around, plan, slurm, most));
  RR_TRY(check_with_hosts(settings, plan));
  if (plan.way != Way::kLocal && settings.has(OptionId::kStdin)) {
    return cannot_use(settings, OptionId::kStdin,
                      "standard input reaches a worker only in a run on this machine alone; let "
                      "the script read a file");
  }
  if (plan.way != Way::kSlurm && settings.integer(OptionId::kReplace).value_or(0) > 0) {
    return cannot_use(settings, OptionId::kReplace,
                      "only Slurm gives nodes to a run, and this is no Slurm allocation");
  }
  switch (plan.way) {
    case Way::kLocal: RR_TRY(count_here(settings, least, most, plan)); break;
    case Way::kProcesses: RR_TRY(count_processes(settings, around, least, most, plan)); break;
    case Way::kSsh:
      RR_TRY(count_hosts(settings, around, least, most, plan));
      plan.ssh = RR_TRY(plan_ssh(settings, around));
      use_remote_shell(settings, around, plan);
      break;
    case Way::kSlurm:
      RR_TRY(check_allocation(settings, slurm, most, plan.hosts.size()));
      RR_TRY(count_hosts(settings, around, least, most, plan));
      RR_TRY(plan_srun(settings, around, slurm, plan.slurm));
      RR_TRY(plan_replacements(settings, plan));
      break;
    case Way::kRendezvous:
      RR_TRY(slurm.part == SlurmPlan::Part::kMeet
                 ? plan_step(settings, around, slurm, plan)
                 : plan_joining(settings, around, least, most, plan));
      break;
  }
  return plan;
}

base::Status check_world(const Settings& settings, const NodesPlan& plan, std::uint32_t workers) {
  if (!plan.expect_world) return {};
  std::uint64_t world = 0;
  for (std::uint32_t i = 0; i < plan.max_nodes; ++i) {
    const bool says = i < plan.hosts.size() && plan.hosts[i].slots != 0;
    if (!says && workers == 0) return {};
    world += says ? plan.hosts[i].slots : workers;
  }
  if (world == *plan.expect_world) return {};
  return cannot_use(
      settings, OptionId::kExpectWorld,
      fmt::format("there would be {} workers on {}", world, base::counted(plan.max_nodes, "node")));
}

}  // namespace robustrun::cli
