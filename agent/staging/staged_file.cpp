#include "agent/staging/staged_file.h"

#include <fmt/format.h>

#include <utility>

#include "agent/staging/limits.h"
#include "base/io/log.h"

namespace robustrun::agent {
namespace {

using base::Errc;
using base::Result;
using base::Status;
using bootstrap::BlockStore;
using bootstrap::StagedAbout;

}  // namespace

StagedFile::StagedFile(StageContext context, std::string path, std::optional<StagedOrigin> origin)
    : context_(context),
      path_(std::move(path)),
      name_(bootstrap::staged_name(path_)),
      origin_(std::move(origin)),
      stall_(context.node.executor) {}

void StagedFile::abandon() {
  done_ = nullptr;
  stall_.cancel();
}

template <class T>
void StagedFile::run(base::BlockingPool& pool, std::move_only_function<Result<T>()> work,
                     std::move_only_function<void(Result<T>)> next) {
  auto result = std::make_shared<std::optional<Result<T>>>();
  auto later = std::make_shared<std::move_only_function<void(Result<T>)>>(std::move(next));
  const auto submitted = pool.submit(
      next_lane_++, [result, work = std::move(work)]() mutable { result->emplace(work()); },
      [weak = weak_from_this(), result, later] {
        if (const auto self = weak.lock()) (*later)(std::move(**result));
      });
  if (!submitted) (*later)(std::unexpected(submitted.error()));
}

void StagedFile::begin(Done done) {
  done_ = std::move(done);
  unreadable_.reset();
  next_ = 0;
  note_progress();
  if (!about_) return origin_ ? be_described({origin_->blob, context_.node.self}) : describe();
  store_ ? go_on() : open_store();
}

// A mount that hangs must not hold up a start for ever.
void StagedFile::note_progress() {
  stall_.after(kStageStallMax, [weak = weak_from_this()] {
    const auto self = weak.lock();
    if (!self || !self->done_) return;
    self->fail_with({Errc::kTimeout, 0,
                     fmt::format("nothing of it has come for {} s: is its file system there?",
                                 kStageStallMax.count())});
  });
}

void StagedFile::fail_with(const base::Error& error) {
  stall_.cancel();
  for (BlockAnswered& answer : std::exchange(waiting_for_about_, {})) answer(nullptr);
  for (auto& [block, answers] : std::exchange(waiting_, {})) {
    for (BlockAnswered& answer : answers) answer(nullptr);
  }
  if (!done_) return;
  std::exchange(done_, nullptr)(
      base::fail(error.code, fmt::format("cannot stage {}: {}", path_, error.what)));
}

void StagedFile::describe() {
  context_.asker.ask({name_, bootstrap::kAboutBlock}, [weak = weak_from_this()](SharedBlock block) {
    const auto self = weak.lock();
    if (!self || self->take_description(block)) return;
    self->describe_from_file([self] { self->describe_from_peers(); });
  });
}

void StagedFile::describe_from_file(std::function<void()> otherwise) {
  run<bootstrap::Blob>(
      context_.origin, [path = path_] { return bootstrap::blob_of_file(path); },
      [this, otherwise = std::move(otherwise)](Result<bootstrap::Blob> blob) {
        if (!blob) {
          unreadable_ = blob.error();
          return otherwise();
        }
        be_described({*std::move(blob), context_.node.self});
      });
}

void StagedFile::describe_from_peers() {
  context_.asker.ask_all(
      {name_, bootstrap::kAboutBlock}, context_.node.self,
      [weak = weak_from_this()](SharedBlock block) {
        const auto self = weak.lock();
        if (!self || self->take_description(block)) return;
        self->fail_with({Errc::kNotFound, 0,
                         fmt::format("no node of the run can read it (here: {}); "
                                     "check the path, or put it where one can",
                                     self->unreadable_->what)});
      });
}

bool StagedFile::take_description(const SharedBlock& block) {
  if (about_) return true;
  if (!block) return false;
  auto about = bootstrap::parse_staged_about(block->bytes);
  if (!about) {
    RR_LOG(kWarn, {}, "{}: {}", path_, about.error().what);
    return false;
  }
  be_described(*std::move(about));
  return true;
}

void StagedFile::be_described(StagedAbout about) {
  if (about_) return;  // it came twice
  about_ = std::move(about);
  note_progress();
  const SharedBlock text = make_block(bootstrap::to_text(*about_));
  for (BlockAnswered& answer : std::exchange(waiting_for_about_, {})) answer(text);
  open_store();
}

void StagedFile::get_description(wire::BlockScope scope, BlockAnswered answer) {
  if (about_) return answer(make_block(bootstrap::to_text(*about_)));
  // Once our own search is over, nothing more will come of it.
  if (scope == wire::BlockScope::kAny && done_) return waiting_for_about_.push_back(answer);
  if (unreadable_ || scope != wire::BlockScope::kOwn) return answer(nullptr);
  // Not after our own search: the peer that asks may be one that our search waits for.
  waiting_for_about_.push_back(answer);
  describe_from_file([weak = weak_from_this(), answer = std::move(answer)] {
    const auto self = weak.lock();
    if (self && !self->about_) answer(nullptr);  // a second answer is ignored
  });
}

void StagedFile::open_store() {
  const wire::WorkerTemplate& workers = context_.node.workers;
  const bootstrap::Blob& blob = about_->blob;
  const bootstrap::BlockStoreOptions options{workers.cache_directory, blob.key, blob.length, path_,
                                             workers.cache_max_gib << 30U};
  using Opened = std::pair<std::shared_ptr<BlockStore>, std::vector<bool>>;  // which blocks exist
  run<Opened>(
      context_.store,
      [options]() -> Result<Opened> {
        std::shared_ptr<BlockStore> store = RR_TRY(BlockStore::open(options));
        std::vector<bool> present = RR_TRY(store->present());
        return Opened{std::move(store), std::move(present)};
      },
      [this](Result<Opened> opened) {
        if (!opened) return fail_with(opened.error());
        const std::vector<bool>& present = opened->second;
        store_ = std::move(opened->first);
        parts_.resize(bootstrap::blocks_of(about_->blob.length));
        for (std::size_t i = 0; i < parts_.size() && i < present.size(); ++i) {
          parts_[i].is_stored = present[i];
        }
        // Blocks that were requested before the store was open.
        for (const auto& [block, answers] : std::map(waiting_)) {
          if (block < parts_.size()) seek(block);
        }
        go_on();
      });
}

void StagedFile::go_on() {
  if (!done_) return;
  while (done_ && sought_ < kStageWindow && next_ < parts_.size()) seek(next_++);
  if (!done_ || here_ < parts_.size()) return;
  stall_.cancel();
  std::exchange(done_, nullptr)({});
}

void StagedFile::seek(std::uint64_t block) {
  Part& part = parts_[block];
  if (part.stage != Stage::kMissing) return;
  part.stage = Stage::kSought;
  ++sought_;
  if (std::exchange(part.is_stored, false)) return seek_in_store(block);
  seek_at_peers(block);
}

void StagedFile::read_store(std::uint64_t block, Found found) {
  run<SharedBlock>(
      context_.store,
      [store = store_, block]() -> Result<SharedBlock> {
        std::string bytes(bootstrap::bytes_of_block(store->length(), block), '\0');
        if (!RR_TRY(store->read(block, bytes))) return SharedBlock();
        return make_block(std::move(bytes));
      },
      std::move(found));
}

void StagedFile::seek_in_store(std::uint64_t block) {
  read_store(block, [this, block](const Result<SharedBlock>& found) {
    if (!found || !*found) return seek_at_peers(block);
    ++from_.store;
    note_progress();
    be_here(block, *found);
  });
}

void StagedFile::seek_at_peers(std::uint64_t block) {
  context_.asker.ask(block_name(block), [weak = weak_from_this(), block](SharedBlock found) {
    const auto self = weak.lock();
    if (!self) return;
    if (self->is_block(block, found)) return self->keep(block, found, &StagedFrom::peers);
    self->seek_at_origin(block);
  });
}

void StagedFile::read_origin(std::uint64_t block, Found found) {
  if (origin_) {
    return origin_->read(
        block, [weak = weak_from_this(), found = std::move(found)](Result<SharedBlock> read) {
          if (const auto self = weak.lock()) found(std::move(read));
        });
  }
  run<SharedBlock>(
      context_.origin,
      [path = path_, blob = about_->blob, block]() -> Result<SharedBlock> {
        return make_block(RR_TRY(bootstrap::read_staged_block(path, blob, block)));
      },
      std::move(found));
}

void StagedFile::seek_at_origin(std::uint64_t block) {
  if (unreadable_) return seek_at_reader(block);
  read_origin(block, [this, block](Result<SharedBlock> found) {
    if (found && is_block(block, *found)) return keep(block, *found, &StagedFrom::file);
    unreadable_ = found ? base::Error{Errc::kProtocol, 0, "a block of the wrong length arrived"}
                        : found.error();
    seek_at_reader(block);
  });
}

void StagedFile::seek_at_reader(std::uint64_t block) {
  context_.asker.ask_all(block_name(block), about_->reader,
                         [weak = weak_from_this(), block](SharedBlock found) {
                           const auto self = weak.lock();
                           if (!self) return;
                           if (self->is_block(block, found)) {
                             return self->keep(block, found, &StagedFrom::peers);
                           }
                           self->parts_[block].stage = Stage::kMissing;
                           --self->sought_;
                           if (!self->unreadable_) return self->seek(block);  // by an earlier try
                           self->fail_with(*self->unreadable_);
                         });
}

void StagedFile::keep(std::uint64_t block, SharedBlock found, std::uint64_t StagedFrom::* from) {
  ++(from_.*from);
  note_progress();
  answer_waiting(block, found);
  run<bool>(
      context_.store, [store = store_, block, found] { return store->keep(block, found->bytes); },
      [this, block, found](Result<bool> kept) {
        if (kept && *kept) return be_here(block, found);
        parts_[block].stage = Stage::kMissing;
        --sought_;
        if (!kept) return fail_with(kept.error());
        fail_with({Errc::kLimit, 0,
                   fmt::format("there is no space for it in {}; make some (robustrun cache gc), or "
                               "choose another folder (--cache-dir)",
                               context_.node.workers.cache_directory)});
      });
}

void StagedFile::be_here(std::uint64_t block, const SharedBlock& found) {
  parts_[block].stage = Stage::kHere;
  answer_waiting(block, found);  // including requests that came while it was being stored
  --sought_;
  ++here_;
  go_on();
}

void StagedFile::answer_waiting(std::uint64_t block, const SharedBlock& found) {
  const auto waiting = waiting_.find(block);
  if (waiting == waiting_.end()) return;
  const auto answers = std::move(waiting->second);
  waiting_.erase(waiting);
  for (const BlockAnswered& answer : answers) answer(found);
}

bool StagedFile::get(const wire::BlockName& name, wire::BlockScope scope, BlockAnswered answer) {
  if (name.blob == name_) {
    if (name.block != bootstrap::kAboutBlock) return answer(nullptr), true;
    return get_description(scope, std::move(answer)), true;
  }
  if (!about_ || name.blob != about_->blob.key) return false;
  if (name.block >= bootstrap::blocks_of(about_->blob.length)) return answer(nullptr), true;
  const auto give = [answer](const Result<SharedBlock>& found) {
    answer(found ? *found : nullptr);
  };
  if (!parts_.empty() && parts_[name.block].stage == Stage::kHere) {
    read_store(name.block, give);
  } else if (scope == wire::BlockScope::kOwn) {
    unreadable_ ? answer(nullptr) : read_origin(name.block, give);
  } else if (scope == wire::BlockScope::kStored || (parts_.empty() && !done_)) {
    answer(nullptr);  // or there is no store to bring it to
  } else {
    waiting_[name.block].push_back(std::move(answer));
    if (!parts_.empty()) seek(name.block);
  }
  return true;
}

}  // namespace robustrun::agent
