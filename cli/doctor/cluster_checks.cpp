// Rules about reaching other machines.

#include <fmt/format.h>

#include <algorithm>

#include "base/core/text.h"
#include "base/core/words.h"
#include "cli/doctor/checks.h"
#include "cli/doctor/versions.h"

namespace robustrun::cli {
namespace {

using AnswerState = Answer::State;

constexpr Release kSlurmOldest{22, 5};  // launcher/slurm reads the words of 22.05 to 25.11

std::string_view first_line(std::string_view text) {
  text = base::trim(text);
  return text.substr(0, text.find('\n'));
}

std::string_view last_line(std::string_view text) {
  text = base::trim(text);
  const std::size_t newline = text.rfind('\n');
  return newline == std::string_view::npos ? text : text.substr(newline + 1);
}

// "topology/tree" of the output of `scontrol show config`; empty: not in it.
std::string_view topology_plugin(std::string_view config) {
  for (const std::string_view line : base::split(config, '\n')) {
    if (!line.starts_with("TopologyPlugin")) continue;
    const auto sign = line.find('=');
    return sign == std::string_view::npos ? "" : base::trim(line.substr(sign + 1));
  }
  return "";
}

}  // namespace

Check check_ssh(const Facts& facts) {
  const Answer& client = facts.ssh.client;
  Check check{"ssh", CheckState::kAbsent, "no ssh on PATH", ""};
  if (!client.is_here()) return check;
  check.state = CheckState::kOk;
  std::string_view version = first_line(client.text);
  version = version.substr(0, version.find(','));
  check.found = base::printable(version);
  if (client.state != AnswerState::kAnswered) {
    check.state = CheckState::kWarn;
    check.found =
        client.state == AnswerState::kHung ? "ssh -V does not end" : "ssh -V fails: " + check.found;
    check.advice = "call it by hand; --ssh-transport=libssh2 does without it";
  }
  return check;
}

Check check_ssh_keys(const Facts& facts) {
  const SshFacts& ssh = facts.ssh;
  Check check{"ssh keys", CheckState::kOk, "", ""};
  const std::string files = base::printable(base::join(ssh.keys, ", "));
  if (ssh.socket.empty()) {
    if (ssh.keys.empty()) return {check.name, CheckState::kAbsent, "no agent and no key", ""};
    check.found = "no agent; " + files;
    return check;
  }
  const std::string beside = ssh.keys.empty() ? "" : "; " + files;
  if (ssh.agent.state == AnswerState::kAnswered) {
    const std::string_view lines = base::trim(ssh.agent.text);
    const auto others = static_cast<std::uint64_t>(std::ranges::count(lines, '\n'));
    check.found = fmt::format("agent with {}{}", base::counted(others + 1, "key"), beside);
  } else if (!ssh.agent.is_here()) {
    check.found = "agent at " + base::printable(ssh.socket) + beside;
  } else if (ssh.agent.state == AnswerState::kFailed && ssh.agent.exit_code == 1) {
    check.found = "agent without keys" + beside;
    if (ssh.keys.empty()) {
      check.state = CheckState::kWarn;
      check.advice = "ssh-add KEY, or forward the agent that has your keys (ssh -A)";
    }
  } else {
    check.state = CheckState::kWarn;
    check.found =
        fmt::format("the agent at {} does not answer{}", base::printable(ssh.socket), beside);
    check.advice = "unset SSH_AUTH_SOCK, or eval $(ssh-agent) and ssh-add";
  }
  return check;
}

Check check_slurm(const Facts& facts) {
  const SlurmFacts& slurm = facts.slurm;
  Check check{"Slurm", CheckState::kAbsent, "no srun, sbatch or scontrol on PATH", ""};
  if (!slurm.srun.is_here() && !slurm.scontrol.is_here() && !slurm.has_sbatch) return check;
  check.state = CheckState::kOk;
  std::string_view version = first_line(slurm.srun.text);
  if (version.starts_with("slurm ")) version.remove_prefix(6);
  const auto release = release_of(version);
  const std::string job =
      slurm.job.empty() ? "not within an allocation" : "within job " + base::printable(slurm.job);
  const std::string_view plugin = topology_plugin(slurm.scontrol.text);
  check.found = fmt::format("{}{}{}; {}", base::printable(version), plugin.empty() ? "" : ", ",
                            base::printable(plugin), job);
  if (slurm.srun.state != AnswerState::kAnswered) {
    check.state = CheckState::kWarn;
    const std::string_view words = last_line(slurm.srun.text);
    if (!slurm.srun.is_here()) {
      check.found = "no srun on PATH; " + job;
      check.advice = "put all of Slurm's programs on PATH, perhaps by `module load slurm`";
    } else if (slurm.srun.state == AnswerState::kHung || words.empty()) {
      check.found = "srun --version fails or does not end; " + job;
      check.advice = "call it by hand, perhaps after `module load slurm`";
    } else {
      check.found = fmt::format("srun --version fails: {}; {}", base::printable(words), job);
      check.advice =
          "is this a machine of the cluster, and does it have Slurm's configuration "
          "(slurm.conf, SLURM_CONF)?";
    }
  } else if (slurm.scontrol.state != AnswerState::kAnswered) {
    check.state = CheckState::kWarn;
    check.found +=
        slurm.scontrol.is_here() ? "; the controller does not answer" : "; no scontrol on PATH";
    check.advice = slurm.scontrol.is_here() ? "scontrol ping" : "put scontrol on PATH";
  } else if (release && *release < kSlurmOldest) {
    check.state = CheckState::kWarn;
    check.advice = "tested with 22.05 and newer; start nodes by --hosts if srun fails";
  }
  return check;
}

Check check_munge(const Facts& facts) {
  const MungeFacts& munge = facts.munge;
  Check check{"munge", CheckState::kAbsent, "no socket of munged", ""};
  if (!munge.has_socket) return check;
  check.state = CheckState::kOk;
  check.found =
      munge.encoded.is_here() ? "munged gives credentials" : "the socket of munged is here";
  if (munge.encoded.is_here() && munge.encoded.state != AnswerState::kAnswered) {
    check.state = CheckState::kWarn;
    check.found = munge.encoded.state == AnswerState::kHung
                      ? "munged does not answer"
                      : "munge fails: " + base::printable(first_line(munge.encoded.text));
    check.advice = "have munged restarted, or use --secret-file";
  }
  return check;
}

}  // namespace robustrun::cli
