#include "bootstrap/blocks/source_opening.h"

#include <fmt/core.h>
#include <poll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <future>
#include <optional>
#include <thread>
#include <utility>

#include "base/io/log.h"
#include "bootstrap/blocks/late_origin.h"
#include "bootstrap/blocks/limits.h"
#include "bootstrap/store/block_store.h"
#include "bootstrap/store/checked_blob.h"
#include "bootstrap/store/source_name.h"

namespace robustrun::bootstrap {
namespace {

using base::Nanos;
using OriginResult = base::Result<std::unique_ptr<Origin>>;

struct KnownBlob {
  NamedBlob named;
  std::uint64_t kept = 0;  // blocks
};

// The blob known to come from the source, if the store has at least one block of it.
std::optional<KnownBlob> known_blob(const ServeOptions& options) {
  const auto named = find_named_blob(options.cache, options.source);
  if (!named) return std::nullopt;
  const auto store =
      BlockStore::open({options.cache, named->key, named->length, shown_source(options.source), 0});
  if (!store) return std::nullopt;
  const auto present = (*store)->present();
  if (!present) return std::nullopt;
  const auto kept = static_cast<std::uint64_t>(std::ranges::count(*present, true));
  if (kept == 0) return std::nullopt;
  return KnownBlob{*named, kept};
}

// Opens the source on a separate thread, which is left behind if it hangs.
OriginResult open_within(const std::string& source, const base::Clock& clock, Nanos patience) {
  std::packaged_task<OriginResult()> task([source, &clock] { return open_origin(source, clock); });
  auto answer = task.get_future();
  std::thread(std::move(task)).detach();
  if (answer.wait_for(patience) == std::future_status::ready) return answer.get();
  return base::fail(base::Errc::kTimeout,
                    fmt::format("cannot open '{}': it does not answer", shown_source(source)));
}

OpenedSource open_named(const ServeOptions& options, const base::Clock& clock,
                        const NamedBlob& named, bool is_checked) {
  auto origin = late_origin(
      Blob{named.key, named.length, {}}, shown_source(options.source),
      [source = options.source, &clock] { return open_origin(source, clock); }, is_checked);
  return {std::move(origin), {}, false};
}

OpenedSource open_late(const ServeOptions& options, const base::Clock& clock,
                       const KnownBlob& known, const std::string& why) {
  OpenedSource opened = open_named(options, clock, known.named, false);
  opened.trouble = fmt::format("{}; continuing with the {} of {} blocks kept of {}", why,
                               known.kept, blocks_of(known.named.length), known.named.key);
  return opened;
}

}  // namespace

bool is_told_to_end(int signals) {
  signalfd_siginfo info{};
  if (::read(signals, &info, sizeof(info)) != sizeof(info)) return false;
  return info.ssi_signo == SIGTERM || info.ssi_signo == SIGINT;
}

// Retries, because the storage may be slow when everything starts at once.
base::Result<OpenedSource> open_source(const ServeOptions& options, const base::Clock& clock,
                                       int signals) {
  if (!options.sha256.empty()) {
    if (const auto checked = find_checked_blob(options.cache, options.sha256)) {
      return open_named(options, clock, *checked, true);
    }
  }
  const auto known = known_blob(options);
  const Nanos budget = options.retry_budget;
  const Nanos end = clock.now() + (known ? std::min<Nanos>(kNamedPatience, budget) : budget);
  auto pause = std::chrono::milliseconds(kRetryFirst);
  while (true) {
    auto origin = known ? open_within(options.source, clock, end - clock.now())
                        : open_origin(options.source, clock);
    if (origin) return OpenedSource{*std::move(origin), {}, true};
    if (!is_worth_retrying(origin.error())) return std::unexpected(origin.error());
    if (clock.now() + pause > end) {
      if (known) return open_late(options, clock, *known, origin.error().what);
      return std::unexpected(origin.error());
    }
    RR_LOG(kWarn, ({}), "{}; trying again", origin.error().what);
    pollfd wanted{signals, POLLIN, 0};
    if (::poll(&wanted, 1, static_cast<int>(pause.count())) > 0 && is_told_to_end(signals)) {
      return base::fail(base::Errc::kCancelled, "terminated before the source answered");
    }
    pause = std::min<std::chrono::milliseconds>(pause * 2, kRetryPauseMax);
  }
}

}  // namespace robustrun::bootstrap
