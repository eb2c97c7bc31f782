#include "bootstrap/blocks/server.h"

#include <fmt/core.h>
#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <memory>
#include <mutex>
#include <utility>

#include "base/io/fd.h"
#include "base/io/log.h"
#include "bootstrap/blocks/blob_reads.h"
#include "bootstrap/blocks/block_clients.h"
#include "bootstrap/blocks/content_check.h"
#include "bootstrap/blocks/image_mount.h"
#include "bootstrap/blocks/origin.h"
#include "bootstrap/blocks/source_opening.h"
#include "bootstrap/image/mount_folder.h"
#include "bootstrap/store/source_name.h"

namespace robustrun::bootstrap {
namespace {

constexpr std::chrono::milliseconds kLookEvery{1000};  // how often to check whether it is idle

// Called before any thread exists, so that all threads leave these signals to serve().
base::Result<base::Fd> take_signals() {
  sigset_t signals;
  ::sigemptyset(&signals);
  for (const int each : {SIGTERM, SIGINT, SIGHUP, SIGPIPE}) ::sigaddset(&signals, each);
  ::pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  base::Fd fd(::signalfd(-1, &signals, SFD_CLOEXEC));
  if (!fd) return base::fail_errno("cannot wait for signals", errno);
  return fd;
}

struct Server {
  const ServeOptions& options;
  const base::Clock& clock;
  BlockStore& store;
  BlockSupply& supply;
  TouchRecorder& recorder;
  BlobReads& reads;
  ImageMount& mount;
  ContentCheck* check;  // null: any content is right
  BlockClients* clients = nullptr;  // set before the first request
  std::mutex event_mutex{};  // orders events like the changes of the flag
  bool are_reads_failing = false;
  std::atomic<bool> is_wrong = false;  // its content has the wrong digest

  [[nodiscard]] BlockServerStatus status() const {
    BlockServerStatus status;
    status.key = store.key();
    status.length = store.length();
    status.is_mounted = !mount.is_gone();
    status.is_recording = recorder.is_recording();
    status.is_checked = check != nullptr && check->is_right();
    status.touched_blocks = recorder.touched();
    supply.fill_status(status);
    reads.fill_status(status);
    return status;
  }

  [[nodiscard]] bool is_idle() const {
    const auto since = clients->idle_since();
    return options.idle_exit.count() > 0 && since && !mount.is_busy() &&
           clock.now() - *since > options.idle_exit;
  }

  // Whether the agent that owns the folder is dead and no other one has come. Then unmounts what it
  // mounted from the image, which would keep the image open forever.
  [[nodiscard]] bool is_abandoned() const {
    const auto since = clients->idle_since();
    if (options.folder.empty() || options.idle_exit.count() == 0 || !since ||
        clock.now() - *since <= options.idle_exit) {
      return false;
    }
    auto folder = MountFolder::take_abandoned(options.folder);
    if (!folder) return false;
    RR_LOG(kInfo, ({}), "'{}' is no longer used", options.folder);
    const auto removed = folder->remove({});
    if (!removed) RR_LOG(kWarn, ({}), "{}", removed.error().what);
    return true;
  }

  // Reports faults known from the start, to every client that connects.
  void report_troubles(const std::string& of_source) const {
    if (!store.obstacle().empty()) {
      report_cache_trouble("no blocks are kept on this machine; each is fetched when it is read: " +
                           store.obstacle());
    }
    if (of_source.empty()) return;
    supply.set_trouble(of_source);
    RR_LOG(kWarn, ({}), "{}", of_source);
    clients->send_event(of_source);
  }

  void report_cache_trouble(std::string text) const {
    if (is_wrong) return;  // then nothing is kept anyway
    if (check != nullptr) text += "; so its content cannot be checked";
    RR_LOG(kWarn, ({}), "{}", text);
    clients->send_lasting_event(text);
  }

  void check_content() {
    if (check == nullptr || is_wrong) return;
    if (check->tick(status().is_all_done) != ContentCheck::State::kWrong) return;
    is_wrong = true;
    const std::string text =
        fmt::format("the SHA-256 of its content is {} instead of {}; it came from {}",
                    check->found(), options.sha256, shown_source(options.source));
    RR_LOG(kError, ({}), "{}", text);
    reads.refuse({base::Errc::kConflict, 0, text});
    const auto forgotten = store.forget_all();
    if (!forgotten) RR_LOG(kWarn, ({}), "{}", forgotten.error().what);
    clients->send_lasting_event(text, BlockEvent::kWrongContent);
  }

  void on_source_event(const std::string& text, bool is_well) {
    RR_LOG(kWarn, ({}), "{}", text);
    if (is_well) reads.forget_failures();
    const std::lock_guard lock(event_mutex);
    const bool go_on = is_well && std::exchange(are_reads_failing, false);
    // While reads fail, that event stays in place.
    if (!go_on && are_reads_failing) return;
    clients->send_event(text, go_on ? BlockEvent::kReadsGoOn : BlockEvent::kNews);
  }

  void on_read_failure(const std::string& why) {
    if (is_wrong) return;
    {
      const std::lock_guard lock(event_mutex);
      if (!std::exchange(are_reads_failing, true)) {
        clients->send_event(why, BlockEvent::kReadsFail);
      }
    }
    supply.note_silence(why);  // from here on, the next success is an event and clears the flag
  }

  void run(int signals, int quit) {
    const base::Nanos begun = clock.now();
    while (!mount.is_gone() && !is_idle() && !is_abandoned()) {
      std::array<pollfd, 2> wanted = {{{signals, POLLIN, 0}, {quit, POLLIN, 0}}};
      if (::poll(wanted.data(), wanted.size(), static_cast<int>(kLookEvery.count())) > 0) {
        if (wanted[1].revents != 0) return;
        if (wanted[0].revents != 0 && is_told_to_end(signals)) return;
      }
      if (clock.now() - begun > options.record_limit) static_cast<void>(settle());
      check_content();
    }
  }

  base::Status settle() const {
    auto saved = recorder.settle(clock);
    if (!saved) RR_LOG(kWarn, ({}), "{}", saved.error().what);
    mount.read_far_ahead();
    return saved;
  }
};

// Lets a later server start without the source.
void remember_name(const ServeOptions& options, const std::string& key, const base::Clock& clock) {
  const auto saved =
      save_source_name(options.cache, key, options.source, clock.wall_time().count());
  if (!saved) RR_LOG(kDebug, ({}), "{}", saved.error().what);
}

// Nothing is prefetched if nothing is kept; everything is if a digest must be checked.
SupplyOptions supply_options(const ServeOptions& options, const BlockStore& store) {
  const bool is_wanted = options.is_prefetching || !options.sha256.empty();
  return {options.retry_budget, options.in_flight, options.origin_rate_mib << 20,
          is_wanted && store.obstacle().empty(), options.await_peers};
}

base::Result<std::unique_ptr<BlockStore>> open_store(const ServeOptions& options,
                                                     const Blob& blob) {
  return BlockStore::open({.cache = options.cache,
                           .key = blob.key,
                           .length = blob.length,
                           .about = shown_source(options.source),
                           .quota_bytes = options.cache_max_gib << 30,
                           .needs_files = false});
}

}  // namespace

base::Status serve(const ServeOptions& options) {
  static const base::SystemClock clock;
  const base::Fd signals = RR_TRY(take_signals());
  static_cast<void>(::setsid());  // fails if it already leads a process group
  const base::Fd quit(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!quit) return base::fail_errno("cannot make an event", errno);

  // Leaked on purpose: threads may still use them when the process ends.
  OpenedSource source = RR_TRY(open_source(options, clock, signals.get()));
  Origin& origin = *source.origin.release();
  const Blob& blob = origin.blob();
  BlockStore& store = *RR_TRY(open_store(options, blob)).release();
  if (source.is_looked_at) remember_name(options, blob.key, clock);
  const std::string profile =
      options.profile.empty() ? block_profile_path(options.cache, blob.key) : options.profile;
  auto& recorder = *std::make_unique<TouchRecorder>(profile, blob.length).release();
  auto& supply =
      *std::make_unique<BlockSupply>(store, origin, clock, supply_options(options, store),
                                     load_block_profile(profile, blob.length))
           .release();
  auto& reads =
      *std::make_unique<BlobReads>(store, supply, recorder, clock, options.retry_budget).release();
  ImageMount& mount = *RR_TRY(ImageMount::mount(options.mount, reads, blob.length)).release();

  ContentCheck* const check =
      options.sha256.empty()
          ? nullptr
          : new ContentCheck(store, supply, clock, options.cache, options.sha256);
  auto& server = *new Server{options, clock, store, supply, recorder, reads, mount, check};
  // If all blocks are present, the start need not be recorded, and reading too far ahead costs
  // nothing.
  if (server.status().is_all_done) static_cast<void>(server.settle());
  auto clients = BlockClients::listen(
      options.socket, store, supply, clock,
      {[&server] { return server.status(); }, [&server] { return server.settle(); },
       [fd = quit.get()] { static_cast<void>(::eventfd_write(fd, 1)); }});
  if (!clients) {
    mount.unmount();
    return std::unexpected(clients.error());
  }
  server.clients = clients->release();
  server.report_troubles(source.trouble);
  supply.on_event(
      [&server](const std::string& text, bool is_well) { server.on_source_event(text, is_well); });
  supply.on_unkept([&server](const std::string& why) {
    server.report_cache_trouble("from now on, blocks may not be kept on this machine: " + why);
  });
  reads.on_failure([&server](const std::string& why) { server.on_read_failure(why); });
  fmt::print("ready {}\n", blob.key);
  std::fflush(stdout);
  server.run(signals.get(), quit.get());
  ::unlink(options.socket.c_str());
  mount.unmount();
  return {};
}

}  // namespace robustrun::bootstrap
