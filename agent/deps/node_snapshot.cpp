#include "agent/deps/node_snapshot.h"

#include <fcntl.h>
#include <fmt/core.h>

#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "agent/deps/install_log.h"
#include "agent/deps/limits.h"
#include "agent/deps/snapshot_exchange.h"
#include "agent/deps/snapshot_work.h"
#include "agent/node/environment.h"
#include "agent/node/limits.h"
#include "agent/process/ask_program.h"
#include "base/io/blocking_pool.h"
#include "base/io/log.h"
#include "bootstrap/deps/key.h"
#include "bootstrap/store/limits.h"

namespace robustrun::agent {
namespace {

// For the lease's heartbeat, which must not wait for the work.
constexpr std::uint32_t kSignLane = 1;

}  // namespace

class NodeSnapshot::Impl : public std::enable_shared_from_this<Impl> {
 public:
  Impl(NodeContext& node, BlockPeers& peers)
      : node_(node),
        exchange_(std::make_shared<SnapshotExchange>(node, peers)),
        poll_(node.executor),
        sign_(node.executor),
        pool_(node.executor, 2, kSnapshotQueueMax) {}

  void begin() {
    const wire::WorkerTemplate& workers = node_.started_with;
    if (workers.deps.empty() && workers.setup_command.empty()) {
      state_ = State::kReady;
      return;
    }
    // The list of dependencies may come with the code, and the installer with the image; both are
    // here when the attempt begins.
    if ((workers.code || !workers.image.empty()) && !waiting_) return;
    auto wish = snapshot_wish(workers, node_.home);
    if (!wish) return fail("", wish.error());
    wish_ = *std::move(wish);
    state_ = State::kBusy;
    node_.stages.begin(wire::StageName::kEnvironment);
    started_at_ = node_.clock.now();
    wish_.asked_s = unix_seconds();
    watch_ = std::make_shared<bootstrap::LeaseWatch>();
    logged_builder_.clear();
    if (wish_.interpreter.empty()) return find("");
    Question question{
        .shim = node_.shim,
        .argv = {wish_.interpreter, "-I", "-S", "-c", std::string(bootstrap::abi_question())},
        .environment = wish_.environment,
        .working_directory = {},
        .within = kAbiAnswerMax,
        .container = wish_.home.container};
    program_ = AskedProgram::ask(
        node_.executor, std::move(question), [this](base::Result<std::string> answer) {
          auto abi = answer ? bootstrap::parse_abi(*answer) : std::move(answer);
          if (abi) return find(*std::move(abi));
          fail("cannot ask " + wish_.interpreter + " for its version", abi.error());
        });
  }

  void begin_attempt(std::function<void(base::Status)> go) {
    if (state_ == State::kReady) return go({});
    waiting_ = std::move(go);
    if (state_ == State::kFailed || state_ == State::kNew) begin();
  }

  // The workers have ended by now.
  void abandon() {
    waiting_ = nullptr;
    poll_.cancel();
    sign_.cancel();
    exchange_->abandon();
    program_.reset();
    if (open_) close_snapshot(*open_, wish_.path);
  }

 private:
  enum class State { kNew, kBusy, kReady, kFailed };

  // Runs `work` on a thread, then calls `done` with its result on the loop.
  template <class T>
  void on_thread(std::move_only_function<base::Result<T>()> work,
                 void (Impl::*done)(base::Result<T>)) {
    auto result = std::make_shared<std::optional<base::Result<T>>>();
    const auto submitted = pool_.submit(
        kSingleLane, [result, work = std::move(work)]() mutable { result->emplace(work()); },
        [self = weak_from_this(), result, done] {
          if (const auto snapshot = self.lock()) ((*snapshot).*done)(std::move(**result));
        });
    if (!submitted) fail("cannot prepare the dependencies", submitted.error());
  }

  void find(std::string abi) {
    program_.reset();
    on_thread<SnapshotTarget>(
        [wish = wish_, abi = std::move(abi)] { return find_target(wish, abi); }, &Impl::on_target);
  }

  void on_target(base::Result<SnapshotTarget> target) {
    if (!target) return fail("", target.error());
    target_ = *std::move(target);
    look();
  }

  void look() {
    const std::int64_t now_s = unix_seconds();
    on_thread<SnapshotTurn>(
        [wish = wish_, target = target_, watch = watch_, now = node_.clock.now(), now_s] {
          return take_turn(wish, target, *watch, now, now_s);
        },
        &Impl::on_turn);
  }

  void on_turn(base::Result<SnapshotTurn> turn) {
    if (!turn) return fail("", turn.error());
    if (turn->found) return open(*std::move(turn->found));
    if (turn->own) return ask_others(*std::move(turn->own));
    if (!turn->builder.empty() && logged_builder_ != turn->builder) {
      logged_builder_ = turn->builder;
      RR_LOG(kInfo, {}, "the dependencies of {} are being installed by {}; waiting for it",
             wish_.what, logged_builder_);
    }
    later(&Impl::look);
  }

  void later(void (Impl::*what)()) {
    poll_.expires_after(kLeasePoll);
    poll_.async_wait([self = weak_from_this(), what](const boost::system::error_code& error) {
      const auto snapshot = error ? nullptr : self.lock();
      if (snapshot) ((*snapshot).*what)();
    });
  }

  void ask_others(bootstrap::LeaseHolder own) {
    lease_ = std::move(own);
    give_signs(bootstrap::kLeaseRenewal);
    if (!node_.workers.share_blocks) return prepare();
    exchange_->seek(
        wish_.cache, target_.key,
        [this](const bootstrap::Snapshot& offered) {
          return is_fresh(offered, wish_, unix_seconds());
        },
        [this](base::Result<std::optional<bootstrap::Snapshot>> found) {
          if (!found || !*found) return prepare();
          drop_lease();
          open(**std::move(found));
        });
  }

  void prepare() {
    on_thread<SnapshotBuild>([wish = wish_, target = target_,
                              own = *lease_] { return prepare_build(wish, target, own); },
                             &Impl::on_prepared);
  }

  void on_prepared(base::Result<SnapshotBuild> build) {
    if (!build) return fail("", build.error());
    build_ = std::make_shared<SnapshotBuild>(*std::move(build));
    log_ = std::make_shared<InstallLog>(node_.workers.log_directory, node_.self);
    step_ = 0;
    RR_LOG(kInfo, {}, "installing the dependencies of {} with {}{}", wish_.what,
           build_->steps.front().program,
           log_->path().empty() ? "" : "; its output goes to " + log_->path());
    run_step();
  }

  void run_step() {
    if (step_ == build_->steps.size()) return squash();
    const bootstrap::BuildStep& step = build_->steps[step_];
    Question question = tool(step.argv);
    overlay_environment(question.environment, step.environment);
    if (!step.working_directory.empty()) question.working_directory = step.working_directory;
    question.container = wish_.home.container;
    run(std::move(question), [this, program = step.program](const base::Status& ended) {
      if (!ended) return install_failed(program, ended.error());
      ++step_;
      run_step();
    });
  }

  [[nodiscard]] Question tool(const std::vector<std::string>& argv) const {
    return {.shim = node_.shim,
            .argv = argv,
            .environment = wish_.environment,
            .working_directory = wish_.working_directory,
            .within = kInstallMax};
  }

  // The installer's output goes to the log; its end is kept for an error.
  void run(Question question, std::function<void(const base::Status&)> done) {
    question.on_text = [this](std::string_view text) {
      if (!log_) return;
      log_->keep(text);
      static_cast<void>(pool_.submit(
          kSignLane, [log = log_, piece = std::string(text)] { log->write(piece); }, [] {}));
    };
    program_ = AskedProgram::ask(node_.executor, std::move(question),
                                 [done = std::move(done)](const base::Result<std::string>& ended) {
                                   done(ended ? base::Status() : std::unexpected(ended.error()));
                                 });
  }

  void install_failed(const std::string& program, const base::Error& error) {
    fail(fmt::format("cannot install the dependencies of {} with {}", wish_.what, program),
         base::Error{error.code, error.os_errno, log_->why_failed(error)});
  }

  void squash() {
    if (build_->squash.empty()) {
      return use_place("mksquashfs is not installed (squashfs-tools)");
    }
    run(tool(build_->squash), [this](const base::Status& ended) {
      if (!ended) return use_place(log_->tail().empty() ? ended.error().what : log_->tail());
      on_thread<bootstrap::Snapshot>(
          [wish = wish_, target = target_, build = build_, now_s = unix_seconds()] {
            return finish_build(wish, target, *build, now_s);
          },
          &Impl::on_finished);
    });
  }

  void on_finished(base::Result<bootstrap::Snapshot> snapshot) {
    if (!snapshot) return use_place(snapshot.error().what);
    const std::chrono::duration<double> took = node_.clock.now() - started_at_;
    RR_LOG(kInfo, {}, "installed the dependencies of {} in {:.1f} s; kept as snapshot {} ({} MiB)",
           wish_.what, took.count(), snapshot->key, (snapshot->bytes >> 20U) + 1);
    drop_lease();
    // Nothing else reads it: the snapshot is mounted in its place.
    const auto work = [build = std::exchange(build_, nullptr)] { build->place.remove(); };
    static_cast<void>(pool_.submit(kSingleLane, work, [] {}));
    open(*std::move(snapshot));
  }

  // No snapshot can be made, but the installed files can be used.
  void use_place(const std::string& why) {
    RR_LOG(kWarn, {},
           "the dependencies of {} are installed, but cannot be kept for other starts and nodes: "
           "{}; is {} full? `robustrun cache gc` makes room",
           wish_.what, why, bootstrap::snapshot_folder(wish_.cache));
    drop_lease();
    on_thread<OpenSnapshot>(
        [build = std::exchange(build_, nullptr), minor = target_.minor, cache = wish_.cache,
         key = target_.key] {
          bootstrap::remove_unfinished(cache, key);
          return keep_place(std::move(*build), minor);
        },
        &Impl::on_open);
  }

  void open(bootstrap::Snapshot snapshot) {
    snapshot_ = std::move(snapshot);
    open_again();
  }

  void open_again() {
    on_thread<OpenSnapshot>(
        [wish = wish_, target = target_, snapshot = *snapshot_] {
          return open_snapshot(wish, target, snapshot);
        },
        &Impl::on_open);
  }

  void on_open(base::Result<OpenSnapshot> open) {
    if (!open && open.error().code == base::Errc::kConflict) return later(&Impl::open_again);
    if (!open) return fail("", open.error());
    open_ = std::make_shared<OpenSnapshot>(*std::move(open));
    if (open_->unpack.empty()) return become_ready();
    log_ = std::make_shared<InstallLog>("", node_.self);
    run(tool(open_->unpack), [this](const base::Status& ended) {
      if (!ended) {
        return fail(fmt::format("cannot unpack the snapshot {} to {}",
                                bootstrap::snapshot_path(wish_.cache, target_.key), open_->tree),
                    base::Error{ended.error().code, 0, ended.error().what + " " + log_->tail()});
      }
      on_thread<bool>(
          [open = open_, minor = target_.minor]() -> base::Result<bool> {
            RR_TRY(fill_snapshot(*open, minor));
            return true;
          },
          &Impl::on_filled);
    });
  }

  void on_filled(base::Result<bool> filled) {
    if (!filled) return fail("", filled.error());
    become_ready();
  }

  void become_ready() {
    program_.reset();
    node_.snapshot = SnapshotView{open_->tree, open_->facts, target_.minor};
    state_ = State::kReady;
    snapshot_ ? exchange_->offer(wish_.cache, *snapshot_) : exchange_->give_up();
    node_.stages.end(wire::StageName::kEnvironment);
    const std::chrono::duration<double, std::milli> took = node_.clock.now() - started_at_;
    RR_LOG(kInfo, {}, "the dependencies of {} are at {} after {:.0f} ms", wish_.what, open_->tree,
           took.count());
    give_signs(bootstrap::kUseSignInterval);
    if (waiting_) std::exchange(waiting_, nullptr)({});
  }

  void fail(const std::string& what, const base::Error& error) {
    drop_lease();
    exchange_->give_up();
    if (build_) {  // it will never be used
      const auto work = [build = std::exchange(build_, nullptr)] { build->place.remove(); };
      static_cast<void>(pool_.submit(kSingleLane, work, [] {}));
    }
    open_.reset();
    state_ = State::kFailed;
    sign_.cancel();
    base::Error whole{error.code, error.os_errno,
                      what.empty() ? error.what : what + ": " + error.what};
    if (waiting_) return std::exchange(waiting_, nullptr)(std::unexpected(std::move(whole)));
    // The next order, which may take long to come, tries again.
    RR_LOG(kWarn, {}, "{}", whole.what);
  }

  void drop_lease() {
    if (!lease_) return;
    const auto work = [path = bootstrap::lease_path(wish_.cache, target_.key),
                       own = *std::exchange(lease_, std::nullopt)] {
      bootstrap::release_lease(path, own);
    };
    static_cast<void>(pool_.submit(kSignLane, work, [] {}));
  }

  // While we hold the lease: tells waiting nodes that we live. Afterwards: tells clean-ups that the
  // snapshot is in use.
  void give_signs(std::chrono::seconds interval) {
    sign_.expires_after(interval);
    sign_.async_wait([self = weak_from_this(), interval](const boost::system::error_code& error) {
      const auto snapshot = error ? nullptr : self.lock();
      if (!snapshot) return;
      const auto sign = [cache = snapshot->wish_.cache, key = snapshot->target_.key,
                         builds = snapshot->lease_.has_value()] {
        if (!builds) return bootstrap::touch_snapshot(cache, key);
        static_cast<void>(bootstrap::renew_lease(bootstrap::lease_path(cache, key)));
      };
      static_cast<void>(snapshot->pool_.submit(kSignLane, sign, [] {}));
      snapshot->give_signs(interval);
    });
  }

  [[nodiscard]] std::int64_t unix_seconds() const {
    return std::chrono::duration_cast<std::chrono::seconds>(node_.clock.wall_time()).count();
  }

  NodeContext& node_;
  std::shared_ptr<SnapshotExchange> exchange_;
  SnapshotWish wish_;
  State state_ = State::kNew;
  std::function<void(base::Status)> waiting_;
  boost::asio::steady_timer poll_;
  boost::asio::steady_timer sign_;
  std::unique_ptr<AskedProgram> program_;
  std::shared_ptr<bootstrap::LeaseWatch> watch_;
  std::string logged_builder_;
  base::Nanos started_at_{};
  SnapshotTarget target_;
  std::optional<bootstrap::LeaseHolder> lease_;
  std::shared_ptr<SnapshotBuild> build_;
  std::shared_ptr<InstallLog> log_;
  std::size_t step_ = 0;
  std::optional<bootstrap::Snapshot> snapshot_;
  std::shared_ptr<OpenSnapshot> open_;
  base::BlockingPool pool_;  // of its own: the cache's file system may hang
};

NodeSnapshot::NodeSnapshot(NodeContext& node, BlockPeers& peers)
    : impl_(std::make_shared<Impl>(node, peers)) {
  impl_->begin();
}
NodeSnapshot::~NodeSnapshot() { impl_->abandon(); }
void NodeSnapshot::begin_attempt(std::function<void(base::Status)> go) {
  impl_->begin_attempt(std::move(go));
}

}  // namespace robustrun::agent
