#include "launcher/slurm/avoidance.h"

#include <doctest/doctest.h>

#include "launcher/limits.h"

namespace robustrun::launcher::slurm_avoidance_test {
namespace {

// Recorded with Slurm 22.05 from a job that was just queued again; unused fields are omitted.
std::string shown(const std::string& rest) {
  return "JobId=7 JobName=two words UserId=ada(1000) JobState=COMPLETING Reason=BeginTime "
         "Partition=low,high " +
         rest + " TRES=cpu=2,node=2 Command=(null)\n";
}

constexpr const char* kListed =
    "n1|low|mixed|8|1000|(null)|(null)\n"
    "n1|high|mixed|8|1000|(null)|(null)\n"
    "n2|low|idle|8|1000|(null)|(null)\n"
    "n3|low|idle~|8|1000|(null)|(null)\n"
    "n4|low|drained|8|1000|(null)|(null)\n"
    "n5|low|idle*|8|1000|(null)|(null)\n"
    "small|low|idle|4|1000|(null)|(null)\n"
    "n9|debug|idle|8|1000|(null)|(null)\n";

PendingJob job_of(std::uint32_t nodes) {
  PendingJob job;
  job.partitions = {"low", "high"};
  job.nodes = nodes;
  return job;
}

Avoidance choose(const PendingJob& job, const std::vector<BlamedHost>& blamed) {
  return choose_avoided(job, read_slurm_hosts(kListed), {"n1", "n2"}, blamed);
}

using Names = std::vector<std::string>;

TEST_CASE("what the job may start on is read from scontrol") {
  const auto job = read_pending_job(
      shown("NumNodes=2-4 ReqNodeList=n1 ExcNodeList=n[7,9] Features=a100&ib Reservation=night"));
  REQUIRE(job);
  CHECK(job->partitions == Names{"low", "high"});
  CHECK(job->nodes == 2);
  CHECK(job->required == Names{"n1"});
  CHECK(job->excluded == Names{"n7", "n9"});
  CHECK(job->constraint == "a100&ib");
  CHECK(job->reservation == "night");
  CHECK_FALSE(job->asks_for_gres);
  const auto plain = read_pending_job(
      shown("NumNodes=2 ReqNodeList=(null) ExcNodeList=(null) Features=(null) TresPerNode=gpu:8"));
  REQUIRE(plain);
  CHECK(plain->excluded.empty());
  CHECK(plain->constraint.empty());
  CHECK(plain->asks_for_gres);
  CHECK(read_pending_job(shown("NumNodes=2 ReqTRES=cpu=2,gres/gpu=16"))->asks_for_gres);
  for (const char* garbage : {"", "slurm_load_jobs error: Invalid job id specified", "JobId=7",
                              "JobId=7 Partition=low NumNodes=x", "\xff\0="}) {
    CHECK_FALSE(read_pending_job(garbage));
  }
}

TEST_CASE("a list of hosts that cannot be read is an error: it would be lost when it is set anew") {
  for (const char* list : {"ExcNodeList=n[1-", "ReqNodeList=n[2-1]"}) {
    const auto job = read_pending_job(shown(std::string("NumNodes=2 ") + list));
    REQUIRE(!job);
    CHECK(job.error().code == base::Errc::kCorrupt);
    CHECK(job.error().what.find(list) != std::string::npos);
  }
}

TEST_CASE("hosts that Slurm can use now or later are told from others") {
  const auto hosts = read_slurm_hosts(kListed);
  REQUIRE(hosts.size() == 8);
  Names usable;
  for (const SlurmHost& host : hosts) {
    if (host.is_usable) usable.push_back(host.name + "/" + host.partition);
  }
  CHECK(usable == Names{"n1/low", "n1/high", "n2/low", "n3/low", "small/low", "n9/debug"});
  for (const char* state : {"down", "drained*", "idle$", "allocated@", "reserved", "idle!", ""}) {
    CHECK_FALSE(
        read_slurm_hosts(std::string("n1|low|") + state + "|8|1|(null)|(null)").at(0).is_usable);
  }
  CHECK(read_slurm_hosts("error: no controller\n|||\nn1|low|idle|x|1|a|b\n").empty());
}

TEST_CASE("a host that failed the run is left out, and what the user excluded stays so") {
  PendingJob job = job_of(2);
  job.excluded = {"n10", "n9"};
  const Avoidance choice = choose(job, {{"n2", "lost"}});
  CHECK(choice.excluded == Names{"n2", "n9", "n10"});
  CHECK(choice.words == Names{"the job leaves out n2 (lost)"});
}

TEST_CASE("without enough hosts like those of the run a host stays, the least bad one") {
  const Avoidance choice = choose(job_of(2), {{"n1", "lost"}, {"n2", "unfit"}, {"n4", "hang"}});
  // Left out n1, n2 and n3 remain; n4 is not usable anyway.
  CHECK(choice.excluded == Names{"n1", "n4"});
  CHECK(choice.words ==
        Names{"the job leaves out n1 (lost), n4 (hang)",
              "n2 (unfit) may be used again: without it the job would not start (1 host is left, "
              "and it needs 2)"});
  CHECK(choose(job_of(4), {{"n2", "lost"}}).excluded.empty());
}

TEST_CASE("a host that was left out before returns when it is needed") {
  PendingJob job = job_of(2);
  job.excluded = {"n2", "n9"};
  const Avoidance choice = choose(job, {{"n3", "lost"}, {"n2", "lost"}});
  CHECK(choice.excluded == Names{"n3", "n9"});
  CHECK(choice.words.size() == 2);
}

TEST_CASE("a host of other runs' history is not taken from the user's list") {
  PendingJob job = job_of(3);
  job.excluded = {"n3"};
  const Avoidance choice = choose(job, {{"n3", "lost in 3 runs", false}});
  CHECK(choice.excluded == Names{"n3"});
  CHECK(choice.words.empty());
}

TEST_CASE("GPUs count if the job asks for GPUs, features if it has a constraint") {
  const char* const listed =
      "a|p|idle|8|1|gpu:8|ib\n"
      "b|p|idle|8|1|gpu:8|eth\n"
      "c|p|idle|8|1|(null)|ib\n";
  PendingJob job;
  job.partitions = {"p"};
  job.nodes = 1;
  const auto excluded = [&] {
    return choose_avoided(job, read_slurm_hosts(listed), {"a"}, {{"a", "lost"}, {"b", "lost"}})
        .excluded;
  };
  CHECK(excluded() == Names{"a", "b"});  // c is left
  job.asks_for_gres = true;
  CHECK(excluded() == Names{"a"});  // b is left
  job.constraint = "ib";
  CHECK(excluded() == Names{"b"});  // a is the only one
}

TEST_CASE("hosts that the job asks for, and those of a reservation, stay") {
  PendingJob job = job_of(2);
  job.required = {"n2"};
  CHECK(choose(job, {{"n2", "lost"}}).words ==
        Names{"n2 (lost) is used again: the job asks for it (--nodelist)"});
  job = job_of(2);
  job.reservation = "night";
  const Avoidance choice = choose(job, {{"n2", "lost"}});
  CHECK(choice.excluded.empty());
  CHECK(choice.words ==
        Names{"n2 (lost) may be used again: the job is bound to the reservation night"});
}

TEST_CASE("at most kExcludedHostsMax hosts are left out") {
  std::string listed;
  std::vector<BlamedHost> blamed;
  for (std::size_t i = 0; i < kExcludedHostsMax + 10; ++i) {
    const std::string name = "x" + std::to_string(i);
    listed += name + "|low|idle|8|1000|(null)|(null)\n";
    if (i <= kExcludedHostsMax) blamed.push_back({name, "lost"});
  }
  const Avoidance choice = choose_avoided(job_of(2), read_slurm_hosts(listed), {}, blamed);
  CHECK(choice.excluded.size() == kExcludedHostsMax);
  CHECK(choice.words.back() == "x256 (lost) may be used again: 256 hosts are left out already");
}

}  // namespace
}  // namespace robustrun::launcher::slurm_avoidance_test
