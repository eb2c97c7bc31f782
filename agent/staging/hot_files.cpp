#include "agent/staging/hot_files.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/steady_timer.hpp>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "agent/node/limits.h"
#include "agent/staging/limits.h"
#include "base/io/blocking_pool.h"
#include "base/io/fd.h"
#include "base/io/log.h"
#include "bootstrap/hot/hot_recording.h"
#include "bootstrap/hot/profile_store.h"
#include "bootstrap/hot/read_ahead.h"
#include "bootstrap/image/file_system.h"
#include "bootstrap/store/limits.h"

namespace robustrun::agent {
namespace {

using bootstrap::FileSystem;
using bootstrap::FoundProfile;
using bootstrap::HotProfile;

// What a thread needs to find or make the profile of these workers.
struct HotPlan {
  std::string cache;
  bootstrap::ProfileKey key;
  bool shared_only = false;  // files on this machine's own disks are fast enough
  std::string image;  // a file mounted here that workers read from; empty: none
  std::string container_root;  // where this machine sees the workers' root; empty: the same root
};

HotPlan hot_plan(const wire::WorkerTemplate& workers, const WorkerHome& home) {
  std::string program = workers.program;
  if (!program.starts_with('/') && workers.mode == wire::LaunchMode::kScript) {
    program = workers.working_directory + "/" + program;
  }
  HotPlan plan{workers.cache_directory,
               {workers.interpreter, std::move(program)},
               workers.prefetch == wire::PrefetchMode::kAuto,
               {},
               {}};
  if (home.is_container()) plan.container_root = home.root;
  plan.key.interpreter.insert(0, plan.container_root);
  const bool is_file = workers.image_mode == wire::ImageMode::kPageCache;
  if (!home.root.empty() && is_file) plan.image = workers.image;
  return plan;
}

// Renames files of a container to the names that this machine has for them. Where both exist, the
// image's file is meant: the container sees only such folders of this machine as the image lacks.
void name_as_here(const HotPlan& plan, std::vector<bootstrap::TouchedFile>& touched) {
  if (plan.container_root.empty()) return;
  for (bootstrap::TouchedFile& file : touched) {
    const std::string here = plan.container_root + file.path;
    if (::access(here.c_str(), F_OK) == 0) file.path = here;
  }
}

// Judged by their folders: the python of a virtual environment is a link to this machine's.
bool is_useful(const HotPlan& plan) {
  const auto is_shared = [](const std::string& path) {
    const auto folder = std::filesystem::path(path).parent_path();
    return bootstrap::file_system_of(folder.string()) == FileSystem::kShared;
  };
  return !plan.shared_only || is_shared(plan.key.interpreter) || is_shared(plan.key.program);
}

// Makes a profile from the lists of workers; on a thread.
base::Status make_profile(const HotPlan& plan, const std::vector<std::string>& lists,
                          const std::optional<HotProfile>& before, std::int64_t now_s) {
  std::vector<std::vector<bootstrap::TouchedFile>> touched;
  for (const std::string& path : lists) {
    auto text = base::read_file(path, bootstrap::kTouchedBytesMax);
    ::unlink(path.c_str());
    if (text) touched.push_back(RR_TRY(bootstrap::parse_touched(*text)));
  }
  auto files = bootstrap::join_touched(std::move(touched));
  name_as_here(plan, files);
  // First, because everything after it is read from it.
  if (!plan.image.empty()) files.insert(files.begin(), {plan.image, true});
  HotProfile profile = bootstrap::record_profile(files, plan.shared_only, now_s);
  if (profile.files.empty()) return {};
  if (before) profile = bootstrap::merge_profiles(std::move(profile), *before);
  return bootstrap::save_profile(plan.cache, plan.key, profile);
}

}  // namespace

class HotFiles::Impl : public std::enable_shared_from_this<Impl> {
 public:
  explicit Impl(NodeContext& node)
      : node_(node), patience_(node.executor), pool_(node.executor, 1, 2) {}

  void find() {
    if (std::exchange(is_sought_, true)) return;
    const wire::WorkerTemplate& workers = node_.started_with;
    plan_ = hot_plan(workers, node_.home);
    if (workers.prefetch == wire::PrefetchMode::kOff || plan_.cache.empty() ||
        workers.python_path.empty() || workers.mode == wire::LaunchMode::kExecutable) {
      is_known_ = true;
      return;
    }
    struct Answer {
      bool is_useful = false;
      std::optional<FoundProfile> found;
    };
    auto answer = std::make_shared<Answer>();
    const auto look = [answer, plan = plan_] {
      answer->is_useful = is_useful(plan);
      if (answer->is_useful) answer->found = load_profile(plan.cache, plan.key);
    };
    const auto submitted = pool_.submit(kSingleLane, look, [self = weak_from_this(), answer] {
      const auto files = self.lock();
      if (files && answer->is_useful) files->on_found(std::move(answer->found));
      if (files) files->become_known();
    });
    if (!submitted) is_known_ = true;
  }

  void begin_attempt(const wire::StartWorkers& order, std::function<void()> go) {
    lists_.clear();
    taken_.clear();
    is_first_node_ = order.group_rank == 0;
    if (is_known_) return go();
    waiting_ = std::move(go);
    patience_.expires_after(kHotKnownMax);
    patience_.async_wait([self = weak_from_this()](const boost::system::error_code& error) {
      const auto files = error ? nullptr : self.lock();
      if (files) files->become_known();
    });
  }

  [[nodiscard]] bool wants_lists() const { return lists_are_wanted_; }

  void ask(const std::string& list) {
    if (!lists_are_wanted_) return;
    const base::Fd made(::open(list.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
    if (made) lists_.push_back(list);
  }

  // Renamed, because the next attempt uses the same file names.
  void look() {
    std::erase_if(lists_, [&](const std::string& list) {
      struct stat status{};
      if (::stat(list.c_str(), &status) != 0) return true;  // it was removed
      if (status.st_size == 0) return false;
      const auto mine = fmt::format("{}/hot.{}.files", node_.runtime_directory, taken_.size());
      if (std::rename(list.c_str(), mine.c_str()) == 0) taken_.push_back(mine);
      first_taken_at_ = taken_.size() == 1 ? node_.clock.now() : first_taken_at_;
      return true;
    });
    if (taken_.empty()) return;
    if (lists_.empty() || node_.clock.now() - first_taken_at_ >= kHotListsWait) finish();
  }

  void end_attempt() {
    look();
    if (!taken_.empty()) finish();
    drop_lists();
  }

  // The profile that is being made looks at its files, which may disappear with the image.
  void when_made(std::function<void()> then) {
    if (!is_making_) return then();
    then_ = std::move(then);
    patience_.expires_after(kHotMadeMax);
    patience_.async_wait([self = weak_from_this()](const boost::system::error_code& error) {
      const auto files = error ? nullptr : self.lock();
      if (files) files->on_made();
    });
  }

  void abandon() {
    then_ = nullptr;
    patience_.cancel();
    waiting_ = nullptr;
    read_ahead_.reset();
  }

 private:
  void become_known() {
    is_known_ = true;
    patience_.cancel();
    if (waiting_) std::exchange(waiting_, nullptr)();
  }

  void on_found(std::optional<FoundProfile> found) {
    const std::int64_t now_s = unix_seconds();
    lists_are_wanted_ =
        !found || !found->is_own ||
        std::chrono::seconds(now_s - found->profile.made_s) > bootstrap::kProfileAgeMax;
    if (!found) return;
    if (found->is_own) before_ = found->profile;
    read_ahead_ = std::make_unique<bootstrap::ReadAhead>(
        node_.executor, node_.clock, std::move(found->profile),
        [this](const bootstrap::ReadAheadSummary& summary) { on_read(summary); });
  }

  void on_read(const bootstrap::ReadAheadSummary& summary) {
    RR_LOG(kDebug, {}, "read {} MiB of {} files ahead in {} ms; {} have changed",
           summary.bytes >> 20U, summary.files,
           std::chrono::duration_cast<std::chrono::milliseconds>(summary.took).count(),
           summary.changed);
    if (!before_ || !is_outdated(summary)) return;
    lists_are_wanted_ = true;
    // This run may have no other start, so the profile is for the next run.
    before_->made_s = 0;
    const auto work = [plan = plan_, profile = *before_] {
      static_cast<void>(bootstrap::save_profile(plan.cache, plan.key, profile));
    };
    static_cast<void>(pool_.submit(kSingleLane, work, [] {}));
  }

  void drop_lists() {
    for (const std::string& left : lists_) ::unlink(left.c_str());
    lists_.clear();
  }

  void finish() {
    lists_are_wanted_ = false;  // whatever the result, once per run is enough
    drop_lists();
    auto made = std::make_shared<base::Status>();
    const auto work = [made, plan = plan_, lists = std::exchange(taken_, {}), before = before_,
                       now = unix_seconds(), is_first = is_first_node_] {
      // One node is enough where all nodes would write the same file.
      const bool is_mine = is_first || bootstrap::file_system_of(plan.cache) != FileSystem::kShared;
      if (is_mine) *made = make_profile(plan, lists, before, now);
    };
    is_making_ = true;
    const auto submitted = pool_.submit(kSingleLane, work, [self = weak_from_this(), made] {
      if (!*made) RR_LOG(kDebug, {}, "nothing will be read ahead: {}", made->error().what);
      if (const auto files = self.lock()) files->on_made();
    });
    if (submitted) return;
    RR_LOG(kDebug, {}, "{}", submitted.error().what);
    on_made();
  }

  void on_made() {
    is_making_ = false;
    if (!then_) return;
    patience_.cancel();
    std::exchange(then_, nullptr)();
  }

  [[nodiscard]] std::int64_t unix_seconds() const {
    return std::chrono::duration_cast<std::chrono::seconds>(node_.clock.wall_time()).count();
  }

  NodeContext& node_;
  HotPlan plan_;
  boost::asio::steady_timer patience_;
  std::function<void()> waiting_;
  std::function<void()> then_;
  bool is_making_ = false;
  bool is_sought_ = false;
  bool is_known_ = false;
  bool lists_are_wanted_ = false;
  bool is_first_node_ = false;
  std::vector<std::string> lists_;  // that workers may fill
  std::vector<std::string> taken_;  // complete, and renamed by us
  base::Nanos first_taken_at_{};
  std::optional<HotProfile> before_;
  std::unique_ptr<bootstrap::ReadAhead> read_ahead_;
  base::BlockingPool pool_;  // of its own: the cache's file system may hang
};

HotFiles::HotFiles(NodeContext& node) : impl_(std::make_shared<Impl>(node)) {}
void HotFiles::find() { impl_->find(); }
HotFiles::~HotFiles() { impl_->abandon(); }
void HotFiles::begin_attempt(const wire::StartWorkers& order, std::function<void()> go) {
  impl_->begin_attempt(order, std::move(go));
}
bool HotFiles::wants_lists() const { return impl_->wants_lists(); }
void HotFiles::ask(const std::string& list) { impl_->ask(list); }
void HotFiles::look() { impl_->look(); }
void HotFiles::end_attempt() { impl_->end_attempt(); }
void HotFiles::when_made(std::function<void()> then) { impl_->when_made(std::move(then)); }

}  // namespace robustrun::agent
