#include "bootstrap/blocks/content_check.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <exception>
#include <span>
#include <utility>

#include "base/core/text.h"
#include "base/io/log.h"
#include "base/io/sha256.h"
#include "bootstrap/blocks/limits.h"
#include "bootstrap/store/checked_blob.h"
#include "bootstrap/store/direct_file.h"
#include "bootstrap/store/limits.h"

namespace robustrun::bootstrap {

ContentCheck::ContentCheck(BlockStore& store, BlockSupply& supply, const base::Clock& clock,
                           std::string cache, std::string sha256)
    : store_(store),
      supply_(supply),
      clock_(clock),
      cache_(std::move(cache)),
      sha256_(std::move(sha256)) {
  if (is_checked_blob(cache_, store_.key(), sha256_)) state_ = State::kRight;
}

ContentCheck::State ContentCheck::tick(bool is_all_here) {
  State state = state_;
  if (state == State::kReading) return state;
  if (state == State::kRight && store_.rotten() != rotten_) state_ = state = State::kOpen;
  if (thread_.joinable()) thread_.join();
  if (state != State::kOpen || !is_all_here || clock_.now() < due_) return state;
  due_ = clock_.now() + kCheckPause;
  state_ = State::kReading;
  try {
    thread_ = std::thread([this] { run(); });
  } catch (const std::exception&) {
    state_ = State::kOpen;  // there may be a thread for it at the next due time
  }
  return state_;
}

void ContentCheck::run() {
  ::setpriority(PRIO_PROCESS, static_cast<id_t>(::gettid()),
                kCheckNice);  // affects only this thread
  const auto looked = look();
  if (!looked) RR_LOG(kWarn, ({}), "cannot check the image: {}", looked.error().what);
  if (!looked || !*looked) {
    state_ = State::kOpen;
  } else {
    state_ = found_ == sha256_ ? State::kRight : State::kWrong;
  }
}

// Returns false if a block is missing after all.
base::Result<bool> ContentCheck::look() {
  rotten_ = store_.rotten();
  const std::string sums = RR_TRY(hash_of_sums(cache_, store_.key()));
  const DirectBuffer buffer(kVerifyBlocks * kBlockBytes);
  base::Sha256 hash;
  bool are_all_here = true;
  for (std::uint64_t first = 0; first < store_.blocks(); first += kVerifyBlocks) {
    const std::uint64_t end = std::min(first + kVerifyBlocks, store_.blocks());
    const auto bytes =
        buffer.bytes().first(std::min(end * kBlockBytes, store_.length()) - first * kBlockBytes);
    if (RR_TRY(store_.read_past_cache(first, bytes))) {
      hash.add({bytes.data(), bytes.size()});
    } else {
      are_all_here = false;
      fetch_again(first, end);
    }
  }
  if (!are_all_here || RR_TRY(hash_of_sums(cache_, store_.key())) != sums) return false;
  found_ = base::to_hex(hash.finish());
  if (found_ != sha256_) return true;
  if (const auto saved = save_checked(cache_, store_.key(), sha256_, sums); !saved) {
    RR_LOG(kDebug, ({}), "{}", saved.error().what);  // the next start repeats the check
  }
  return true;
}

// Blocks that are whole are then read from the store.
void ContentCheck::fetch_again(std::uint64_t first, std::uint64_t end) {
  for (std::uint64_t block = first; block < end; ++block) {
    supply_.want(block, Urgency::kCold, {});
  }
}

}  // namespace robustrun::bootstrap
