#include <doctest/doctest.h>

#include "cli/doctor/checks.h"
#include "cli/doctor/versions.h"

namespace robustrun::cli::cluster_checks_test {
namespace {

using State = Answer::State;

bool has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

Answer answered(std::string text) { return {State::kAnswered, 0, std::move(text)}; }

}  // namespace

TEST_CASE("versions begin with two numbers") {
  CHECK(release_of("2.13.0+cpu") == Release{2, 13});
  CHECK(release_of("22.05.8") == Release{22, 5});
  CHECK(release_of("3.14rc1") == Release{3, 14});
  CHECK_FALSE(release_of("").has_value());
  CHECK_FALSE(release_of("2").has_value());
  CHECK_FALSE(release_of("unknown.1").has_value());
  CHECK(Release{2, 8} < Release{2, 13});
}

TEST_CASE("the version of ssh is shown without its libraries") {
  Facts facts;
  CHECK(check_ssh(facts).state == CheckState::kAbsent);
  facts.ssh.client = answered("OpenSSH_9.2p1 Debian-2, OpenSSL 3.0.11 19 Sep 2023\n");
  CHECK(check_ssh(facts).found == "OpenSSH_9.2p1 Debian-2");
  facts.ssh.client.state = State::kHung;
  CHECK(check_ssh(facts).state == CheckState::kWarn);
}

TEST_CASE("keys come from an agent or from files") {
  Facts facts;
  SshFacts& ssh = facts.ssh;
  CHECK(check_ssh_keys(facts).state == CheckState::kAbsent);
  ssh.keys = {"id_ed25519"};
  CHECK(check_ssh_keys(facts).found == "no agent; id_ed25519");
  ssh.socket = "/tmp/agent.1";
  ssh.agent = {State::kFailed, 1, "The agent has no identities."};
  CHECK(check_ssh_keys(facts).state == CheckState::kOk);
  ssh.keys.clear();
  CHECK(check_ssh_keys(facts).state == CheckState::kWarn);
  CHECK(has(check_ssh_keys(facts).advice, "ssh-add"));
  ssh.agent = {State::kFailed, 2, "Could not open a connection to your authentication agent."};
  CHECK(has(check_ssh_keys(facts).found, "/tmp/agent.1 does not answer"));
  ssh.agent = {State::kHung, 0, ""};
  CHECK(check_ssh_keys(facts).state == CheckState::kWarn);
  ssh.agent = answered("256 SHA256:x ada (ED25519)\n3072 SHA256:y ada (RSA)\n");
  CHECK(has(check_ssh_keys(facts).found, "agent with 2 keys"));
  ssh.agent = {};  // no ssh-add
  CHECK(check_ssh_keys(facts).found == "agent at /tmp/agent.1");
}

TEST_CASE("Slurm shows its version, topology plugin and allocation") {
  Facts facts;
  SlurmFacts& slurm = facts.slurm;
  CHECK(check_slurm(facts).state == CheckState::kAbsent);
  slurm.has_sbatch = true;
  CHECK(has(check_slurm(facts).found, "no srun"));
  slurm.srun = answered("slurm 23.11.4\n");
  CHECK(has(check_slurm(facts).advice, "scontrol"));
  slurm.scontrol = answered("SwitchType = (null)\nTopologyPlugin          = topology/tree\n");
  CHECK(check_slurm(facts).found == "23.11.4, topology/tree; not within an allocation");
  CHECK(check_slurm(facts).state == CheckState::kOk);
  slurm.job = "4711";
  CHECK(has(check_slurm(facts).found, "within job 4711"));
  slurm.scontrol = {State::kHung, 0, ""};
  CHECK(has(check_slurm(facts).found, "the controller does not answer"));
  slurm.scontrol = answered("");
  slurm.srun = answered("slurm 20.11.9");
  CHECK(check_slurm(facts).state == CheckState::kWarn);
  CHECK(has(check_slurm(facts).advice, "22.05"));
  slurm.job.clear();
  slurm.srun = {State::kFailed, 1,
                "srun: error: resolve_ctls_from_dns_srv: res_nsearch error\n"
                "srun: fatal: Could not establish a configuration source\n"};
  CHECK(check_slurm(facts).found ==
        "srun --version fails: srun: fatal: Could not establish a configuration source; "
        "not within an allocation");
  CHECK(has(check_slurm(facts).advice, "slurm.conf"));
}

TEST_CASE("munged is asked for a credential") {
  Facts facts;
  CHECK(check_munge(facts).state == CheckState::kAbsent);
  facts.munge.has_socket = true;
  CHECK(check_munge(facts).state == CheckState::kOk);
  facts.munge.encoded = answered("MUNGE:AwQDAA==:");
  CHECK(has(check_munge(facts).found, "gives credentials"));
  facts.munge.encoded = {State::kFailed, 6, "munge: Error: Failed to access socket"};
  CHECK(has(check_munge(facts).found, "Failed to access"));
  facts.munge.encoded = {State::kHung, 0, ""};
  CHECK(check_munge(facts).found == "munged does not answer");
}

}  // namespace robustrun::cli::cluster_checks_test
