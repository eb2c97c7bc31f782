#pragma once
// The samples of a source, from its files: how long each is, and where it lies. Blocks.
//
// From each input file of text, `robustrun data prepare` makes a data set of tokens in
// Megatron-LM's format, which is read here. The data set's name has a hash of the recipe (but not
// of a transform's code) and of the input's and the tokenizer's path, size and time.

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/core/result.h"
#include "loader/index/megatron.h"
#include "loader/plan/spec.h"

namespace robustrun::loader {

struct IndexedFile {
  // PREFIX.bin, with the tokens; or the input file, if the source is in pieces (pieces.h) or
  // estimated.
  std::string path;
  std::uint64_t first = 0;                 // number of the file's first sample in the source
  TokenType type = TokenType::kUint16;
  std::span<const std::uint64_t> offsets;  // of each sample, in bytes; empty: there are no tokens
  std::string pieces{};  // folder of the file's pieces
};

struct SourceIndex {
  std::vector<IndexedFile> files;  // in the order of their samples
  std::span<const std::uint32_t> lengths;  // tokens of each sample
  bool estimated = false;  // `lengths` are estimates, because some tokens do not exist yet
  // The number of samples, if the source is in pieces. `lengths` and the files' `offsets` are then
  // empty; class Pieces (pieces.h) reads them.
  std::optional<std::uint64_t> in_pieces;
  std::optional<std::uint64_t> known_fingerprint;  // fingerprint(), if it is known
  std::shared_ptr<const void> memory;  // owns the lengths and offsets

  [[nodiscard]] std::uint64_t samples() const { return in_pieces.value_or(lengths.size()); }
};

// An input file of a source that is text.
struct Input {
  std::string path;
  std::string tokens;  // prefix of the .idx and .bin with its tokens, in Spec::cache
  bool is_prepared = false;  // the .idx and .bin exist
};

// Relative paths and patterns are relative to `folder`. The files of a pattern are sorted by name.
// Errors name the source and the path or pattern. kNotFound: a pattern matches nothing.
[[nodiscard]] base::Result<std::vector<Input>> inputs_of(const Spec& spec, const Source& source,
                                                         const std::string& folder);

// The data sets in Megatron-LM's format that have a source's tokens, as prefixes, in the order of
// their samples. nullopt: an input file has not been prepared yet. Errors: as inputs_of().
[[nodiscard]] base::Result<std::optional<std::vector<std::string>>> token_sets_of(
    const Spec& spec, const Source& source, const std::string& folder);

enum class Lengths : std::uint8_t {
  kExact,
  // If an input file of uncompressed JSON lines has not been prepared, the lengths of all samples
  // of the source are estimated from their bytes.
  kEstimates,
};
// Reads the index of a source; of a source in pieces (Source::texts) it reads no files. Relative
// paths are relative to `folder`. Errors name the source and the file. kNotFound: an input file has
// not been prepared, and its lengths may not be estimated.
[[nodiscard]] base::Result<SourceIndex> read_index(const Spec& spec, const Source& source,
                                                   const std::string& folder, Lengths lengths);

// Hash of the lengths and places of all samples, in their order: another value means other data.
// Computed even if known_fingerprint is set. Not for a source in pieces, whose lengths are not in
// the index; such a source has a known_fingerprint.
[[nodiscard]] std::uint64_t fingerprint(const SourceIndex& index);

}  // namespace robustrun::loader
