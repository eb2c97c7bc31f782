// The published stage times. By kind: gpu, machine, hang, slow, software, passing, maintenance.

#include <algorithm>

#include "simulator/published_policy.h"

namespace robustrun::simulator {
namespace {

Figure<Nanos> published(Nanos time, const char* where) {
  return {time, Origin::kPublished, std::string(where) + " (arXiv 2509.16293)"};
}
Figure<Nanos> guess(Nanos time, const char* why) { return {time, Origin::kAssumed, why}; }

PublishedPolicy torchrun_like(const char* name, const char* about, Nanos hang, Nanos every) {
  PublishedPolicy policy;
  policy.name = name;
  policy.about = about;
  const auto noticed = published(seconds(60), "explicit faults before ByteRobust, section 2");
  const auto searched = published(seconds(510), "localization 2 to 15 min, middle, section 2");
  const auto nothing = guess(Nanos{}, "the culprit is not looked for");
  const auto timeout = guess(hang, "time-out of collectives, 10 to 30 min");
  const auto never = guess(Nanos{}, "a slow machine is not noticed");
  policy.detect = {noticed, noticed, timeout, never, noticed, noticed, noticed};
  policy.culprit = {searched, searched, nothing, never, nothing, nothing, nothing};
  policy.replace.fill(published(seconds(768), "requeue of 1,024 machines, Table 7"));
  policy.hang_again = published(minutes(90), "a hang found by hand, at least, section 2");
  policy.evicted_for_hang = {1, Origin::kAssumed, "found by hand"};
  policy.checkpoint_every = {every, Origin::kAssumed, "30 to 60 min are usual"};
  return policy;
}

PublishedPolicy byterobust(const char* name, const char* about, bool adds_start) {
  PublishedPolicy policy;
  policy.name = name;
  policy.about = about;
  policy.adds_start = adds_start;
  policy.replaces_slow = true;
  policy.detect = {published(seconds(10), "GPU lost, Table 3"),
                   published(seconds(2), "OS kernel fault, Table 3"),
                   published(seconds(600), "zero RDMA traffic within 10 min, section 4.1"),
                   guess(minutes(1), "an MFU decline shows within several iterations"),
                   guess(seconds(10), "exit codes and logs, as fast as GPUs are looked at"),
                   published(seconds(30), "NIC, Table 3"),
                   guess(Nanos{}, "announced")};
  policy.culprit = {guess(Nanos{}, "real-time checks name the machine"),
                    guess(Nanos{}, "real-time checks name the machine"),
                    guess(minutes(1), "stacks are aggregated; the paper gives no time"),
                    published(seconds(50), "5 rounds of 10 s, section 5"),
                    guess(Nanos{}, "logs name the module"),
                    guess(Nanos{}, "real-time checks name the machine"),
                    guess(Nanos{}, "announced")};
  policy.replace = {published(seconds(93), "CUDA error, mean, Table 6"),
                    published(seconds(109), "OS kernel panic, mean, Table 6"),
                    published(seconds(93), "as for CUDA errors, mean, Table 6"),
                    published(seconds(93), "as for CUDA errors, mean, Table 6"),
                    published(seconds(57), "code adjustment by hot update, mean, Table 6"),
                    published(seconds(60), "Infiniband error, mean, Table 6"),
                    published(seconds(57), "as for code adjustment, mean, Table 6")};
  policy.hang_again = guess(Nanos{}, "a whole group is evicted the first time");
  policy.evicted_for_hang = {8, Origin::kPublished,
                             "machines of a pipeline group, section 5 (arXiv 2509.16293)"};
  policy.checkpoint_every = published(Nanos{}, "every step, section 6.3");
  policy.checkpoint_stall = published(milliseconds(20), "1,024 machines, Table 8");
  return policy;
}

}  // namespace

const std::vector<PublishedPolicy>& published_policies() {
  static const std::vector<PublishedPolicy> kAll = {
      torchrun_like("torchrun",
                    "10 min until a hang is noticed, requeue, 30 min between checkpoints",
                    minutes(10), minutes(30)),
      torchrun_like("torchrun-slow",
                    "30 min until a hang is noticed, requeue, 60 min between checkpoints",
                    minutes(30), minutes(60)),
      byterobust("byterobust", "ByteRobust's published stage times; script start and load on top",
                 true),
      byterobust("byterobust-all-in",
                 "ByteRobust's published stage times, taken to hold script start and load", false),
  };
  return kAll;
}

const PublishedPolicy* published_policy(std::string_view name) {
  const auto& all = published_policies();
  const auto found = std::ranges::find(all, name, &PublishedPolicy::name);
  return found == all.end() ? nullptr : &*found;
}

}  // namespace robustrun::simulator
