#pragma once
// What the user asks of the data loader, as plain data (docs/data.md has the file's format). Pure.
//
// The plan depends only on integers, so that each machine computes the same plan.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/core/result.h"

namespace robustrun::loader {

inline constexpr std::uint32_t kContextMax = 1U << 24;      // tokens of one bin
inline constexpr std::uint32_t kBinsPerStepMax = 1U << 20;
inline constexpr std::uint32_t kSourcesMax = 4096;
inline constexpr std::uint32_t kCarryMax = 4096;            // pieces left for the next step
inline constexpr std::uint64_t kWeightMax = 1'000'000'000;  // of one source, in millionths

enum class Format : std::uint8_t { kMegatron, kJsonLines, kParquet, kArrow };
enum class Pack : std::uint8_t { kNextFit, kBestFit };
// What happens when pieces have no room in a step. kCarry: the next step takes them. kPad: the step
// ends before the sample that does not fit, and the bins of the step are padded. kDrop: they are
// left out for good.
enum class Leftover : std::uint8_t { kCarry, kPad, kDrop };
// What happens to documents longer than the context. kRefuse: they are an error.
enum class Long : std::uint8_t { kSplit, kTruncate, kRefuse };
// When ranks wait for each other: once per step, or in every micro-batch.
enum class Sync : std::uint8_t { kStep, kMicro };

// A point of a piecewise linear schedule, which is constant before the first and after the last
// point.
struct WeightPoint {
  std::uint64_t step = 0;
  std::uint64_t weight = 0;  // millionths
};

// How records become tokens, before the training (python/robustrun/_data/prepare.py) or while it
// runs (ahead.py there). Without tokenizer and transform, the column has lists of tokens.
struct Recipe {
  std::string column;  // empty: "text" for a tokenizer, the whole record for a transform
  std::string tokenizer;  // a file tokenizer.json, or a name that transformers knows
  std::string transform;  // module:function
  std::optional<std::uint32_t> end;  // token that is appended to each record
  bool operator==(const Recipe&) const = default;
};

// An input file whose text is tokenized while the training runs (loader/index/pieces.h).
struct TextFile {
  std::string path;
  std::string pieces;  // folder with the file's tokens
  std::uint64_t records = 0;
};

struct Source {
  std::string name;
  Format format = Format::kMegatron;
  std::vector<std::string> paths;  // as given: files or patterns
  std::uint32_t bytes_per_token = 4;  // to estimate lengths of kJsonLines
  std::vector<WeightPoint> weight;  // ascending steps, never empty
  Recipe recipe{};  // for all formats but kMegatron
  std::vector<TextFile> texts{};  // files that are tokenized while the training runs; or empty
  std::uint64_t fingerprint = 0;  // of the texts
};

struct Spec {
  std::uint64_t seed = 0;
  std::string cache = "tokens";  // folder with the tokens that `robustrun data prepare` made
  bool while_training = false;  // text is tokenized while the training runs
  std::vector<Source> sources;
  struct {
    std::uint32_t context = 0;  // tokens of one bin
    std::uint32_t bins = 0;  // of one step, over all ranks
    std::uint32_t micro = 1;  // micro-batches of one rank and step
    Pack pack = Pack::kBestFit;
    Leftover leftover = Leftover::kCarry;
    Long longer = Long::kSplit;
  } batch;
  struct {
    std::uint32_t block = 4096;  // samples in a block (order.h)
    std::uint32_t window = 8;  // blocks in a window
  } shuffle;
  struct {
    // A document of L tokens costs linear * L + square * L^2 / 1,000, in millionths.
    std::uint64_t linear = 1'000'000;
    std::uint64_t square = 0;
    Sync sync = Sync::kStep;
  } balance;
};

// kInvalidArgument: the specification is wrong; the text is one sentence without the file's path.
[[nodiscard]] base::Status check(const Spec& spec);

// The number of bins of `context` tokens in a step of `tokens`. kInvalidArgument: there is no such
// number; the text says why.
[[nodiscard]] base::Result<std::uint32_t> bins_of(std::uint64_t tokens, std::uint32_t context);

// kInvalidArgument: `ranks` ranks cannot all get the same number of bins in each micro-batch.
[[nodiscard]] base::Status check_ranks(const Spec& spec, std::uint32_t ranks);

// The weight of a source at a step, in millionths.
[[nodiscard]] std::uint64_t weight_at(const Source& source, std::uint64_t step);

[[nodiscard]] std::string_view to_string(Format format);
[[nodiscard]] std::string_view to_string(Pack pack);
[[nodiscard]] std::string_view to_string(Leftover leftover);
[[nodiscard]] std::string_view to_string(Long longer);
[[nodiscard]] std::string_view to_string(Sync sync);

}  // namespace robustrun::loader
