#include "checkpoint/disk/mount_threads.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <cerrno>

#include "base/core/clock.h"
#include "base/io/blocking_pool.h"

namespace robustrun::checkpoint {
namespace {

using base::Nanos;
using base::Status;

constexpr int kLooksPerPatience = 8;

// The waiting side's view of one job.
struct Watched {
  std::shared_ptr<LifeSign> sign;
  std::size_t mount = 0;
  std::uint64_t seen = 0;
  Nanos waited{0};  // for the current call
  bool ended = false;
  bool given_up = false;
};

}  // namespace

struct MountThreads::State {
  std::vector<std::string> mounts;
  std::uint32_t lanes;
  std::chrono::milliseconds patience;
  base::SystemClock clock;
  Nanos looked{0};
  std::vector<std::size_t> stuck;  // calls of each mount that have not returned
  boost::asio::io_context loop;
  base::BlockingPool pool;

  State(std::vector<std::string> paths, std::uint32_t per_mount, std::chrono::milliseconds most)
      : mounts(std::move(paths)),
        lanes(per_mount),
        patience(most),
        stuck(mounts.size(), 0),
        pool(loop.get_executor(), static_cast<unsigned>(mounts.size() * lanes),
             mounts.size() * lanes * 2) {}

  void start(Job job, std::shared_ptr<std::vector<Watched>> round, std::size_t index) {
    const auto lane = static_cast<base::BlockingPool::Lane>(job.mount * lanes + job.lane);
    auto work = [sign = (*round)[index].sign, work = std::move(job.work)]() mutable {
      work(*sign);
    };
    // Posted to the loop even if the call returns during a later round.
    auto done = [this, round, index] {
      Watched& watched = (*round)[index];
      watched.ended = true;
      if (watched.given_up) --stuck[watched.mount];
    };
    const Status submitted = pool.submit(lane, std::move(work), std::move(done));
    RR_ASSERT(submitted);  // the queue has room for every lane
  }

  [[nodiscard]] Nanos between_looks() const { return Nanos(patience) / kLooksPerPatience; }

  // Gives up jobs whose current call has taken too long. Returns false when no job is left to wait
  // for. However late this runs, it counts as one interval: a waiting process that was itself
  // stopped, or got no processor, has learned nothing about its mounts.
  bool look(std::vector<Watched>& round) {
    bool waiting = false;
    const Nanos now = clock.now();
    const Nanos waited = std::min(now - looked, between_looks());
    looked = now;
    for (Watched& watched : round) {
      if (watched.ended || watched.given_up) continue;
      const std::uint64_t seen = watched.sign->seen();
      if (seen != watched.seen) {
        watched.seen = seen;
        watched.waited = Nanos(0);
      } else if ((watched.waited += waited) >= patience && watched.sign->give_up(seen)) {
        watched.given_up = true;
        ++stuck[watched.mount];
        continue;
      }
      waiting = true;
    }
    return waiting;
  }
};

MountThreads::MountThreads(std::vector<std::string> mounts, std::uint32_t lanes,
                           std::chrono::milliseconds patience)
    : state_(std::make_unique<State>(std::move(mounts), lanes, patience)) {
  RR_ASSERT(!state_->mounts.empty() && lanes > 0 && patience.count() > 0);
}

MountThreads::~MountThreads() = default;

std::vector<Status> MountThreads::run(std::vector<Job> jobs) {
  auto round = std::make_shared<std::vector<Watched>>(jobs.size());
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    RR_ASSERT(jobs[i].mount < state_->mounts.size() && jobs[i].lane < state_->lanes);
    (*round)[i] = {std::make_shared<LifeSign>(), jobs[i].mount, 0, Nanos(0), false, false};
  }
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    (*round)[i].given_up = stuck(jobs[i].mount);  // so it is not started
    if (!(*round)[i].given_up) state_->start(std::move(jobs[i]), round, i);
  }
  state_->loop.restart();
  state_->looked = state_->clock.now();
  while (state_->look(*round)) state_->loop.run_one_for(state_->between_looks());
  std::vector<Status> ended(jobs.size());
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    if ((*round)[i].ended) continue;
    ended[i] =
        base::fail_errno(fmt::format("cannot use {}: it has not answered for {:g} s",
                                     state_->mounts[(*round)[i].mount],
                                     std::chrono::duration<double>(state_->patience).count()),
                         ETIMEDOUT);
  }
  return ended;
}

void MountThreads::set_patience(std::chrono::milliseconds patience) {
  RR_ASSERT(patience.count() > 0);
  state_->patience = patience;
}

std::uint32_t MountThreads::lanes() const { return state_->lanes; }

bool MountThreads::stuck(std::size_t mount) {
  state_->loop.restart();
  state_->loop.poll();
  return state_->stuck[mount] > 0;
}

void MountThreads::rename(std::size_t mount, std::string path) {
  state_->mounts[mount] = std::move(path);
}

std::size_t MountThreads::mount_of(const std::string& path) const {
  std::size_t best = 0;
  std::size_t length = 0;
  for (std::size_t i = 0; i < state_->mounts.size(); ++i) {
    const std::string& mount = state_->mounts[i];
    const bool below = path.starts_with(mount) &&
                       (path.size() == mount.size() || mount == "/" || path[mount.size()] == '/');
    if (below && mount.size() >= length) {
      best = i;
      length = mount.size();
    }
  }
  return best;
}

}  // namespace robustrun::checkpoint
