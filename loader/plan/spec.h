#pragma once
// What a user asks of the data plane, as plain data (docs/data.md has the file's format). Pure.
//
// Numbers that decide are integers, so that each machine computes the same plan.

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
inline constexpr std::uint32_t kCarryMax = 4096;            // documents left for the next step
inline constexpr std::uint64_t kWeightMax = 1'000'000'000;  // of one source, in millionths

enum class Format : std::uint8_t { kMegatron, kJsonLines, kParquet, kArrow };
enum class Pack : std::uint8_t { kNextFit, kBestFit };
// Pieces that find no room in a step: the next step has them; the step ends before the sample that
// does not fit, and its bins are padded; they are left out for good.
enum class Leftover : std::uint8_t { kCarry, kPad, kDrop };
enum class Long : std::uint8_t { kSplit, kTruncate, kRefuse };
// Ranks wait for each other once per step, or in every micro-batch.
enum class Sync : std::uint8_t { kStep, kMicro };

// A point of a piecewise linear schedule; constant before the first and after the last.
struct WeightPoint {
  std::uint64_t step = 0;
  std::uint64_t weight = 0;  // millionths
};

// How records become tokens, which `robustrun data prepare` does once (python/robustrun/_data/
// prepare.py). With neither tokenizer nor transform the column has lists of tokens.
struct Recipe {
  std::string column;     // empty: "text" for a tokenizer, the whole record for a transform
  std::string tokenizer;  // a file tokenizer.json, or a name that transformers knows
  std::string transform;  // module:function
  std::optional<std::uint32_t> end;  // token that is appended to each record
  bool operator==(const Recipe&) const = default;
};

// An input file whose text is tokenized while the training runs (loader/index/pieces.h).
struct TextFile {
  std::string path;
  std::string pieces;  // folder of its tokens
  std::uint64_t records = 0;
};

struct Source {
  std::string name;
  Format format = Format::kMegatron;
  std::vector<std::string> paths;      // as given: files or patterns
  std::uint32_t bytes_per_token = 4;   // kJsonLines: to estimate lengths
  std::vector<WeightPoint> weight;     // ascending steps, never empty
  Recipe recipe{};                     // of all but kMegatron
  std::vector<TextFile> texts{};       // not empty: they are tokenized while the training runs
  std::uint64_t fingerprint = 0;       // of the texts
};

struct Spec {
  std::uint64_t seed = 0;
  std::string cache = "tokens";  // folder of what `robustrun data prepare` has made
  bool while_training = false;    // text is tokenized while the training runs
  std::vector<Source> sources;
  struct {
    std::uint32_t context = 0;  // tokens of one bin
    std::uint32_t bins = 0;     // of one step, over all ranks
    std::uint32_t micro = 1;    // micro-batches of one rank and step
    Pack pack = Pack::kBestFit;
    Leftover leftover = Leftover::kCarry;
    Long longer = Long::kSplit;  // documents longer than the context
  } batch;
  struct {
    std::uint32_t block = 4096;  // neighbouring samples that are read near each other
    std::uint32_t window = 8;    // blocks whose samples are mixed
  } shuffle;
  struct {
    // A document of L tokens costs linear * L + square * L^2 / 1,000, in millionths.
    std::uint64_t linear = 1'000'000;
    std::uint64_t square = 0;
    Sync sync = Sync::kStep;  // when ranks wait for each other
  } balance;
};

// The error is one sentence about what is wrong, without the path of the file.
[[nodiscard]] base::Status check(const Spec& spec);

// The number of bins (sequences of `context` tokens) in a step of `tokens`; the error says why
// there is no such number.
[[nodiscard]] base::Result<std::uint32_t> bins_of(std::uint64_t tokens, std::uint32_t context);

// Whether `ranks` can share a step: each gets the same number of bins in each micro-batch.
[[nodiscard]] base::Status check_ranks(const Spec& spec, std::uint32_t ranks);

// The weight of a source at a step, in millionths.
[[nodiscard]] std::uint64_t weight_at(const Source& source, std::uint64_t step);

[[nodiscard]] std::string_view to_string(Format format);
[[nodiscard]] std::string_view to_string(Pack pack);
[[nodiscard]] std::string_view to_string(Leftover leftover);
[[nodiscard]] std::string_view to_string(Long longer);
[[nodiscard]] std::string_view to_string(Sync sync);

}  // namespace robustrun::loader
