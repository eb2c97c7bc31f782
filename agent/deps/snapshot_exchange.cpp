#include "agent/deps/snapshot_exchange.h"

#include <fmt/core.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "agent/deps/limits.h"
#include "agent/staging/limits.h"
#include "base/core/text.h"
#include "base/io/fd.h"
#include "base/io/log.h"
#include "base/io/sha256.h"
#include "bootstrap/store/staged_about.h"

namespace robustrun::agent {
namespace {

using base::Errc;
using base::Result;
using bootstrap::Snapshot;

constexpr std::string_view kIsComing = "robustrun-snapshot 1 coming\n";
constexpr std::size_t kSnapshotBlobDigits = 32;

// Two builds of the same snapshot differ in their bytes.
bootstrap::Blob blob_of(const Snapshot& snapshot) {
  const std::string name =
      fmt::format("snapshot {} {} {}", snapshot.key, snapshot.id, snapshot.sum);
  return {base::to_hex(base::sha256(name)).substr(0, kSnapshotBlobDigits), snapshot.bytes, ""};
}

Result<std::string> read_snapshot_block(const std::string& path, std::uint64_t length,
                                        std::uint64_t block) {
  const base::Fd file = RR_TRY(base::open_regular(path));
  std::string bytes(bootstrap::bytes_of_block(length, block), '\0');
  std::size_t have = 0;
  while (have < bytes.size()) {
    const ssize_t got = ::pread(file.get(), bytes.data() + have, bytes.size() - have,
                                static_cast<off_t>(block * bootstrap::kBlockBytes + have));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return base::fail_errno("cannot read " + path, got < 0 ? errno : EIO);
    have += static_cast<std::size_t>(got);
  }
  return bytes;
}

// Makes the received blocks' file the snapshot's file, under a second name.
Result<Snapshot> take_blocks(const std::string& cache, const Snapshot& announced,
                             const std::string& data) {
  const std::string unfinished = bootstrap::unfinished_path(cache, announced.key, announced.id);
  ::unlink(unfinished.c_str());
  if (::link(data.c_str(), unfinished.c_str()) != 0) {
    return base::fail_errno("cannot make " + unfinished, errno);
  }
  Snapshot made = RR_TRY(bootstrap::finish_snapshot(cache, announced));
  if (made.sum == announced.sum && made.bytes == announced.bytes) return made;
  bootstrap::remove_snapshot(cache, made.key);
  return base::fail(Errc::kCorrupt, "the received file is not the announced snapshot");
}

}  // namespace

void SnapshotExchange::seek(const std::string& cache, const std::string& key, IsWanted is_wanted,
                            Found found) {
  begin(key);
  cache_ = cache;
  is_coming_ = true;
  asked_at_ = node_.clock.now();
  is_wanted_ = std::move(is_wanted);
  found_ = std::move(found);
  // The list of peers may take long to come, and this node can make the snapshot itself.
  list_.after(kSnapshotPeersMax, [weak = weak_from_this()] {
    const auto self = weak.lock();
    if (self && self->found_) self->end(std::nullopt);
  });
  ask();
}

void SnapshotExchange::offer(const std::string& cache, const Snapshot& snapshot) {
  if (!node_.workers.share_blocks) return;
  begin(snapshot.key);
  is_coming_ = false;
  cache_ = cache;
  offered_ = snapshot;
  blob_ = blob_of(snapshot);
}

void SnapshotExchange::abandon() {
  found_ = nullptr;
  again_.cancel();
  list_.cancel();
  drop_file();
  if (!name_.empty()) peers_.server().remove(*this);
  pool_.reset();
}

bool SnapshotExchange::get(const wire::BlockName& name, wire::BlockScope scope,
                           BlockAnswered answer) {
  if (name.blob == name_) {
    // Answered as soon as it is known, so that all nodes fetch at once and pass its blocks on.
    const auto& known = offered_ ? offered_ : announced_;
    if (name.block == bootstrap::kAboutBlock && known) {
      answer(make_block(bootstrap::encode_about(*known)));
    } else {
      const bool may_wait = is_coming_ && scope == wire::BlockScope::kAny;
      answer(may_wait ? make_block(std::string(kIsComing)) : nullptr);
    }
    return true;
  }
  if (!offered_ || name.blob != blob_.key) return false;
  if (name.block >= bootstrap::blocks_of(blob_.length)) return answer(nullptr), true;
  auto read = std::make_shared<SharedBlock>();
  const auto submitted = pool_->submit(
      next_lane_++,
      [read, path = bootstrap::snapshot_path(cache_, offered_->key), length = blob_.length,
       block = name.block] {
        auto bytes = read_snapshot_block(path, length, block);
        if (bytes) *read = make_block(*std::move(bytes));
      },
      [read, answer] { answer(*read); });
  if (!submitted) answer(nullptr);
  return true;
}

void SnapshotExchange::begin(const std::string& key) {
  if (!pool_) pool_.emplace(node_.executor, kStageStoreThreads, kStageQueueMax);
  if (name_.empty()) peers_.server().add(*this);
  name_ = bootstrap::staged_name("snapshot " + key);
  key_ = key;
}

void SnapshotExchange::ask() {
  peers_.asker().ask({name_, bootstrap::kAboutBlock}, handle_with(&SnapshotExchange::on_answer));
}

BlockAnswered SnapshotExchange::handle_with(void (SnapshotExchange::*next)(const SharedBlock&)) {
  return [weak = weak_from_this(), next](const SharedBlock& block) {
    const auto self = weak.lock();
    if (!self || !self->found_) return;
    if (block) self->list_.cancel();
    ((*self).*next)(block);
  };
}

void SnapshotExchange::on_answer(const SharedBlock& block) {
  if (block && block->bytes != kIsComing) return on_about(block);
  if (!block) {  // no node before us makes it; a node behind us may have it
    return peers_.asker().ask_all({name_, bootstrap::kAboutBlock}, node_.self,
                                  handle_with(&SnapshotExchange::on_about));
  }
  if (!std::exchange(is_waiting_logged_, true)) {
    RR_LOG(kInfo, {}, "the dependencies are being installed by another node; waiting for it");
  }
  ask_again();
}

void SnapshotExchange::ask_again() {
  again_.after(kLeasePoll, [weak = weak_from_this()] {
    const auto self = weak.lock();
    if (self && self->found_) self->ask();
  });
}

void SnapshotExchange::on_about(const SharedBlock& block) {
  // A node that has it may still have to look into its cache.
  const bool is_early = node_.clock.now() - asked_at_ < kSnapshotOffersMax;
  if (!block) return is_early ? ask_again() : end(std::nullopt);
  auto announced = bootstrap::decode_about(block->bytes);
  if (!announced) return end(std::unexpected(announced.error()));
  // It becomes part of a file's name.
  const bool is_named = !announced->id.empty() &&
                        announced->id.find_first_not_of("0123456789abcdef") == std::string::npos;
  const bool is_ours = announced->key == key_ && is_named && announced->bytes > 0;
  if (!is_ours || !is_wanted_(*announced)) return end(std::nullopt);
  fetch(*announced);
}

void SnapshotExchange::fetch(const Snapshot& announced) {
  announced_ = announced;
  const auto not_here = [](std::uint64_t, const std::function<void(Result<SharedBlock>)>& read) {
    read(base::fail(Errc::kNotFound, "no node that has it answers"));
  };
  const StageContext context{node_, peers_.asker(), *pool_, *pool_};
  file_ = std::make_shared<StagedFile>(context, "the snapshot " + announced.key,
                                       StagedOrigin{blob_of(announced), not_here});
  peers_.server().add(*file_);
  file_->begin([weak = weak_from_this(), announced](base::Status status) {
    const auto self = weak.lock();
    if (!self || !self->found_) return;
    if (!status) return self->end(std::unexpected(status.error()));
    self->finish(announced);
  });
}

void SnapshotExchange::finish(const Snapshot& announced) {
  auto made = std::make_shared<Result<Snapshot>>(announced);
  const auto submitted = pool_->submit(
      next_lane_++,
      [made, cache = cache_, announced, data = file_->data_path()] {
        *made = take_blocks(cache, announced, data);
      },
      [weak = weak_from_this(), made] {
        const auto self = weak.lock();
        if (!self || !self->found_) return;
        if (!*made) return self->end(std::unexpected(made->error()));
        const StagedFrom from = self->file_->from();
        RR_LOG(kInfo, {}, "the dependencies came from other nodes: snapshot {}, {} blocks",
               (*made)->key, from.peers + from.file);
        self->end(**made);
      });
  if (!submitted) end(std::unexpected(submitted.error()));
}

void SnapshotExchange::end(Result<std::optional<Snapshot>> found) {
  list_.cancel();
  if (!found || !*found) announced_.reset();
  if (!found) RR_LOG(kWarn, {}, "no snapshot from other nodes: {}", found.error().what);
  std::exchange(found_, nullptr)(std::move(found));
  // Peers that are still fetching it from us ask for its final name from now on.
  drop_file();
}

void SnapshotExchange::drop_file() {
  if (!file_) return;
  peers_.server().remove(*file_);
  std::exchange(file_, nullptr)->abandon();
}

}  // namespace robustrun::agent
