#include "agent/staging/staged_file.h"

#include <fmt/format.h>

#include <boost/asio/steady_timer.hpp>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "agent/staging/limits.h"
#include "base/io/log.h"
#include "bootstrap/store/block_store.h"
#include "bootstrap/store/staged_about.h"

namespace robustrun::agent {
namespace {

using base::Errc;
using base::Result;
using base::Status;
using bootstrap::BlockStore;
using bootstrap::StagedAbout;

class StagedFileImpl final : public StagedFile,
                             public std::enable_shared_from_this<StagedFileImpl> {
 public:
  StagedFileImpl(StageContext context, std::string path, std::optional<StagedOrigin> elsewhere)
      : context_(context),
        path_(std::move(path)),
        name_(bootstrap::staged_name(path_)),
        elsewhere_(std::move(elsewhere)),
        stall_(context.node.executor) {}

  void begin(Done done) override;
  bool get(const wire::BlockName& name, wire::BlockScope scope, BlockAnswered answer) override;
  [[nodiscard]] std::string data_path() const override {
    return context_.node.workers.cache_directory + "/blocks/" + about_->blob.key + "/data";
  }
  [[nodiscard]] StagedFrom from() const override { return from_; }
  [[nodiscard]] const std::string& path() const override { return path_; }
  void abandon() override {
    done_ = nullptr;
    stall_.cancel();
  }

 private:
  enum class Stage : std::uint8_t { kMissing, kSought, kHere };
  struct Part {
    Stage stage = Stage::kMissing;
    bool is_stored = false;  // it has a checksum; reading will show whether it is whole
  };

  // The description of the blob.
  void describe();
  void describe_from_file(std::function<void()> otherwise);
  void describe_from_anybody();
  bool take_description(const SharedBlock& block);
  void be_described(StagedAbout about);
  void get_description(wire::BlockScope scope, BlockAnswered answer);
  void open_store();
  // Its blocks.
  void go_on();
  void seek(std::uint64_t block);
  void seek_in_store(std::uint64_t block);
  void seek_at_peers(std::uint64_t block);
  void seek_at_origin(std::uint64_t block);
  void seek_at_reader(std::uint64_t block);
  void keep(std::uint64_t block, SharedBlock found, std::uint64_t StagedFrom::* from);
  void be_here(std::uint64_t block, const SharedBlock& found);
  void answer_waiting(std::uint64_t block, const SharedBlock& found);
  using Found = std::function<void(Result<SharedBlock>)>;
  void read_store(std::uint64_t block, Found found);
  void read_origin(std::uint64_t block, Found found);
  [[nodiscard]] bool is_block(std::uint64_t block, const SharedBlock& found) const {
    return found && found->bytes.size() == bootstrap::bytes_of_block(about_->blob.length, block);
  }
  [[nodiscard]] wire::BlockName block_name(std::uint64_t block) const {
    return {about_->blob.key, block};
  }
  void fail_with(const base::Error& error);
  void note_progress();

  // Runs `work` on a thread of `pool`, then calls `next` with its result if this object is still
  // alive.
  template <class T>
  void run(base::BlockingPool& pool, std::move_only_function<Result<T>()> work,
           std::move_only_function<void(Result<T>)> next);

  StageContext context_;
  std::string path_, name_;
  std::optional<StagedOrigin> elsewhere_;  // none: the file is read
  std::optional<StagedAbout> about_;
  std::optional<base::Error> unreadable_;  // set: this node cannot read the file
  std::vector<BlockAnswered> waiting_for_about_;
  std::shared_ptr<BlockStore> store_;
  std::vector<Part> parts_;
  std::map<std::uint64_t, std::vector<BlockAnswered>> waiting_;
  std::uint64_t next_ = 0, here_ = 0, sought_ = 0;  // numbers of blocks
  StagedFrom from_;
  Done done_;
  // The pools are shared with other files, so the numbers start at different points.
  std::uint32_t next_lane_ = static_cast<std::uint32_t>(base::hash64(path_));
  boost::asio::steady_timer stall_;
};

template <class T>
void StagedFileImpl::run(base::BlockingPool& pool, std::move_only_function<Result<T>()> work,
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

void StagedFileImpl::begin(Done done) {
  done_ = std::move(done);
  unreadable_.reset();
  next_ = 0;
  note_progress();
  if (!about_)
    return elsewhere_ ? be_described({elsewhere_->blob, context_.node.self}) : describe();
  store_ ? go_on() : open_store();
}

// A mount that hangs must not hold up a start for ever.
void StagedFileImpl::note_progress() {
  stall_.expires_after(kStageStallMax);
  stall_.async_wait([weak = weak_from_this()](const boost::system::error_code& error) {
    const auto self = error ? nullptr : weak.lock();
    if (!self || !self->done_) return;
    self->fail_with({Errc::kTimeout, 0,
                     fmt::format("nothing of it has come for {} s: is its file system there?",
                                 kStageStallMax.count())});
  });
}

void StagedFileImpl::fail_with(const base::Error& error) {
  stall_.cancel();
  for (BlockAnswered& answer : std::exchange(waiting_for_about_, {})) answer(nullptr);
  for (auto& [block, answers] : std::exchange(waiting_, {})) {
    for (BlockAnswered& answer : answers) answer(nullptr);
  }
  if (!done_) return;
  std::exchange(done_, nullptr)(
      base::fail(error.code, fmt::format("cannot stage {}: {}", path_, error.what)));
}

void StagedFileImpl::describe() {
  context_.asker.ask({name_, bootstrap::kAboutBlock}, [weak = weak_from_this()](SharedBlock block) {
    const auto self = weak.lock();
    if (!self || self->take_description(block)) return;
    self->describe_from_file([self] { self->describe_from_anybody(); });
  });
}

void StagedFileImpl::describe_from_file(std::function<void()> otherwise) {
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

void StagedFileImpl::describe_from_anybody() {
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

bool StagedFileImpl::take_description(const SharedBlock& block) {
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

void StagedFileImpl::be_described(StagedAbout about) {
  if (about_) return;  // it came twice
  about_ = std::move(about);
  note_progress();
  const SharedBlock text = make_block(bootstrap::to_text(*about_));
  for (BlockAnswered& answer : std::exchange(waiting_for_about_, {})) answer(text);
  open_store();
}

void StagedFileImpl::get_description(wire::BlockScope scope, BlockAnswered answer) {
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

void StagedFileImpl::open_store() {
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

void StagedFileImpl::go_on() {
  if (!done_) return;
  while (done_ && sought_ < kStageWindow && next_ < parts_.size()) seek(next_++);
  if (!done_ || here_ < parts_.size()) return;
  stall_.cancel();
  std::exchange(done_, nullptr)({});
}

void StagedFileImpl::seek(std::uint64_t block) {
  Part& part = parts_[block];
  if (part.stage != Stage::kMissing) return;
  part.stage = Stage::kSought;
  ++sought_;
  if (std::exchange(part.is_stored, false)) return seek_in_store(block);
  seek_at_peers(block);
}

void StagedFileImpl::read_store(std::uint64_t block, Found found) {
  run<SharedBlock>(
      context_.store,
      [store = store_, block]() -> Result<SharedBlock> {
        std::string bytes(bootstrap::bytes_of_block(store->length(), block), '\0');
        if (!RR_TRY(store->read(block, bytes))) return SharedBlock();
        return make_block(std::move(bytes));
      },
      std::move(found));
}

void StagedFileImpl::seek_in_store(std::uint64_t block) {
  read_store(block, [this, block](const Result<SharedBlock>& found) {
    if (!found || !*found) return seek_at_peers(block);
    ++from_.store;
    be_here(block, *found);
  });
}

void StagedFileImpl::seek_at_peers(std::uint64_t block) {
  context_.asker.ask(block_name(block), [weak = weak_from_this(), block](SharedBlock found) {
    const auto self = weak.lock();
    if (!self) return;
    if (self->is_block(block, found)) return self->keep(block, found, &StagedFrom::peers);
    self->seek_at_origin(block);
  });
}

void StagedFileImpl::read_origin(std::uint64_t block, Found found) {
  if (elsewhere_) {
    return elsewhere_->read(
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

void StagedFileImpl::seek_at_origin(std::uint64_t block) {
  if (unreadable_) return seek_at_reader(block);
  read_origin(block, [this, block](Result<SharedBlock> found) {
    if (found && is_block(block, *found)) return keep(block, *found, &StagedFrom::file);
    unreadable_ = found ? base::Error{Errc::kProtocol, 0, "a block of the wrong length arrived"}
                        : found.error();
    seek_at_reader(block);
  });
}

void StagedFileImpl::seek_at_reader(std::uint64_t block) {
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

void StagedFileImpl::keep(std::uint64_t block, SharedBlock found,
                          std::uint64_t StagedFrom::* from) {
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

void StagedFileImpl::be_here(std::uint64_t block, const SharedBlock& found) {
  parts_[block].stage = Stage::kHere;
  answer_waiting(block, found);  // including requests that came while it was being stored
  --sought_;
  ++here_;
  go_on();
}

void StagedFileImpl::answer_waiting(std::uint64_t block, const SharedBlock& found) {
  const auto waiting = waiting_.find(block);
  if (waiting == waiting_.end()) return;
  const auto answers = std::move(waiting->second);
  waiting_.erase(waiting);
  for (const BlockAnswered& answer : answers) answer(found);
}

bool StagedFileImpl::get(const wire::BlockName& name, wire::BlockScope scope,
                         BlockAnswered answer) {
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

}  // namespace

std::shared_ptr<StagedFile> StagedFile::make(StageContext context, std::string path) {
  return std::make_shared<StagedFileImpl>(context, std::move(path), std::nullopt);
}
std::shared_ptr<StagedFile> StagedFile::make(StageContext context, std::string name,
                                             StagedOrigin origin) {
  return std::make_shared<StagedFileImpl>(context, std::move(name), std::move(origin));
}

}  // namespace robustrun::agent
