#pragma once
// Folds equal lines that many ranks print within a moment into one (--fold-lines).
//
// Each line waits in one queue for LineFoldLimits::window. An equal line from another rank, on the
// same stream (stdout or stderr), joins it, unless an earlier line of that rank waits behind it. So
// each rank's lines keep their order. Lines end at '\n' or '\r'. A line that comes in pieces
// (Output::partial) is never folded.
//
// Pure; owned by the console, on its loop; the caller gives the time. Bounded: above
// kFoldHeldBytesMax the oldest lines are released early.

#include <array>
#include <cstdint>
#include <deque>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/core/clock.h"
#include "base/core/ids.h"
#include "supervisor/console/limits.h"
#include "wire/messages/messages.h"

namespace robustrun::supervisor {

struct FoldedOutput {
  // For one rank: one or several lines, as the rank sent them. For several ranks: one line, as the
  // first of them sent it.
  wire::Output output;
  std::vector<base::Rank> ranks;  // ascending; at least one
};

struct LineFoldLimits {
  base::Nanos window = kFoldWindow;
  std::size_t held_bytes_max = kFoldHeldBytesMax;
  std::size_t ranks_max = kFoldRanksMax;
};

class LineFolder {
 public:
  explicit LineFolder(LineFoldLimits limits = {}) : limits_(limits) {}

  // All three return the output that must be shown now, in order; flush() returns all that waits.
  // `now` never goes back.
  [[nodiscard]] std::vector<FoldedOutput> take(const wire::Output& output, base::Nanos now);
  [[nodiscard]] std::vector<FoldedOutput> due(base::Nanos now);
  [[nodiscard]] std::vector<FoldedOutput> flush();
  // When due() will return something; nullopt: no line waits.
  [[nodiscard]] std::optional<base::Nanos> next_due() const;
  [[nodiscard]] std::size_t held_bytes() const { return held_bytes_; }

 private:
  using Sequence = std::uint64_t;
  struct Entry {
    wire::Output output;
    std::vector<base::Rank> ranks;
    base::Nanos since{};
    std::uint64_t key = 0;
    bool foldable = true;
  };
  struct Source {
    std::optional<Sequence> last;  // its latest line, which may have left the queue
    std::array<bool, 2> open = {};  // stdout and stderr are in the middle of a line
  };

  void add(const wire::Output& output, std::string_view line, bool ends, base::Nanos now);
  [[nodiscard]] std::optional<Sequence> match(const Source& source, std::uint64_t key,
                                              bool is_stderr, std::string_view line) const;
  void show_front(std::vector<FoldedOutput>& shown);
  static std::size_t cost(const Entry& entry);

  const LineFoldLimits limits_;
  std::deque<Entry> queue_;
  Sequence front_ = 0;  // of queue_.front()
  std::set<std::pair<std::uint64_t, Sequence>> index_;  // key, sequence
  std::unordered_map<std::uint32_t, Source> sources_;  // by rank
  std::size_t held_bytes_ = 0;
};

// "rank 3", "ranks 0-127", "ranks 0-3,8"; with more than kFoldRangesMax pieces "57 ranks".
[[nodiscard]] std::string describe_ranks(const std::vector<base::Rank>& ranks);

// The prefix of a folded line: "[ranks 0-127] ", dim where lines are coloured.
[[nodiscard]] std::string folded_prefix(const std::vector<base::Rank>& ranks, bool colour);

}  // namespace robustrun::supervisor
