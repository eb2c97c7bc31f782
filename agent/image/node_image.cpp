#include "agent/image/node_image.h"

#include <fmt/core.h>

#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cerrno>
#include <optional>
#include <utility>

#include "agent/image/container.h"
#include "agent/image/health.h"
#include "agent/image/limits.h"
#include "agent/image/mounting.h"
#include "agent/image/profile.h"
#include "agent/image/server.h"
#include "agent/image/tree.h"
#include "base/core/text.h"
#include "base/io/blocking_pool.h"
#include "base/io/log.h"
#include "bootstrap/store/blob.h"

namespace robustrun::agent {
namespace {

namespace asio = boost::asio;

constexpr unsigned kImageThreads = 3;  // two may hang with the image's file system
constexpr base::BlockingPool::Lane kAbortLane = ~0U;
constexpr std::size_t kImageJobsMax = 16;

}  // namespace

class NodeImage::Impl : public std::enable_shared_from_this<Impl> {
 public:
  Impl(NodeContext& node, Hooks hooks)
      : node_(node),
        plain_(node.started_with),
        hooks_(std::move(hooks)),
        patience_(node.executor),
        stuck_(node.executor),
        pool_(node.executor, kImageThreads, kImageJobsMax) {}

  void begin();
  void begin_attempt(std::function<void(base::Status)> go);
  void settled();
  void workers_killed();
  void workers_gone() {
    stuck_.cancel();
    are_killed_here_ = false;
  }
  void end(std::function<void()> done);
  void abandon();

 private:
  enum class State { kNone, kPreparing, kReady, kFailed, kEnding };
  using Next = std::function<void(Impl&)>;

  void on_thread(std::function<void()> work, Next next);
  void take_folder(bool anew);
  void find_profile();
  void serve();
  void leave_profile();
  void mount(const std::string& image);
  void enter();
  void become_ready(pid_t container);
  void fail(base::Error error);
  void lose(const std::string& why);
  void refuse(const std::string& why);
  void report_health(const std::string& what, bool is_over) {
    report_image_health(node_, plain_, what, is_over);
  }
  void check_readers(bool may_wait);
  void abort_readers();
  void finish_end();

  NodeContext& node_;
  const wire::WorkerTemplate plain_;  // as the supervisor gave it
  Hooks hooks_;
  asio::steady_timer patience_, stuck_;
  State state_ = State::kNone;
  std::uint64_t round_ = 0;  // answers of earlier tries are ignored
  base::BlockingPool::Lane lane_ = 0;
  ImagePlan plan_;
  std::optional<bootstrap::MountFolder> folder_;
  std::string socket_;
  std::unique_ptr<ImageServer> server_;
  std::optional<MountedImage> image_;
  std::unique_ptr<Container> container_;
  base::Error error_;
  std::function<void(base::Status)> waiting_;
  std::function<void()> on_end_;
  bool is_settled_ = false;
  bool is_broken_ = false;  // the current mount is useless
  bool is_lost_ = false;  // and reported
  bool are_reads_ill_ = false;  // reported; the server says when it ends
  bool are_killed_here_ = false;  // workers got SIGKILL
  base::BlockingPool pool_;  // of its own: the image's file system may hang
};

void NodeImage::Impl::on_thread(std::function<void()> work, Next next) {
  const auto done = [self = weak_from_this(), round = round_, next = std::move(next)] {
    const auto image = self.lock();
    if (image && image->round_ == round) next(*image);
  };
  if (const auto submitted = pool_.submit(lane_, std::move(work), done); !submitted) {
    asio::post(node_.executor, [self = weak_from_this(), error = submitted.error()] {
      if (const auto image = self.lock()) image->fail(error);
    });
  }
}

void NodeImage::Impl::begin() {
  if (plain_.image.empty() || state_ == State::kEnding) return;
  ++round_;
  ++lane_;  // an earlier try's file system may hang
  state_ = State::kPreparing;
  node_.stages.begin(wire::StageName::kImage);
  is_settled_ = false;
  patience_.expires_after(kImageReadyMax);
  patience_.async_wait([self = weak_from_this()](const boost::system::error_code& error) {
    const auto image = error ? nullptr : self.lock();
    if (!image) return;
    image->fail({base::Errc::kTimeout, 0,
                 fmt::format("cannot use the image {}: it was not there within {} s; its storage, "
                             "or the way to it, may be slow or gone",
                             base::printable(bootstrap::shown_source(image->plain_.image)),
                             std::chrono::seconds(kImageReadyMax).count())});
  });
  plan_ = image_plan(plain_, node_.runtime_directory, node_.shim);
  take_folder(std::exchange(is_broken_, false));
}

// `anew`: nothing that exists is taken over.
void NodeImage::Impl::take_folder(bool anew) {
  struct Taken {
    std::optional<bootstrap::MountFolder> folder;
    base::Status status;
  };
  auto taken = std::make_shared<Taken>();
  if (folder_) taken->folder = std::exchange(folder_, std::nullopt);
  const auto work = [taken, plan = plan_, anew] {
    if (!taken->folder) {
      auto folder = take_image_folder(plan);
      if (!folder) {
        taken->status = std::unexpected(std::move(folder).error());
        return;
      }
      taken->folder = *std::move(folder);
    }
    const std::string& path = taken->folder->path();
    taken->status = clear_image_folder(plan, path, path + "/socket", anew);
  };
  on_thread(work, [taken](Impl& image) {
    image.folder_ = std::move(taken->folder);
    if (!taken->status) return image.fail(taken->status.error());
    if (image.plan_.has_server()) return image.find_profile();
    image.mount(image.plain_.image);
  });
}

// Its file system may hang; the server can do without the profile.
void NodeImage::Impl::find_profile() {
  if (bootstrap::is_http_source(plain_.image)) return serve();
  take_hot_blocks_in_time(node_.executor, pool_, plain_.image, plain_.cache_directory,
                          [self = weak_from_this(), round = round_] {
                            const auto image = self.lock();
                            if (image && image->round_ == round) image->serve();
                          });
}

// Node 0 writes for all: the nodes' profiles hardly differ.
void NodeImage::Impl::leave_profile() {
  if (bootstrap::is_http_source(plain_.image)) return;
  leave_hot_blocks_on(pool_, plain_.image, plain_.cache_directory, node_.self.value == 0);
}

void NodeImage::Impl::serve() {
  auto made = folder_->make_inside("blocks");
  if (!made) return fail(made.error());
  socket_ = folder_->path() + "/socket";
  ImageServer::Plan plan{node_.executable + "-blocks",
                         plain_.image,
                         plain_.cache_directory,
                         *made,
                         socket_,
                         folder_->path(),
                         plain_.share_blocks};
  ImageServer::Handlers handlers;
  const auto live = [self = weak_from_this(), round = round_](auto then) {
    const auto image = self.lock();
    if (image && image->round_ == round) then(*image);
  };
  // Never from within the server's own handler: what follows may destroy it.
  handlers.on_ready = [this, live, source = *made + "/image"](base::Status status) {
    asio::post(node_.executor, [live, source, status] {
      live([&](Impl& image) {
        if (status) {
          image.hooks_.on_served(image.socket_);
          return image.mount(source);
        }
        if (!image.server_->is_adopted()) return image.fail(status.error());
        image.server_.reset();  // a stopped or broken server of a dead agent
        image.take_folder(true);
      });
    });
  };
  handlers.on_event = [](const std::string& what) { RR_LOG(kWarn, {}, "the image: {}", what); };
  handlers.on_reads = [this](const std::string& why, bool is_over) {
    are_reads_ill_ = !is_over;
    report_health(is_over ? why : "parts of it that this machine lacks cannot be read: " + why,
                  is_over);
  };
  handlers.on_lost = [this, live](const std::string& why) {
    asio::post(node_.executor, [live, why] { live([&](Impl& image) { image.lose(why); }); });
  };
  handlers.on_wrong = [this, live](const std::string& why) {
    asio::post(node_.executor, [live, why] { live([&](Impl& image) { image.refuse(why); }); });
  };
  handlers.on_recorded = [this] { leave_profile(); };
  server_ = ImageServer::start(node_, std::move(plan), std::move(handlers));
  if (!server_->is_adopted() && std::exchange(are_reads_ill_, false)) is_lost_ = true;
}

void NodeImage::Impl::mount(const std::string& image) {
  auto mounted = std::make_shared<std::optional<base::Result<MountedImage>>>();
  const auto work = [mounted, plan = plan_, image, folder = folder_->path()] {
    mounted->emplace(mount_image(plan, image, folder));
  };
  on_thread(work, [mounted](Impl& self) {
    if (!**mounted) return self.fail((**mounted).error());
    self.image_.emplace(std::move(***mounted));
    self.enter();
  });
}

void NodeImage::Impl::enter() {
  if (image_->container_argv.empty()) return become_ready(0);
  container_ = Container::make(node_, image_->container_argv,
                               [self = weak_from_this(), round = round_](base::Result<pid_t> pid) {
                                 const auto image = self.lock();
                                 if (!image) return;
                                 asio::post(image->node_.executor, [self, round, pid] {
                                   const auto later = self.lock();
                                   if (!later || later->round_ != round) return;
                                   if (pid) return later->become_ready(*pid);
                                   if (later->state_ == State::kReady)
                                     return later->lose(pid.error().what);
                                   later->fail(pid.error());
                                 });
                               });
}

void NodeImage::Impl::become_ready(pid_t container) {
  patience_.cancel();
  state_ = State::kReady;
  node_.stages.end(wire::StageName::kImage);
  node_.home = {container, image_->prefix, image_->mount.folder(), image_->key};
  const bool serves_store = node_.started_with.agent_store;  // it may have changed meanwhile
  node_.started_with =
      with_image(plain_, node_.home.root, image_->interpreter, node_.home.is_container());
  node_.started_with.agent_store = serves_store;
  RR_LOG(kDebug, {}, "the image {} is mounted at {}{}",
         base::printable(bootstrap::shown_source(plain_.image)), node_.home.root,
         image_->mount.is_by_kernel() ? "" : " by squashfuse");
  if (std::exchange(is_lost_, false) && !are_reads_ill_)
    report_health("it is available again", true);
  hooks_.on_ready();
  if (waiting_) std::exchange(waiting_, nullptr)({});
}

void NodeImage::Impl::fail(base::Error error) {
  patience_.cancel();
  ++round_;  // invalidates everything under way
  if (state_ != State::kEnding) state_ = State::kFailed;
  error_ = std::move(error);
  RR_LOG(kDebug, {}, "{}", error_.what);
  container_.reset();
  if (server_) server_->quit([] {});
  if (waiting_) std::exchange(waiting_, nullptr)(std::unexpected(error_));
}

// Workers that read the image get errors and end; the next attempt mounts it anew.
void NodeImage::Impl::lose(const std::string& why) {
  is_lost_ = true;
  report_health("it is lost on this machine, and what workers read of it fails: " + why, false);
  is_broken_ = true;
  fail({base::Errc::kUnavailable, 0, why});
}

void NodeImage::Impl::refuse(const std::string& why) {
  report_health("it is not what was asked for, and its workers end: " + why, false);
  fail({base::Errc::kConflict, ENOEXEC, "cannot use the image: " + why});
  hooks_.on_wrong();
}

void NodeImage::Impl::begin_attempt(std::function<void(base::Status)> go) {
  if (plain_.image.empty() || state_ == State::kReady) return go({});
  if (state_ == State::kFailed && error_.os_errno == ENOEXEC) return go(std::unexpected(error_));
  waiting_ = std::move(go);
  if (state_ != State::kFailed) return;
  server_.reset();
  container_.reset();
  image_.reset();
  begin();
}

void NodeImage::Impl::settled() {
  if (is_settled_ || state_ != State::kReady) return;
  is_settled_ = true;
  if (server_) server_->settled();
}

// A silent server is detected at once; reads that wait get a while, because they may still be
// answered.
void NodeImage::Impl::workers_killed() {
  if (state_ != State::kReady || (!server_ && image_->mount.is_by_kernel())) return;
  are_killed_here_ = true;
  if (server_) check_readers(true);
  stuck_.expires_after(kKilledReadersMax);
  stuck_.async_wait([self = weak_from_this()](const boost::system::error_code& error) {
    const auto image = error ? nullptr : self.lock();
    if (image) image->check_readers(false);
  });
}

void NodeImage::Impl::check_readers(bool may_wait) {
  if (state_ != State::kReady) return;
  if (!server_) return abort_readers();
  server_->ask(kKilledReadersAnswer, [self = weak_from_this(), may_wait](auto status) {
    const auto image = self.lock();
    if (!image || !image->are_killed_here_ || image->state_ != State::kReady) return;
    if (!status || (!may_wait && status->waiting > 0)) image->abort_readers();
  });
}

void NodeImage::Impl::abort_readers() {
  const std::string folder = folder_->path();
  asio::post(node_.executor, [self = weak_from_this()] {
    if (const auto image = self.lock()) {
      image->lose("its server does not answer, and killed workers wait for it");
    }
  });
  static_cast<void>(
      pool_.submit(kAbortLane, [folder] { bootstrap::abort_fuse_below(folder); }, [] {}));
}

void NodeImage::Impl::end(std::function<void()> done) {
  settled();
  abandon();
  ++round_;  // take_folder() may be under way
  state_ = State::kEnding;
  if (!folder_) return asio::post(node_.executor, std::move(done));
  on_end_ = std::move(done);
  container_.reset();
  patience_.expires_after(kImageEndMax);
  patience_.async_wait([self = weak_from_this()](const boost::system::error_code& error) {
    const auto image = error ? nullptr : self.lock();
    if (image && image->on_end_) std::exchange(image->on_end_, nullptr)();
  });
  const auto unmount = [root = folder_->path() + "/root", path = plan_.search_path] {
    static_cast<void>(bootstrap::unmount_all(root, path));
  };
  on_thread(unmount, [](Impl& image) {
    if (!image.server_) return image.finish_end();
    image.server_->quit([self = image.weak_from_this()] {
      if (const auto then = self.lock()) then->finish_end();
    });
  });
}

void NodeImage::Impl::finish_end() {
  auto folder = std::make_shared<bootstrap::MountFolder>(*std::exchange(folder_, std::nullopt));
  const auto remove = [folder, path = plan_.search_path] {
    static_cast<void>(folder->remove(path));  // the next start's clean-up tries again
  };
  on_thread(remove, [](Impl& image) {
    image.patience_.cancel();
    if (image.on_end_) std::exchange(image.on_end_, nullptr)();
  });
}

void NodeImage::Impl::abandon() {
  waiting_ = nullptr;
  hooks_ = {[] {}, [](const std::string&) {}, [] {}};
  patience_.cancel();
  stuck_.cancel();
}

NodeImage::NodeImage(NodeContext& node, Hooks hooks)
    : impl_(std::make_shared<Impl>(node, std::move(hooks))) {
  impl_->begin();
}
NodeImage::~NodeImage() { impl_->abandon(); }
void NodeImage::begin_attempt(std::function<void(base::Status)> go) {
  impl_->begin_attempt(std::move(go));
}
void NodeImage::settled() { impl_->settled(); }
void NodeImage::workers_killed() { impl_->workers_killed(); }
void NodeImage::workers_gone() { impl_->workers_gone(); }
void NodeImage::end(std::function<void()> done) { impl_->end(std::move(done)); }

}  // namespace robustrun::agent
