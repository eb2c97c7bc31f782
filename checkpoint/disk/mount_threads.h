#pragma once
// The threads that access mounts. A dead NFS server or a stopped FUSE process blocks every caller
// forever. Therefore each mount has threads of its own, and a waiting caller gives up a call that
// has not returned within a time limit, the patience. The thread stays behind with the memory and
// the file of its call; the mount counts as stuck and is not accessed until the call returns.
//
// Used by one thread. A job owns everything that its calls use. It may touch other memory (a
// caller's buffers) only between calls, when it cannot be given up.

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/core/result.h"

namespace robustrun::checkpoint {

inline constexpr std::chrono::milliseconds kPatience{60'000};  // for one call; see StoreOptions

// Shows whether a job is inside a call that may hang. The number is odd inside a call and even
// between calls, and changes with every call.
class LifeSign {
 public:
  // The job calls these before and after each call that may hang. leave() returns false if the job
  // was given up: it must then end at once and touch only what it owns.
  void enter() { own_ = state_.fetch_add(1) + 1; }
  bool leave() { return state_.compare_exchange_strong(own_, own_ + 1); }

  // For the waiting side. give_up() succeeds only if the job is still inside the call in which
  // seen() returned `seen`; leave() then returns false.
  [[nodiscard]] std::uint64_t seen() const { return state_; }
  bool give_up(std::uint64_t seen) {
    return seen % 2 == 1 && state_.compare_exchange_strong(seen, kGivenUp);
  }

 private:
  static constexpr std::uint64_t kGivenUp = UINT64_MAX;
  std::atomic<std::uint64_t> state_ = 0;
  std::uint64_t own_ = 0;
};

class MountThreads {
 public:
  // `lanes`: number of threads for each mount.
  MountThreads(std::vector<std::string> mounts, std::uint32_t lanes,
               std::chrono::milliseconds patience);
  MountThreads(const MountThreads&) = delete;
  MountThreads& operator=(const MountThreads&) = delete;
  // Waits at most base::kPoolAbandonAfter for calls that have not returned, and then leaves them to
  // their threads.
  ~MountThreads();

  struct Job {
    std::size_t mount = 0;
    std::uint32_t lane = 0;  // no two jobs of one run() share mount and lane
    std::move_only_function<void(LifeSign&)> work;
  };
  // Runs the jobs in parallel and returns when each has ended or was given up. The result has one
  // status per job: success, or kOs with ETIMEDOUT and the mount's path. A job of a mount that is
  // stuck is not started and gets ETIMEDOUT at once.
  std::vector<base::Status> run(std::vector<Job> jobs);

  // Calls `work` on `mount` and returns its result, or ETIMEDOUT. `work` owns everything it uses
  // and returns a Result.
  template <class Work>
  auto call(std::size_t mount, Work work) -> decltype(work()) {
    auto answer = std::make_shared<std::optional<decltype(work())>>();
    std::vector<Job> jobs;
    jobs.push_back(job_for(mount, std::move(work), answer));
    base::Status ended = std::move(run(std::move(jobs)).front());
    if (!ended) return std::unexpected(std::move(ended).error());
    return std::move(**answer);
  }
  // Makes one call for each mount in parallel, works[i] on mount i. If several hang, they are given
  // up together, after one patience.
  template <class Work>
  auto call_each(std::vector<Work> works) {
    using Answer = decltype(works.front()());
    std::vector<std::shared_ptr<std::optional<Answer>>> given;
    std::vector<Job> jobs;
    for (Work& work : works) {
      given.push_back(std::make_shared<std::optional<Answer>>());
      jobs.push_back(job_for(jobs.size(), std::move(work), given.back()));
    }
    std::vector<Answer> answers;
    for (base::Status& ended : run(std::move(jobs))) {
      if (ended) answers.push_back(std::move(**given[answers.size()]));
      if (!ended) answers.push_back(std::unexpected(std::move(ended).error()));
    }
    return answers;
  }

  // Takes effect with the next run(). Stuck mounts stay stuck.
  void set_patience(std::chrono::milliseconds patience);
  [[nodiscard]] std::uint32_t lanes() const;
  // Whether a call of an earlier run() has not returned yet.
  [[nodiscard]] bool stuck(std::size_t mount);
  // Replaces a mount's path, for example by its canonical form.
  void rename(std::size_t mount, std::string path);
  // Index of the mount that contains `path`, the innermost if several do; 0 if no mount does.
  [[nodiscard]] std::size_t mount_of(const std::string& path) const;

 private:
  template <class Work, class Answer>
  static Job job_for(std::size_t mount, Work work, std::shared_ptr<std::optional<Answer>> answer) {
    return {mount, 0, [answer = std::move(answer), work = std::move(work)](LifeSign& sign) mutable {
              sign.enter();
              auto found = work();
              if (sign.leave()) answer->emplace(std::move(found));
            }};
  }

  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace robustrun::checkpoint
